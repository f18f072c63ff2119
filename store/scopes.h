/* SPDX-License-Identifier: MIT
 *
 * Settings that the user gave to a library call, such as the storage class for S3. The settings
 * apply to all objects that the call writes, until the call ends. */
#ifndef STORE_SCOPES_H
#define STORE_SCOPES_H

#include "store/store.h"

#define SCOPES_MOST 2           /* a data set and its plan */

/* The settings of one library call, while they are in force. A struct whose bytes are all zero has
 * no settings. A struct may be closed even if it was not opened. */
struct store_scopes {
    const struct store_ops *ops[SCOPES_MOST];
    struct store_scope *scopes[SCOPES_MOST];
    size_t count;
};

/* Makes the settings `texts` (sheaf_pack_options.s3) apply to all requests for objects at or under
 * the URLs `first` and `second`. A URL may be NULL. Does nothing if `texts` is NULL or empty.
 * Returns SHEAF_ERR_ARGUMENT if a text is not a valid setting, or if neither URL is in a store with
 * settings. */
int scopes_open(struct store_scopes *scopes, const char *first, const char *second,
                const char *const *texts, struct sheaf_error *err);
void scopes_close(struct store_scopes *scopes);

#endif
