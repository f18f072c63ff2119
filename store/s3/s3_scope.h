/* SPDX-License-Identifier: MIT
 *
 * Chooses the settings of each request. A scope is a call of the library that writes with settings
 * of its own; it covers everything under the URL to which the call writes. A request has the
 * settings of the innermost scope that covers its key, or else the settings of the environment. So
 * several calls can write to different URLs at the same time with different settings. */
#ifndef STORE_S3_S3_SCOPE_H
#define STORE_S3_S3_SCOPE_H

#include "store/s3/s3_settings.h"

struct s3_scopes;
struct store_scope;

/* Makes an empty set of scopes (calls with settings of their own). At first, all requests have the
 * settings of the environment. */
int s3_scopes_open(struct s3_scopes **scopes, struct sheaf_error *err);
void s3_scopes_close(struct s3_scopes *scopes);         /* NULL is fine */

/* Begins a scope. Until s3_scope_end, the settings in `texts` override the settings of the
 * environment in all requests for the object `key` and for all keys under it. `texts` is an array
 * of texts "NAME=VALUE", ended by NULL. `key` may also end with '/', for example if it stands for a
 * directory. */
int s3_scope_begin(struct s3_scopes *scopes, const char *bucket, const char *key,
                   const char *const *texts, struct store_scope **scope, struct sheaf_error *err);
void s3_scope_end(struct store_scope *scope);

/* Returns the settings for requests to an object, or to all keys with a prefix. The settings stay
 * valid as long as `scopes`. */
const struct s3_settings *s3_scope_settings(struct s3_scopes *scopes, const char *bucket,
                                            const char *key);

#endif
