/* SPDX-License-Identifier: MIT
 *
 * Takes AWS credentials from the environment. Also has the functions that several other sources
 * use. */
#include "store/s3/credentials_sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/json_answer.h"
#include "store/store.h"

#define FILE_MOST ((size_t)64 << 10)    /* bytes of a token */

int credentials_from_environment(struct credentials **set, struct sheaf_error *err)
{
    const char *id = getenv("AWS_ACCESS_KEY_ID");
    const char *secret = getenv("AWS_SECRET_ACCESS_KEY");
    const char *token = getenv("AWS_SECURITY_TOKEN");       /* its name of old */

    if (token == NULL || *token == '\0')
        token = getenv("AWS_SESSION_TOKEN");
    if (id == NULL || *id == '\0')
        return SHEAF_END;
    if (secret == NULL || *secret == '\0')
        return err_set(err, SHEAF_ERR_ACCESS,
                       "AWS_ACCESS_KEY_ID is set, but AWS_SECRET_ACCESS_KEY is not");
    *set = credentials_new(id, secret, token, CREDENTIALS_NEVER);
    return *set == NULL ? err_memory(err, sizeof(**set)) : SHEAF_OK;
}

/* ---- What the sources share ----------------------------------------------------------------- */

static const char *json_text(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

int credentials_from_json(const char *text, size_t size, const char *from, int version,
                          struct credentials **set, struct sheaf_error *err)
{
    json_t *root;
    int code = json_answer(text, size, &root, err);
    const char *id = json_text(root, "AccessKeyId");
    const char *secret = json_text(root, "SecretAccessKey");
    const char *token = json_text(root, "SessionToken");
    const char *expiration = json_text(root, "Expiration");
    int64_t expires_ms = CREDENTIALS_NEVER;

    if (token == NULL)
        token = json_text(root, "Token");
    if (code == SHEAF_OK && root == NULL)
        code = err_set(err, SHEAF_ERR_CORRUPT, "%s: the response is not JSON", from);
    else if (code == SHEAF_OK && version != 0 &&
             json_integer_value(json_object_get(root, "Version")) != version)
        code = err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: the response must have \"Version\": %d",
                       from, version);
    else if (code == SHEAF_OK && (id == NULL || secret == NULL))
        code = err_set(err, SHEAF_ERR_CORRUPT, "%s: the response has no %s", from,
                       id == NULL ? "AccessKeyId" : "SecretAccessKey");
    else if (code == SHEAF_OK && expiration != NULL &&
             !credentials_parse_time(expiration, &expires_ms))
        code = err_set(err, SHEAF_ERR_CORRUPT, "%s: invalid time \"%.40s\"", from, expiration);
    if (code == SHEAF_OK) {
        *set = credentials_new(id, secret, token, expires_ms);
        code = *set == NULL ? err_memory(err, sizeof(**set)) : SHEAF_OK;
    }
    json_decref(root);
    return code;
}

int credentials_read_file(const char *path, char **text, struct sheaf_error *err)
{
    size_t size = 0;
    int code = store_get(path, FILE_MOST, text, &size, err);

    while (code == SHEAF_OK && size != 0 && strchr(" \t\r\n", (*text)[size - 1]) != NULL)
        (*text)[--size] = '\0';
    return code;
}

int credentials_ask(const struct credentials_context *c, enum http_method method,
                    const char *url, const char *header, const char *value,
                    int (*check)(struct request *request, struct sheaf_error *err), char **text,
                    struct sheaf_error *err)
{
    struct target target = { .engine = c->engine, .patience = c->patience, .no_proxy = true,
                             .connect_ns = 1000000000 };
    struct request r;
    struct url parts;
    int code = url_parse(url, &parts, err);

    *text = NULL;
    if (code != SHEAF_OK)
        return code;
    code = target_set_url(&target, &parts, err);
    if (code == SHEAF_OK) {
        char *what = NULL;

        if (asprintf(&what, "asking %s for credentials", target.origin) < 0)
            what = NULL;
        code = request_init(&r, &target, method, strdup(parts.path), NULL, what, err);
        r.check = check;
        if (code == SHEAF_OK && header != NULL)
            code = request_set_header(&r, header, value, err);
        if (code == SHEAF_OK)
            code = request_run(&r, err);
        if (code == SHEAF_OK)
            code = buf_append(&r.http.reply, "", 1, err);
        if (code == SHEAF_OK) {
            *text = (char *)r.http.reply.data;
            r.http.reply.data = NULL;
        }
        request_free(&r);
    }
    target_free(&target);
    url_free(&parts);
    return code;
}
