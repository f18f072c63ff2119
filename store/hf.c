/* SPDX-License-Identifier: MIT
 *
 * Finds names, settings and commits of data sets on the Hugging Face hub. A table keeps the commit
 * that was found for each revision, such as the branch "main". So all reads of a revision in this
 * process use the same commit, even if the branch moves meanwhile. */
#include "store/hf.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "store/json_answer.h"
#include "store/remote.h"
#include "store/store.h"

#define TOKEN_MOST ((size_t)4096)
#define REPLY_MOST ((size_t)16 << 20)   /* a thousand entries of a listing */
#define NAME_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."

struct known_commit {
    char *repository, *revision;
    char commit[HF_COMMIT_SIZE];
    struct known_commit *next;
};

struct hf_context {
    struct hf_hub hub;
    pthread_mutex_t lock;
    struct {
        struct known_commit *commits;
    } locked;
};

/* ---- Settings -------------------------------------------------------------------------------- */

static const char *hf_environment(const char *name)
{
    const char *value = getenv(name);

    return value != NULL && *value != '\0' ? value : NULL;
}

static int hf_token_path(char **path, struct sheaf_error *err)
{
    const char *named = hf_environment("HF_TOKEN_PATH"), *hf_home = hf_environment("HF_HOME");
    const char *home = hf_environment("HOME");
    int made = 0;

    *path = NULL;
    if (named != NULL)
        made = asprintf(path, "%s", named);
    else if (hf_home != NULL)
        made = asprintf(path, "%s/token", hf_home);
    else if (home != NULL)
        made = asprintf(path, "%s/.cache/huggingface/token", home);
    return made < 0 ? err_memory(err, 64) : SHEAF_OK;
}

/* Reads the user's token for the hub from the file in which the hub's own tools store it. It is not
 * an error if there is no such file. */
static int hf_read_token(char **token, struct sheaf_error *err)
{
    char *path;
    size_t size = 0;
    int code = hf_token_path(&path, err);

    if (code == SHEAF_OK && path != NULL)
        code = store_get(path, TOKEN_MOST, token, &size, err);
    free(path);
    return code == SHEAF_ERR_NOT_FOUND ? SHEAF_OK : code;
}

/* Reads the user's token for the hub, from the variable HF_TOKEN or else from a file. Keeps only
 * the first word of the text, because the token becomes part of a header line, which must not
 * contain a line break. */
static int load_token(struct hf_hub *hub, struct sheaf_error *err)
{
    const char *named = hf_environment("HF_TOKEN");
    char *kept = NULL;
    int code = named == NULL ? hf_read_token(&kept, err) : SHEAF_OK;
    const char *token = named != NULL ? named : kept;

    if (code == SHEAF_OK && token != NULL) {
        token += strspn(token, " \t\r\n");
        if (*token != '\0' &&
            asprintf(&hub->bearer, "Bearer %.*s", (int)strcspn(token, " \t\r\n"), token) < 0) {
            hub->bearer = NULL;
            code = err_memory(err, strlen(token));
        }
    }
    if (kept != NULL)
        explicit_bzero(kept, strlen(kept));
    free(kept);
    return code;
}

static int load_endpoint(struct hf_hub *hub, struct sheaf_error *err)
{
    const char *value = hf_environment("HF_ENDPOINT");
    struct url url;
    size_t size;
    int code;

    if (value == NULL)
        value = "https://huggingface.co";
    code = url_parse(value, &url, err);
    if (code != SHEAF_OK)
        return err_prefix(err, "HF_ENDPOINT: ");
    url_free(&url);
    size = strcspn(value, "?#");
    while (size != 0 && value[size - 1] == '/')
        size--;
    hub->endpoint = strndup(value, size);
    return hub->endpoint == NULL ? err_memory(err, size) : SHEAF_OK;
}

static void hf_context_close(void *state)
{
    struct hf_context *hf = state;
    struct known_commit *k;

    while ((k = hf->locked.commits) != NULL) {
        hf->locked.commits = k->next;
        free(k->repository);
        free(k->revision);
        free(k);
    }
    if (hf->hub.bearer != NULL)
        explicit_bzero(hf->hub.bearer, strlen(hf->hub.bearer));
    free(hf->hub.bearer);
    free(hf->hub.endpoint);
    pthread_mutex_destroy(&hf->lock);
    free(hf);
}

static int hf_context_open(void **state, struct http_engine *engine,
                           const struct request_patience *patience, const char *container_origin,
                           struct sheaf_error *err)
{
    struct hf_context *hf = calloc(1, sizeof(*hf));
    int code;

