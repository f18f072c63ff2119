/* SPDX-License-Identifier: MIT
 *
 * Passes settings of a library call, such as the storage class for S3, to the stores to which the
 * call writes. */
#include "store/scopes.h"

#include "base/error.h"

static int open_scope(struct store_scopes *s, const char *url, const char *const *texts,
                      struct sheaf_error *err)
{
    const struct store_ops *ops = url == NULL ? NULL : store_of(url, NULL);
    int code;

    if (ops == NULL || ops->scope_open == NULL)
        return SHEAF_OK;
    code = ops->scope_open(url, texts, &s->scopes[s->count], err);
    if (code == SHEAF_OK)
        s->ops[s->count++] = ops;
    return code;
}

int scopes_open(struct store_scopes *s, const char *first, const char *second,
                const char *const *texts, struct sheaf_error *err)
{
    int code;

    *s = (struct store_scopes){ .count = 0 };
    if (texts == NULL || texts[0] == NULL)
        return SHEAF_OK;
    code = open_scope(s, first, texts, err);
    if (code == SHEAF_OK)
        code = open_scope(s, second, texts, err);
    if (code == SHEAF_OK && s->count == 0)
        code = err_set(err, SHEAF_ERR_ARGUMENT, "%s: is not in S3: there is no use for the setting "
                       "%.80s", first, texts[0]);
    if (code != SHEAF_OK)
        scopes_close(s);
    return code;
}

void scopes_close(struct store_scopes *s)
{
    while (s->count != 0) {
        s->count--;
        s->ops[s->count]->scope_close(s->scopes[s->count]);
    }
}
