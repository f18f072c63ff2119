/* SPDX-License-Identifier: MIT
 *
 * The store for data sets on the Hugging Face hub, hf://datasets/OWNER/NAME[@REVISION]/PATH. This
 * store can only be read.
 *
 * A file is an object of a web server with the URL
 * ENDPOINT/datasets/OWNER/NAME/resolve/COMMIT/PATH. This server usually redirects to another host.
 * The user's token is not sent to the other host. ETags are not compared, because the content of a
 * commit cannot change, and because the hosts of the hub return different ETags. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/etag.h"
#include "store/hf.h"
#include "store/http_object.h"
#include "store/json_answer.h"
#include "store/listing.h"

#define PAGES_MOST 10000u       /* pages of a listing, each with a thousand entries */

/* ---- Opening --------------------------------------------------------------------------------- */

static int store_hf_make(const char *url, struct http_object **object, struct sheaf_error *err)
{
    struct hf_name name;
    char *web = NULL;
    int code = hf_locate(url, &name, err);

    *object = NULL;
    if (code != SHEAF_OK)
        return code;
    if (*name.path == '\0')
        code = err_set(err, SHEAF_ERR_ARGUMENT, "%s: is a data set, not a file of it", url);
    else if (asprintf(&web, "%s/datasets/%s/resolve/%s/%s", name.hub->endpoint, name.repository,
                      name.commit, name.path) < 0)
        code = err_memory(err, strlen(url));
    if (code == SHEAF_OK)
        code = http_object_make(&store_hf_ops, url, web, object, err);
    if (code == SHEAF_OK) {
        struct http_object *o = *object;

        o->commit = strdup(name.commit);
        o->bearer = name.hub->bearer != NULL ? strdup(name.hub->bearer) : NULL;
        o->base.base.version = o->commit;
        o->target.signing = &hf_signing;
        o->target.bearer = o->bearer;
        o->base.is_fixed = true;
        if (o->commit == NULL || (name.hub->bearer != NULL && o->bearer == NULL))
            code = err_memory(err, 64);
    }
    hf_name_free(&name);
    free(web);
    return code;
}

static int hf_open(const char *url, struct store_object **object, struct sheaf_error *err)
{
    struct http_object *o;
    int code = store_hf_make(url, &o, err);

    if (code == SHEAF_OK) {
        code = http_object_probe(o, err);
        if (code == SHEAF_ERR_ACCESS)
            hf_explain(o->bearer != NULL, err);
    }
    return http_object_give(o, code, object);
}

static int hf_open_known(const char *url, uint64_t bytes, uint64_t stamp,
                         struct store_object **object, struct sheaf_error *err)
{
    struct http_object *o;
    const int code = store_hf_make(url, &o, err);

    (void)stamp;
    if (code == SHEAF_OK) {
        o->base.base.bytes = bytes;
        o->base.is_new = true;      /* the first response tells its size, or confirms it */
    }
    return http_object_give(o, code, object);
}

static int hf_size(const char *url, uint64_t *bytes, struct sheaf_error *err)
{
    struct store_object *object;
    int code = hf_open(url, &object, err);

    if (code == SHEAF_OK) {
        *bytes = object->bytes;
        http_object_close(object);
    }
    return code;
}

/* ---- Listing --------------------------------------------------------------------------------- */

struct hub_tree {
    const struct hf_name *name;
    const char *url;
    bool directories, recursive;
    /* path of the listed directory in the data set, decoded, with a slash at its end; "" for the
     * root of the data set */
    char *prefix;
    struct listing listing;
    char *cursor;               /* cursor of the next page, or NULL */
};

/* A request for one page of a listing. The response is a JSON array, and its header Link names the
 * next page. */
struct page_request {
    struct request base;
    struct hub_tree *tree;
};

static bool is_hidden(const char *name)
{
    const char *base = strrchr(name, '/');

    return *(base != NULL ? base + 1 : name) == '.';
}

static int store_hf_take_entry(struct hub_tree *t, const json_t *item, struct sheaf_error *err)
{
    const char *type = json_string_value(json_object_get(item, "type"));
    const char *path = json_string_value(json_object_get(item, "path"));
    const char *id = json_string_value(json_object_get(item, "oid"));
    const json_int_t bytes = json_integer_value(json_object_get(item, "size"));
    struct store_entry entry = { .bytes = (uint64_t)bytes, .stamp = etag_stamp(id) };

    if (type == NULL || path == NULL || bytes < 0 ||
        strncmp(path, t->prefix, strlen(t->prefix)) != 0 || path[strlen(t->prefix)] == '\0' ||
        (!t->recursive && strchr(path + strlen(t->prefix), '/') != NULL))
        return err_set(err, SHEAF_ERR_CORRUPT, "%s: listing: an invalid entry \"%.80s\"", t->url,
                       path != NULL ? path : "");
    entry.name = path + strlen(t->prefix);
    if (is_hidden(entry.name) || (strcmp(type, "directory") == 0) != t->directories)
        return SHEAF_OK;
    return listing_add(&t->listing, &entry, err);
}

