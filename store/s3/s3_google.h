/* SPDX-License-Identifier: MIT
 *
 * Google Cloud Storage, gs://BUCKET/KEY, through its XML interface. It accepts S3's requests,
 * signed like S3's with the HMAC key of a service account. Without a key they are not signed, as
 * for public data.
 *
 * | setting  | environment                                           |
 * |----------|-------------------------------------------------------|
 * | key      | SHEAF_GS_ACCESS_KEY_ID, SHEAF_GS_SECRET_ACCESS_KEY    |
 * | endpoint | SHEAF_GS_ENDPOINT, or https://storage.googleapis.com  |
 *
 * It is read-only here. The service ignores S3's conditions of a PUT, which keep two runs to one
 * destination apart, and its own conditions require requests that are signed in its own way. */
#ifndef STORE_S3_S3_GOOGLE_H
#define STORE_S3_S3_GOOGLE_H

#include "store/s3/credentials.h"
#include "store/s3/s3_place.h"

#define S3_GOOGLE_SCHEME "gs"

struct s3_google {
    struct url endpoint;
    struct credentials_cache *credentials;      /* NULL: requests are not signed */
};

int s3_google_open(struct s3_google *google, struct sheaf_error *err);
void s3_google_close(struct s3_google *google);

int s3_google_place(const struct s3_google *google, const char *bucket, struct s3_place *place,
                    struct sheaf_error *err);

#endif
