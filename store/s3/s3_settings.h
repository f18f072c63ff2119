/* SPDX-License-Identifier: MIT
 *
 * What a bucket's policy may demand of requests: one table of settings, which says for each its
 * name, values, header, and the requests that carry it.  "NAME=VALUE" in an option is the
 * variable SHEAF_S3_NAME in the environment, where the name has '_' for '-'. */
#ifndef STORE_S3_S3_SETTINGS_H
#define STORE_S3_S3_SETTINGS_H

#include "store/request.h"

enum s3_setting {
    S3_ENCRYPTION, S3_KMS_KEY, S3_BUCKET_KEY, S3_ENCRYPTION_CONTEXT, S3_STORAGE_CLASS, S3_ACL,
    S3_TAGS, S3_OWNER, S3_REQUESTER_PAYS, S3_CHECKSUM, S3_CONTENT_MD5,
    S3_SETTINGS
};

/* Each as its header has it; NULL: not set. */
struct s3_settings {
    char *values[S3_SETTINGS];
};

/* Those that the environment has.  To be freed in any case, as those of the next. */
int s3_settings_of_environment(struct s3_settings *settings, struct sheaf_error *err);
/* `base` with what the texts say, up to a NULL, where the last of a name counts, and "NAME=" takes
 * it away. */
int s3_settings_with(const struct s3_settings *base, const char *const *texts,
                     struct s3_settings *settings, struct sheaf_error *err);
bool s3_settings_are_same(const struct s3_settings *a, const struct s3_settings *b);
void s3_settings_free(struct s3_settings *settings);

/* Sets a request's headers: those of every request, and where it makes an object or begins an
 * upload also those of objects, of which directory buckets (`is_express`) do not take all. */
int s3_settings_apply(const struct s3_settings *settings, struct request *request,
                      bool is_express, struct sheaf_error *err);

/* Adds to the error of a request that was refused with AWS's `code` which headers it did not have,
 * if they may have been why. */
void s3_settings_explain(const struct request *request, const char *code,
                         struct sheaf_error *err);

#endif
