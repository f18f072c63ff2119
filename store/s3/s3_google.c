/* SPDX-License-Identifier: MIT
 *
 * Settings and locations of Google Cloud Storage; see s3_google.h. */
#include "store/s3/s3_google.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static const char *s3_google_environment(const char *name)
{
    const char *value = getenv(name);

    return value != NULL && *value != '\0' ? value : NULL;
}

static int load_key(struct s3_google *g, struct sheaf_error *err)
{
    const char *id = s3_google_environment("SHEAF_GS_ACCESS_KEY_ID");
    const char *secret = s3_google_environment("SHEAF_GS_SECRET_ACCESS_KEY");
    struct credentials *set;
    int code;

    if (id == NULL && secret == NULL)
        return SHEAF_OK;
    if (id == NULL || secret == NULL)
        return err_set(err, SHEAF_ERR_ACCESS, "%s is set, but %s is not",
                       id != NULL ? "SHEAF_GS_ACCESS_KEY_ID" : "SHEAF_GS_SECRET_ACCESS_KEY",
                       id != NULL ? "SHEAF_GS_SECRET_ACCESS_KEY" : "SHEAF_GS_ACCESS_KEY_ID");
    set = credentials_new(id, secret, NULL, CREDENTIALS_NEVER);
    if (set == NULL)
        return err_memory(err, sizeof(*set));
    code = credentials_cache_fixed(&g->credentials, set, err);
    credentials_release(set);
    return code;
}

int s3_google_open(struct s3_google *g, struct sheaf_error *err)
{
    const char *endpoint = s3_google_environment("SHEAF_GS_ENDPOINT");
    int code;

    *g = (struct s3_google){ .credentials = NULL };
    code = url_parse(endpoint != NULL ? endpoint : "https://storage.googleapis.com", &g->endpoint,
                     err);
    if (code == SHEAF_OK && strcmp(g->endpoint.path, "/") != 0)
        code = err_set(err, SHEAF_ERR_ARGUMENT, "it may not have a path");
    if (code != SHEAF_OK)
        return err_prefix(err, "SHEAF_GS_ENDPOINT: ");
    return load_key(g, err);
}

void s3_google_close(struct s3_google *g)
{
    url_free(&g->endpoint);
    credentials_cache_close(g->credentials);
}

int s3_google_place(const struct s3_google *g, const char *bucket, struct s3_place *place,
                    struct sheaf_error *err)
{
    *place = (struct s3_place){ .service = "s3", .url = { .tls = g->endpoint.tls,
                                                          .port = g->endpoint.port } };
    place->url.host = strdup(g->endpoint.host);
    place->region = strdup("auto");
    if (asprintf(&place->prefix, "/%s", bucket) < 0)
        place->prefix = NULL;
    return place->url.host == NULL || place->region == NULL || place->prefix == NULL
           ? err_memory(err, strlen(bucket)) : SHEAF_OK;
}
