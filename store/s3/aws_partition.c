/* SPDX-License-Identifier: MIT
 *
 * The table of AWS's partitions. */
#include "store/s3/aws_partition.h"

#include <string.h>

#include "base/bytes.h"

#define LABEL_MOST 63           /* most bytes between two dots of a host name */

static const struct aws_partition partitions[] = {
    { "cn-", "aws-cn", "amazonaws.com.cn", "api.amazonwebservices.com.cn", false },
    { "us-gov-", "aws-us-gov", "amazonaws.com", "api.aws", true },
    { "us-iso-", "aws-iso", "c2s.ic.gov", "api.aws.ic.gov", true },
    { "us-isob-", "aws-iso-b", "sc2s.sgov.gov", "api.aws.scloud", true },
    { "eu-isoe-", "aws-iso-e", "cloud.adc-e.uk", NULL, true },
    { "us-isof-", "aws-iso-f", "csp.hci.ic.gov", NULL, true },
    { "eusc-", "aws-eusc", "amazonaws.eu", "api.amazonwebservices.eu", true },
};

static const struct aws_partition others = { "", "aws", "amazonaws.com", "api.aws", true };

const struct aws_partition *aws_partition_of(const char *region)
{
    for (size_t i = 0; i < COUNT_OF(partitions); i++)
        if (strncmp(region, partitions[i].prefix, strlen(partitions[i].prefix)) == 0)
            return &partitions[i];
    return &others;
}

bool aws_region_is_name(const char *region)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-";
    const size_t size = strlen(region);

    return size != 0 && size <= LABEL_MOST && *region != '-' && strspn(region, allowed) == size;
}
