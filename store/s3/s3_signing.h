/* SPDX-License-Identifier: MIT
 *
 * Signs requests with AWS credentials, if the process has credentials for the server of the
 * request. Otherwise the requests are sent without a signature. */
#ifndef STORE_S3_S3_SIGNING_H
#define STORE_S3_S3_SIGNING_H

#include "store/request.h"

extern const struct request_signing s3_signing;

#endif
