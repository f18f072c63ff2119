/* SPDX-License-Identifier: MIT
 *
 * Settings for requests to S3. The policy of a bucket may require most of them. A table has for
 * each setting its name, its values, its header, and the requests that send the header. A user
 * gives a setting as a text such as "kms-key=VALUE" in an option, or by an environment variable
 * such as SHEAF_S3_KMS_KEY. */
#ifndef STORE_S3_S3_SETTINGS_H
#define STORE_S3_S3_SETTINGS_H

#include "store/request.h"

enum s3_setting {
    S3_ENCRYPTION, S3_KMS_KEY, S3_BUCKET_KEY, S3_ENCRYPTION_CONTEXT, S3_STORAGE_CLASS, S3_ACL,
    S3_TAGS, S3_OWNER, S3_REQUESTER_PAYS, S3_CHECKSUM, S3_CONTENT_MD5,
    S3_SETTINGS
};

/* The value of each setting, in the form in which the setting's header is sent; NULL if the user
 * has not set it. */
struct s3_settings {
    char *values[S3_SETTINGS];
};

/* Reads the settings from environment variables. The caller must call s3_settings_free even after a
 * failure. */
int s3_settings_of_environment(struct s3_settings *settings, struct sheaf_error *err);
/* Changes the settings `base` by `texts`, an array of texts "NAME=VALUE" that ends with NULL.
 * "NAME=" removes a setting. If a name occurs several times, the last text counts. The caller must
 * pass the result to s3_settings_free even after a failure. */
int s3_settings_with(const struct s3_settings *base, const char *const *texts,
                     struct s3_settings *settings, struct sheaf_error *err);
bool s3_settings_are_same(const struct s3_settings *a, const struct s3_settings *b);
void s3_settings_free(struct s3_settings *settings);

/* Sets the headers that the settings require. Some headers are sent with every request, and others
 * only with requests that create an object or begin an upload. Headers that directory buckets do
 * not accept are left out if is_express is set. */
int s3_settings_apply(const struct s3_settings *settings, struct request *request,
                      bool is_express, struct sheaf_error *err);

/* Explains why a request was refused with AWS's error `code`. If missing headers may be the reason,
 * adds their names to the error's message. */
void s3_settings_explain(const struct request *request, const char *code,
                         struct sheaf_error *err);

#endif
