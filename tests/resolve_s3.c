/* SPDX-License-Identifier: MIT
 *
 * Finds out how the store would handle an s3:// URL, without accessing the object. For
 * tests/interop/test_botocore.py:
 *
 *     resolve_s3 s3://BUCKET/KEY
 *
 * prints a line of JSON: where a request for the object goes, how often it is attempted, for which
 * region and service it is signed, whether by a session's keys, the access key that is found, and
 * the proxy; or the error.
 * Only looking for credentials makes requests. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/proxy.h"
#include "store/s3/s3.h"

/* Finds the access key. Not for directory buckets, whose keys belong to a session that would have
 * to be requested. */
static int find_key(const struct s3_bucket *bucket, json_t *out, struct sheaf_error *err)
{
    struct credentials *set;
    int code;

    if (bucket->target.credentials == NULL || bucket->is_express)
        return SHEAF_OK;
    code = credentials_wait(bucket->target.credentials, &set, err);
    if (code == SHEAF_OK) {
        json_object_set_new(out, "access", json_string(set->access_key_id));
        json_object_set_new(out, "token", json_string(set->session_token != NULL
                                                      ? set->session_token : ""));
        credentials_release(set);
    }
    return code;
}

static int resolve(const char *url, json_t *out, struct sheaf_error *err)
{
    const struct s3_bucket *bucket;
    struct request r;
    char *key, *where;
    int code = s3_locate(url, &bucket, &key, err);

    if (code != SHEAF_OK)
        return code;
    code = s3_request_init(&r, bucket, HTTP_GET, key, NULL, 0, "resolving", err);
    if (code == SHEAF_OK &&
        asprintf(&where, "%s%s%s", r.target->origin, r.target->prefix, r.path) >= 0) {
        json_object_set_new(out, "url", json_string(where));
        json_object_set_new(out, "proxy", json_string(proxy_of(where)));
        json_object_set_new(out, "attempts", json_integer(r.target->patience->retry.attempts));
        json_object_set_new(out, "region", json_string(r.target->region));
        json_object_set_new(out, "service", json_string(r.target->service));
        json_object_set_new(out, "session", json_boolean(bucket->is_express));
        free(where);
        code = find_key(bucket, out, err);
    }
    request_free(&r);
    free(key);
    return code;
}

int main(int argc, char **argv)
{
    struct sheaf_error error = { 0 };
    json_t *out = json_object();

    if (argc != 2)
        return 2;
    if (resolve(argv[1], out, &error) != SHEAF_OK)
        json_object_set_new(out, "error", json_string(error.message));
    json_dumpf(out, stdout, JSON_SORT_KEYS);
    putchar('\n');
    json_decref(out);
    return 0;
}
