/* SPDX-License-Identifier: MIT
 *
 * Settings of a call of the library for the objects that it writes (such as S3's storage class).
 * They apply under the call's destinations until the call ends. */
#ifndef STORE_SCOPES_H
#define STORE_SCOPES_H

#include "store/store.h"

#define SCOPES_MOST 2           /* a data set and its plan */

/* The settings that are in force. A caller starts with a struct of zero bytes, and may close it at
 * any time. */
struct store_scopes {
    const struct store_ops *ops[SCOPES_MOST];
    struct store_scope *scopes[SCOPES_MOST];
    size_t count;
};

/* Applies the settings of sheaf_pack_options.s3 to all requests for objects at and under the URLs
 * `first` and `second` (each may be NULL). Does nothing if `texts` is NULL or empty. Returns
 * SHEAF_ERR_ARGUMENT if a text is not a valid setting, or if neither URL is in a store that has
 * settings. */
int scopes_open(struct store_scopes *scopes, const char *first, const char *second,
                const char *const *texts, struct sheaf_error *err);
void scopes_close(struct store_scopes *scopes);

#endif
