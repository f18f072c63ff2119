/* SPDX-License-Identifier: MIT
 *
 * AWS's partitions, for example China or the government cloud. A partition is a group of regions
 * with its own host names, accounts and keys. All regions of a partition have names with the same
 * prefix, such as "cn-". So the table of partitions, which has these prefixes, stays valid when AWS
 * opens a new region. */
#ifndef STORE_S3_AWS_PARTITION_H
#define STORE_S3_AWS_PARTITION_H

#include <stdbool.h>

struct aws_partition {
    const char *prefix;         /* of its regions: "cn-" */
    const char *name;           /* as ARNs have it: "aws-cn" */
    const char *domain;         /* "amazonaws.com.cn" */
    /* domain of the dual-stack (IPv4 and IPv6) hosts of services other than S3; NULL if these
     * services have no such hosts */
    const char *dual_domain;
    bool has_s3_fips;
};

const struct aws_partition *aws_partition_of(const char *region);

/* Returns whether the name of a region can be part of a host name: it consists of letters, digits
 * and '-', and does not begin with '-'. */
bool aws_region_is_name(const char *region);

#endif
