/* SPDX-License-Identifier: MIT
 *
 * Signs the requests to a server with AWS credentials, if there are credentials for this server. */
#ifndef STORE_S3_S3_SIGNING_H
#define STORE_S3_S3_SIGNING_H

#include "store/request.h"

extern const struct request_signing s3_signing;

#endif
