/* SPDX-License-Identifier: MIT
 *
 * Google Cloud Storage, gs://BUCKET/KEY, by its XML interface: S3's requests, signed as S3's are,
 * with an HMAC key of a service account; without one they are not signed, as for public data.
 *
 * | setting  | environment                                           |
 * |----------|-------------------------------------------------------|
 * | key      | SHEAF_GS_ACCESS_KEY_ID, SHEAF_GS_SECRET_ACCESS_KEY    |
 * | endpoint | SHEAF_GS_ENDPOINT, or https://storage.googleapis.com  |
 *
 * It can only be read: the service passes over S3's conditions of a PUT, by which two runs to one
 * destination are told apart; its own are for requests that are signed in its own way. */
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
