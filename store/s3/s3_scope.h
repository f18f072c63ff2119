/* SPDX-License-Identifier: MIT
 *
 * The settings of a request: those of the innermost scope that contains its key, or else those of
 * the environment. A scope covers everything under a URL, as long as a call writes there. So
 * several calls may write at the same time, each with its own settings. */
#ifndef STORE_S3_S3_SCOPE_H
#define STORE_S3_S3_SCOPE_H

#include "store/s3/s3_settings.h"

struct s3_scopes;
struct store_scope;

/* Takes the environment's. */
int s3_scopes_open(struct s3_scopes **scopes, struct sheaf_error *err);
void s3_scopes_close(struct s3_scopes *scopes);         /* NULL is fine */

/* Begins a scope (a call that writes with settings of its own). `texts` has elements of the form
 * "NAME=VALUE" and is ended by NULL. The elements override the settings of the environment for the
 * object `key` (with or without '/' at the end), and for all keys under it. */
int s3_scope_begin(struct s3_scopes *scopes, const char *bucket, const char *key,
                   const char *const *texts, struct store_scope **scope, struct sheaf_error *err);
void s3_scope_end(struct store_scope *scope);

/* Returns the settings for an object, or for all keys with a prefix. They are valid as long as
 * `scopes`. */
const struct s3_settings *s3_scope_settings(struct s3_scopes *scopes, const char *bucket,
                                            const char *key);

#endif
