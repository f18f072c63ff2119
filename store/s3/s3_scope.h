/* SPDX-License-Identifier: MIT
 *
 * Which settings a request has: those of the innermost scope that its key is in, or else the
 * environment's.  A scope is all that is below a URL, for as long as a call writes there; so
 * several calls may write at once, each with its own. */
#ifndef STORE_S3_S3_SCOPE_H
#define STORE_S3_S3_SCOPE_H

#include "store/s3/s3_settings.h"

struct s3_scopes;
struct store_scope;

/* Takes the environment's. */
int s3_scopes_open(struct s3_scopes **scopes, struct sheaf_error *err);
void s3_scopes_close(struct s3_scopes *scopes);         /* NULL is fine */

/* Begins a scope: the texts are put over the environment's for `key`, with or without '/' at its
 * end, and all keys below. */
int s3_scope_begin(struct s3_scopes *scopes, const char *bucket, const char *key,
                   const char *const *texts, struct store_scope **scope, struct sheaf_error *err);
void s3_scope_end(struct store_scope *scope);

/* Of an object, or of the keys that begin with a prefix; valid as long as `scopes`. */
const struct s3_settings *s3_scope_settings(struct s3_scopes *scopes, const char *bucket,
                                            const char *key);

#endif