    (void)engine, (void)patience, (void)container_origin;
    if (hf == NULL)
        return err_memory(err, sizeof(*hf));
    pthread_mutex_init(&hf->lock, NULL);
    code = load_endpoint(&hf->hub, err);
    if (code == SHEAF_OK)
        code = load_token(&hf->hub, err);
    if (code == SHEAF_OK)
        *state = hf;
    else
        hf_context_close(hf);
    return code;
}

static const struct remote_service service = { hf_context_open, hf_context_close };

/* ---- Asking the hub -------------------------------------------------------------------------- */

/* Adds advice to an error of the hub. The advice depends on whether a token was sent: without a
 * token, the hub answers "access denied" even for names that do not exist. */
void hf_explain(bool has_token, struct sheaf_error *err)
{
    err_append(err, has_token ? ": the token (HF_TOKEN, or that of a login) does not allow it: a "
                                "private or gated data set needs one whose owner was let in"
                              : ": a private or gated data set needs a token: set HF_TOKEN (the "
                                "hub says so, too, of one that does not exist)");
}

/* Adds the user's token to the headers of a request. If the server redirects the request to another
 * host, libcurl does not send the token to the other host. */
static int hf_sign(struct request *r, struct sheaf_error *err)
{
    return r->at->bearer == NULL ? SHEAF_OK
           : http_add_header(&r->http, "authorization", r->at->bearer, err);
}

const struct request_signing hf_signing = { .sign = hf_sign };

int hf_ask(const struct hf_hub *hub, const char *repository, const char *rest, const char *query,
           const char *what,
           int (*classify)(struct request *request, bool *again, struct sheaf_error *err),
           struct request *r, struct target *target, struct sheaf_error *err)
{
    char *copy = strdup(what), *text = NULL;
    struct url url = { 0 };
    int code;

    *target = (struct target){ .patience = remote_patience(), .follow = true,
                               .ca_file = getenv("AWS_CA_BUNDLE"), .signing = &hf_signing,
                               .bearer = hub->bearer };
    if (asprintf(&text, "%s/api/datasets/%s%s", hub->endpoint, repository, rest) < 0)
        text = NULL;
    code = text != NULL ? url_parse(text, &url, err) : err_memory(err, 64);
    free(text);
    if (code == SHEAF_OK)
        code = remote_engine(&target->engine, err);
    if (code == SHEAF_OK)
        code = target_set_url(target, &url, err);
    if (code == SHEAF_OK) {
        code = request_init(r, target, HTTP_GET, url.path, query != NULL ? strdup(query) : NULL,
                            copy, err);
        r->classify = classify;
        r->check = json_answer_check;
        r->http.reply.limit = REPLY_MOST;
        url.path = copy = NULL;
    } else {
        memset(r, 0, sizeof(*r));
    }
    if (code == SHEAF_OK)
        code = request_run(r, err);
    if (code == SHEAF_ERR_ACCESS)
        hf_explain(hub->bearer != NULL, err);
    url_free(&url);
    free(copy);
    return code;
}

static int hf_take_commit(const struct request *r, char commit[HF_COMMIT_SIZE],
                          struct sheaf_error *err)
{
    json_t *root;
    int code = json_answer((const char *)r->http.reply.data, r->http.reply.size, &root, err);
    const char *sha = json_string_value(json_object_get(root, "sha"));

    if (code == SHEAF_OK && (sha == NULL || !hex_is(sha, HF_COMMIT_SIZE - 1)))
        code = err_set(err, SHEAF_ERR_CORRUPT, "%s: the response names no commit", r->what);
    if (code == SHEAF_OK)
        memcpy(commit, sha, HF_COMMIT_SIZE);
    json_decref(root);
    return code;
}

static int ask_commit(struct hf_name *name, struct sheaf_error *err)
{
    struct request r = { 0 };
    struct target target = { 0 };
    char *rest = NULL, *what = NULL;
    int code;

    if (asprintf(&rest, "/revision/%s", name->revision) < 0)
        rest = NULL;
    if (asprintf(&what, "hf://datasets/%s: finding revision %s", name->repository,
                 name->revision) < 0)
        what = NULL;
    code = rest == NULL || what == NULL
           ? err_memory(err, 64)
           : hf_ask(name->hub, name->repository, rest, NULL, what, request_classify_http,
                    &r, &target, err);
    if (code == SHEAF_OK)
        code = hf_take_commit(&r, name->commit, err);
    request_free(&r);
    target_free(&target);
    free(rest);
    free(what);
    return code;
}