static int store_hf_take_page(struct hub_tree *t, const struct request *r, struct sheaf_error *err)
{
    json_t *root;
    int code = json_answer((const char *)r->http.reply.data, r->http.reply.size, &root, err);

    if (code == SHEAF_OK && !json_is_array(root))
        code = err_set(err, SHEAF_ERR_CORRUPT, "%s: listing: the response is no list", t->url);
    for (size_t i = 0; code == SHEAF_OK && i < json_array_size(root); i++)
        code = store_hf_take_entry(t, json_array_get(root, i), err);
    json_decref(root);
    return code;
}

/* Classifies the answer like request_classify_http. Also reads the cursor of the next page from the
 * header Link, which has the form
 * <https://HOST/...?cursor=CURSOR&...>; rel="next". Ignores all other parts of the header. */
static int page_classify(struct request *r, bool *again, struct sheaf_error *err)
{
    struct hub_tree *t = ((struct page_request *)r)->tree;
    const char *link = http_answer_header(&r->http, "link");
    const char *cursor = link != NULL && strstr(link, "rel=\"next\"") != NULL
                         ? strstr(link, "cursor=") : NULL;
    const int code = request_classify_http(r, again, err);

    free(t->cursor);
    t->cursor = NULL;
    if (code != SHEAF_OK || cursor == NULL)
        return code;
    cursor += strlen("cursor=");
    t->cursor = strndup(cursor, strcspn(cursor, "&>;, "));
    return t->cursor == NULL ? err_memory(err, strlen(cursor)) : SHEAF_OK;
}

static int ask_page(struct hub_tree *t, struct sheaf_error *err)
{
    struct page_request page = { .tree = t };
    struct target target = { 0 };
    char *rest = NULL, *query = NULL, *what = NULL;
    int code = SHEAF_OK;

    if (asprintf(&rest, "/tree/%s%s%s", t->name->commit, *t->name->path != '\0' ? "/" : "",
                 t->name->path) < 0)
        rest = NULL;
    if (asprintf(&query, "recursive=%s&limit=1000%s%s", t->recursive ? "true" : "false",
                 t->cursor != NULL ? "&cursor=" : "", t->cursor != NULL ? t->cursor : "") < 0)
        query = NULL;
    if (asprintf(&what, "listing %s", t->url) < 0)
        what = NULL;
    if (rest == NULL || query == NULL || what == NULL)
        code = err_memory(err, 64);
    if (code == SHEAF_OK)
        code = hf_ask(t->name->hub, t->name->repository, rest, query, what, page_classify,
                      &page.base, &target, err);
    if (code == SHEAF_OK)
        code = store_hf_take_page(t, &page.base, err);
    request_free(&page.base);
    target_free(&target);
    free(rest);
    free(query);
    free(what);
    return code;
}

static int decode_prefix(const char *path, char **prefix, struct sheaf_error *err)
{
    if (asprintf(prefix, "%s%s", path, *path != '\0' ? "/" : "") < 0) {
        *prefix = NULL;
        return err_memory(err, strlen(path));
    }
    (void)url_decode(*prefix, false);
    return SHEAF_OK;
}

static int store_hf_list(const char *url, bool directories, bool recursive, store_entry_fn *each,
                         void *context, struct sheaf_error *err)
{
    struct hf_name name;
    struct hub_tree t = { .name = &name, .url = url, .directories = directories,
                      .recursive = recursive };
    unsigned pages = 0;
    int code = hf_locate(url, &name, err);

    if (code != SHEAF_OK)
        return code;
    code = decode_prefix(name.path, &t.prefix, err);
    while (code == SHEAF_OK && (pages == 0 || t.cursor != NULL)) {
        code = ask_page(&t, err);
        if (code == SHEAF_OK && ++pages == PAGES_MOST && t.cursor != NULL)
            code = err_set(err, SHEAF_ERR_CORRUPT, "%s: the listing does not end", url);
    }
    code = listing_end(&t.listing, code, each, context);
    free(t.cursor);
    free(t.prefix);
    hf_name_free(&name);
    return code;
}

static int hf_list(const char *url, store_entry_fn *each, void *context, struct sheaf_error *err)
{
    return store_hf_list(url, false, false, each, context, err);
}

static int hf_list_directories(const char *url, store_entry_fn *each, void *context,
                               struct sheaf_error *err)
{
    return store_hf_list(url, true, false, each, context, err);
}

static int hf_walk(const char *url, store_entry_fn *each, void *context, struct sheaf_error *err)
{
    return store_hf_list(url, false, true, each, context, err);
}

/* ---- What cannot be done --------------------------------------------------------------------- */

static int store_hf_refuse(const char *url, const char *what, struct sheaf_error *err)
{
    (void)what;
    return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: the Hugging Face hub can only be read", url);
}

const struct store_ops store_hf_ops = {
    .scheme = "hf", .place = "Hugging Face hub",
    .open = hf_open, .read = remote_read,
    .read_start = remote_read_start, .read_cancel = remote_read_cancel,
    .open_known = hf_open_known, .close = http_object_close,
    .list = hf_list, .list_directories = hf_list_directories, .walk = hf_walk,
    .size = hf_size, .refuse = store_hf_refuse,
};
