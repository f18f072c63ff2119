/* SPDX-License-Identifier: MIT
 *
 * The shards of a data set that a platform has given to this host. With SageMaker's ShardedByS3Key,
 * each host has some objects of a prefix in its directory, and other hosts have the rest. The
 * manifest may be on another host. */
#ifndef MODES_HOST_SHARDS_H
#define MODES_HOST_SHARDS_H

#include "sheaf.h"

/* This host's number among the hosts. */
struct host {
    uint32_t number, count;
};

/* Opens the shards in `directory` as a data set. `manifest` is the path or URL of the data set's
 * manifest; NULL means that it is in the directory. Returns SHEAF_ERR_NOT_FOUND if there is no
 * manifest, no index, or none of its shards in the directory. Returns SHEAF_ERR_UNSUPPORTED if the
 * directory contains a file that is not a shard of the data set. */
int host_shards_open(const char *directory, const char *manifest, const struct host *host,
                     struct sheaf_dataset **dataset, struct sheaf_error *err);

#endif
