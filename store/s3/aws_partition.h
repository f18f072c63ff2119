/* SPDX-License-Identifier: MIT
 *
 * AWS's partitions: groups of regions with host names, accounts and keys of their own. A region
 * belongs to the partition whose prefix its name begins with, so a new region needs no new line in
 * the table. */
#ifndef STORE_S3_AWS_PARTITION_H
#define STORE_S3_AWS_PARTITION_H

#include <stdbool.h>

struct aws_partition {
    const char *prefix;         /* of its regions: "cn-" */
    const char *name;           /* as ARNs have it: "aws-cn" */
    const char *domain;         /* "amazonaws.com.cn" */
    /* domain of dual-stack hosts of all services except S3; NULL if the partition has none */
    const char *dual_domain;
    bool has_s3_fips;
};

const struct aws_partition *aws_partition_of(const char *region);

/* Returns whether a region's name may be part of a host name: it consists of letters, digits and
 * '-', and does not begin with '-'. */
bool aws_region_is_name(const char *region);

#endif
