/* SPDX-License-Identifier: MIT
 *
 * Finds the location of a bucket: the host, the path before its keys, and the region and service
 * that requests are signed for. Pure: the configuration and the name determine it.
 *
 * | bucket                             | host, in region R of domain D                            |
 * |------------------------------------|----------------------------------------------------------|
 * | data                               | data.s3[-fips][.dualstack].R.D                           |
 * | Da.ta, or another name that cannot | s3[-fips][.dualstack].R.D, path /Da.ta                   |
 * |   be part of a host with TLS       |                                                          |
 * | NAME--ZONE--x-s3, --xa-s3          | NAME--ZONE--x-s3.s3express[-fips]-ZONE[.dualstack].R.D   |
 * | arn:P:s3:R:ACCOUNT:accesspoint/AP  | AP-ACCOUNT.s3-accesspoint[-fips][.dualstack].R.D         |
 *
 * A configured endpoint's host replaces everything after the first dot. The bucket is then in the
 * path, unless the addressing style is "virtual". */
#ifndef STORE_S3_S3_PLACE_H
#define STORE_S3_S3_PLACE_H

#include "store/s3/s3_config.h"

struct s3_place {
    struct url url;             /* its path is of no account */
    char *prefix;               /* before each key's path: "", "/bucket" */
    char *region;
    const char *service;        /* "s3", "s3express" */
    bool is_express;            /* a directory bucket, or an access point of one */
    bool may_move;              /* the service may name another region */
};

/* Finds the server of a bucket. If `region` is NULL, the configured region is used. */
int s3_place_find(const struct s3_config *config, const char *bucket, const char *region,
                  struct s3_place *place, struct sheaf_error *err);
void s3_place_free(struct s3_place *place);

#endif
