/* SPDX-License-Identifier: MIT
 *
 * Opens the shards of a data set that SageMaker has copied to this host. With ShardedByS3Key, each
 * host has some of the data set's objects in its directory, and other hosts have the rest. The
 * manifest may be on another host. */
#ifndef MODES_HOST_SHARDS_H
#define MODES_HOST_SHARDS_H

#include "sheaf.h"

/* This host's number among the hosts. */
struct host {
    uint32_t number, count;
};

/* Opens the shards in `directory` as a data set. `manifest` is the path or URL of the data set's
 * manifest, or NULL if the manifest is in the directory. Returns SHEAF_ERR_NOT_FOUND if the
 * manifest or the index is missing, or if none of the shards is in the directory. Returns
 * SHEAF_ERR_UNSUPPORTED if the directory contains a file that is not a shard of the data set. */
int host_shards_open(const char *directory, const char *manifest, const struct host *host,
                     struct sheaf_dataset **dataset, struct sheaf_error *err);

#endif
