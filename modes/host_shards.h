/* SPDX-License-Identifier: MIT
 *
 * The shards of a data set that a platform has given to this host, as SageMaker's ShardedByS3Key
 * does: each host has some of a prefix's objects in its directory, and other hosts have the rest.
 * The manifest may be on another host. */
#ifndef MODES_HOST_SHARDS_H
#define MODES_HOST_SHARDS_H

#include "sheaf.h"

/* This host's number among the hosts. */
struct host {
    uint32_t number, count;
};

/* Opens the shards in `directory` by the data set's manifest at `manifest`, a path or URL; NULL
 * means in the directory. Returns SHEAF_ERR_NOT_FOUND if there is no manifest or no index or none
 * of its shards is here, and _UNSUPPORTED if the directory holds another file than a shard of the
 * data set. */
int host_shards_open(const char *directory, const char *manifest, const struct host *host,
                     struct sheaf_dataset **dataset, struct sheaf_error *err);

#endif