/* Finds the commit of a revision in the table, or else asks the hub for it. The lock is held while
 * the hub is asked, so that two threads cannot get different commits for one revision. */
static int find_commit_locked(struct hf_context *hf, struct hf_name *name, struct sheaf_error *err)
{
    struct known_commit *k = hf->locked.commits;
    int code;

    while (k != NULL && (strcmp(k->repository, name->repository) != 0 ||
                         strcmp(k->revision, name->revision) != 0))
        k = k->next;
    if (k != NULL) {
        memcpy(name->commit, k->commit, HF_COMMIT_SIZE);
        return SHEAF_OK;
    }
    code = ask_commit(name, err);
    if (code != SHEAF_OK)
        return code;
    k = calloc(1, sizeof(*k));
    if (k == NULL || (k->repository = strdup(name->repository)) == NULL ||
        (k->revision = strdup(name->revision)) == NULL) {
        free(k != NULL ? k->repository : NULL);
        free(k);
        return err_memory(err, sizeof(*k));
    }
    memcpy(k->commit, name->commit, HF_COMMIT_SIZE);
    k->next = hf->locked.commits;
    hf->locked.commits = k;
    return SHEAF_OK;
}

/* ---- Names ----------------------------------------------------------------------------------- */

/* Reads "OWNER/NAME[@REVISION]" at the beginning of the URL into `name`. Sets *path to the rest of
 * the URL. */
static int take_repository(const char *url, struct hf_name *name, const char **path,
                           struct sheaf_error *err)
{
    static const char begin[] = "hf://datasets/";
    const char *owner = url + strlen(begin), *own, *end;
    size_t size;

    if (strncmp(url, begin, strlen(begin)) != 0)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: only data sets of the hub can be read: "
                       "hf://datasets/OWNER/NAME[@REVISION]/PATH", url);
    own = owner + strspn(owner, NAME_CHARACTERS);
    end = *own == '/' ? own + 1 + strspn(own + 1, NAME_CHARACTERS) : own;
    size = *end == '@' ? strcspn(end + 1, "/") : 0;
    if (own == owner || end <= own + 1 || strchr("/@", *end) == NULL ||
        (*end == '@' && (size == 0 || strspn(end + 1, NAME_CHARACTERS "%~") != size)))
        return err_set(err, SHEAF_ERR_ARGUMENT, "%s: must be "
                       "hf://datasets/OWNER/NAME[@REVISION]/PATH, a slash in REVISION being "
                       "%%2F", url);
    name->repository = strndup(owner, (size_t)(end - owner));
    name->revision = *end == '@' ? strndup(end + 1, size) : strdup("main");
    *path = *end == '@' ? end + 1 + size : end;
    return name->repository == NULL || name->revision == NULL ? err_memory(err, strlen(url))
                                                              : SHEAF_OK;
}

static int hf_take_path(const char *path, struct hf_name *name, struct sheaf_error *err)
{
    struct buf text = BUF_INIT((size_t)64 << 10);
    int code;

    path += strspn(path, "/");
    code = url_encode(&text, path, true, err);
    while (code == SHEAF_OK && text.size != 0 && text.data[text.size - 1] == '/')
        text.size--;
    if (code == SHEAF_OK)
        code = buf_append(&text, "", 1, err);
    name->path = (char *)text.data;
    return code;
}

int hf_locate(const char *url, struct hf_name *name, struct sheaf_error *err)
{
    struct hf_context *hf;
    const char *path = "";
    void *state;
    int code;

    memset(name, 0, sizeof(*name));
    code = take_repository(url, name, &path, err);
    if (code == SHEAF_OK)
        code = hf_take_path(path, name, err);
    if (code == SHEAF_OK)
        code = remote_service(&service, &state, err);
    if (code == SHEAF_OK) {
        hf = state;
        name->hub = &hf->hub;
        if (hex_is(name->revision, HF_COMMIT_SIZE - 1)) {
            memcpy(name->commit, name->revision, HF_COMMIT_SIZE);
        } else {
            pthread_mutex_lock(&hf->lock);
            code = find_commit_locked(hf, name, err);
            pthread_mutex_unlock(&hf->lock);
        }
    }
    if (code != SHEAF_OK)
        hf_name_free(name);
    return code;
}

void hf_name_free(struct hf_name *name)
{
    free(name->repository);
    free(name->revision);
    free(name->path);
    name->repository = name->revision = name->path = NULL;
}
