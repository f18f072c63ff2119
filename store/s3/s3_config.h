/* SPDX-License-Identifier: MIT
 *
 * Settings for S3, from the environment and the profile files, under the names that AWS's own tools
 * use.  SHEAF_S3_ADDRESSING and AWS_NO_SIGN_REQUEST are for what they have no variable for.
 *
 * | setting         | environment                          | profile                          |
 * |-----------------|--------------------------------------|----------------------------------|
 * | profile         | AWS_PROFILE                          |                                  |
 * | region          | AWS_REGION, AWS_DEFAULT_REGION       | region                           |
 * | endpoint        | AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL| [services] s3, endpoint_url      |
 * | addressing      | SHEAF_S3_ADDRESSING=path, virtual    | s3: addressing_style             |
 * | anonymous       | AWS_NO_SIGN_REQUEST=1                |                                  |
 * | checksums       | AWS_REQUEST_CHECKSUM_CALCULATION     | request_checksum_calculation     |
 * | CA certificates | AWS_CA_BUNDLE                        | ca_bundle                        |
 */
#ifndef STORE_S3_S3_CONFIG_H
#define STORE_S3_S3_CONFIG_H

#include <stdbool.h>

#include "store/s3/profile.h"
#include "store/url.h"

enum s3_style { S3_STYLE_AUTO, S3_STYLE_PATH, S3_STYLE_VIRTUAL };

struct s3_config {
    struct profiles profiles;
    char *profile;              /* the one in use */
    char *region;               /* "us-east-1" by default */
    struct url endpoint;        /* host NULL: Amazon's own */
    enum s3_style style;
    bool anonymous;
    bool checksums;             /* send CRC-32C with uploads */
    char *ca_file;              /* NULL: the system's */
};

int s3_config_load(struct s3_config *config, struct sheaf_error *err);
void s3_config_free(struct s3_config *config);

/* Amazon's domain in a region: "amazonaws.com", "amazonaws.com.cn". */
const char *s3_config_domain(const char *region);

/* The endpoint of another service ("STS", "sts"): AWS_ENDPOINT_URL_STS, AWS_ENDPOINT_URL, the
 * profile's, or Amazon's own in the region. */
int s3_config_service_url(const struct s3_config *config, const char *service, struct url *url,
                          struct sheaf_error *err);

#endif
