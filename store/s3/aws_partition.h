/* SPDX-License-Identifier: MIT
 *
 * AWS's partitions: worlds of regions with host names, accounts and keys of their own.  A region
 * belongs to the one whose prefix its name has; a new region needs no new line. */
#ifndef STORE_S3_AWS_PARTITION_H
#define STORE_S3_AWS_PARTITION_H

#include <stdbool.h>

struct aws_partition {
    const char *prefix;         /* of its regions: "cn-" */
    const char *name;           /* as ARNs have it: "aws-cn" */
    const char *domain;         /* "amazonaws.com.cn" */
    const char *dual_domain;    /* of dual-stack hosts of all services but S3; NULL: it has none */
    bool has_s3_fips;
};

const struct aws_partition *aws_partition_of(const char *region);

/* Whether a region's name may be part of a host's: letters, digits and '-', the last not first. */
bool aws_region_is_name(const char *region);

#endif
