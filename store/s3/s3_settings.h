/* SPDX-License-Identifier: MIT
 *
 * Settings that a bucket's policy may require of requests. A table lists for each setting its name,
 * its values, its header, and the requests that send the header. A setting is given as a text
 * "kms-key=VALUE" in an option, or as an environment variable such as SHEAF_S3_KMS_KEY. */
#ifndef STORE_S3_S3_SETTINGS_H
#define STORE_S3_S3_SETTINGS_H

#include "store/request.h"

enum s3_setting {
    S3_ENCRYPTION, S3_KMS_KEY, S3_BUCKET_KEY, S3_ENCRYPTION_CONTEXT, S3_STORAGE_CLASS, S3_ACL,
    S3_TAGS, S3_OWNER, S3_REQUESTER_PAYS, S3_CHECKSUM, S3_CONTENT_MD5,
    S3_SETTINGS
};

/* The value of each setting as its header states it; NULL if the setting is not set. */
struct s3_settings {
    char *values[S3_SETTINGS];
};

/* Reads the settings from the environment. The caller must pass the settings to s3_settings_free,
 * even after a failure. */
int s3_settings_of_environment(struct s3_settings *settings, struct sheaf_error *err);
/* Combines the settings `base` with `texts`, an array of "NAME=VALUE" that is ended by NULL. If a
 * name occurs several times, the last value is used. "NAME=" removes a setting. The caller must
 * pass the result to s3_settings_free, even after a failure. */
int s3_settings_with(const struct s3_settings *base, const char *const *texts,
                     struct s3_settings *settings, struct sheaf_error *err);
bool s3_settings_are_same(const struct s3_settings *a, const struct s3_settings *b);
void s3_settings_free(struct s3_settings *settings);

/* Sets headers of a request: the headers that every request sends and, if the request creates an
 * object or begins an upload, the headers for objects. Directory buckets (`is_express`) do not
 * accept all headers for objects. */
int s3_settings_apply(const struct s3_settings *settings, struct request *request,
                      bool is_express, struct sheaf_error *err);

/* Called for a request that was refused with AWS's error `code`. If missing headers may be the
 * reason, adds them to the error message. */
void s3_settings_explain(const struct request *request, const char *code,
                         struct sheaf_error *err);

#endif
