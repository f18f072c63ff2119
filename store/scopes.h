/* SPDX-License-Identifier: MIT
 *
 * Settings of a call for what it writes: they hold below its destinations, and until it ends. */
#ifndef STORE_SCOPES_H
#define STORE_SCOPES_H

#include "store/store.h"

#define SCOPES_MOST 2           /* a data set, and its plan */

/* Zero it; closing it then is fine. */
struct store_scopes {
    const struct store_ops *ops[SCOPES_MOST];
    struct store_scope *scopes[SCOPES_MOST];
    size_t count;
};

/* Requests to what is at `first` and below, and at `second` (NULL: there is none), have the
 * settings of sheaf_pack_options.s3.  Nothing happens where `texts` is NULL or empty.
 * SHEAF_ERR_ARGUMENT: a text is no setting, or neither place has any. */
int scopes_open(struct store_scopes *scopes, const char *first, const char *second,
                const char *const *texts, struct sheaf_error *err);
void scopes_close(struct store_scopes *scopes);

#endif
