/* SPDX-License-Identifier: MIT
 *
 * Settings for S3 from the environment and the profile files, under the names that AWS's own tools
 * use. SHEAF_S3_ADDRESSING and AWS_NO_SIGN_REQUEST exist because AWS has no variables for them.
 *
 * | setting         | environment                          | profile                          |
 * |-----------------|--------------------------------------|----------------------------------|
 * | profile         | AWS_PROFILE                          |                                  |
 * | region          | AWS_REGION, AWS_DEFAULT_REGION       | region                           |
 * | endpoint        | AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL| [services] s3, endpoint_url      |
 * | FIPS endpoints  | AWS_USE_FIPS_ENDPOINT                | use_fips_endpoint                |
 * | dual-stack      | AWS_USE_DUALSTACK_ENDPOINT           | use_dualstack_endpoint, s3: same |
 * | acceleration    |                                      | s3: use_accelerate_endpoint      |
 * | s3.amazonaws.com| AWS_S3_US_EAST_1_REGIONAL_ENDPOINT   | s3_us_east..., s3: us_east_...   |
 * | regions of ARNs | AWS_S3_USE_ARN_REGION                | s3_use_arn_region, s3: use_...   |
 * | Express sessions| AWS_S3_DISABLE_EXPRESS_SESSION_AUTH  | s3_disable_express_session_auth  |
 * | addressing      | SHEAF_S3_ADDRESSING=path, virtual    | s3: addressing_style             |
 * | anonymous       | AWS_NO_SIGN_REQUEST=1                |                                  |
 * | checksums       | AWS_REQUEST_CHECKSUM_CALCULATION     | request_checksum_calculation     |
 * | attempts        | AWS_MAX_ATTEMPTS, AWS_RETRY_MODE     | max_attempts, retry_mode         |
 * | CA certificates | AWS_CA_BUNDLE                        | ca_bundle                        | */
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
    bool fips, dual_stack, accelerate;
    bool is_regional;           /* s3.us-east-1.amazonaws.com there, not s3.amazonaws.com */
    bool is_global;             /* region "aws-global", or none and is_regional */
    /* whether the ARN (full name) of an access point may name another region than `region` */
    bool use_arn_region;
    bool no_endpoints;          /* ignore the configured endpoints */
    bool no_sessions;           /* for directory buckets: sign with the keys themselves */
    /* number of attempts for a request, counting the first attempt; 0 if none is configured, so
     * that the default is used */
    unsigned attempts;
    bool checksums;             /* send a checksum with uploads, unless settings say otherwise */
    char *ca_file;              /* NULL: the system's */
};

int s3_config_load(struct s3_config *config, struct sheaf_error *err);
void s3_config_free(struct s3_config *config);

/* Returns whether the buckets are at Amazon. This is true if no endpoint is configured, or if the
 * host name of the endpoint contains ".amazonaws.com". */
bool s3_config_is_amazon(const struct s3_config *config);

/* Sets *url to the endpoint of another service of AWS. `service` and `host` are, for example, "sts"
 * and "sts", or "sso" and "portal.sso". The endpoint is the first of these that is set: a variable
 * such as AWS_ENDPOINT_URL_STS, the variable AWS_ENDPOINT_URL, or the endpoint in the profile. If
 * none of them is set, the endpoint is Amazon's host named `host` in the region. */
int s3_config_service_url(const struct s3_config *config, const char *service, const char *host,
                          const char *region, struct url *url, struct sheaf_error *err);

#endif
