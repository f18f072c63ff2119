/* SPDX-License-Identifier: MIT
 *
 * The shards of a data set that a platform has given to this host, as SageMaker's ShardedByS3Key
 * does: each host has some of the objects of a prefix in its directory, and other hosts the rest.
 * The manifest may be with another host. */
#ifndef MODES_HOST_SHARDS_H
#define MODES_HOST_SHARDS_H

#include "sheaf.h"

/* Which of the hosts this is. */
struct host {
    uint32_t number, count;
};

/* Opens the shards in `directory` by the data set's manifest, which is at `manifest` (a path or
 * URL), or NULL: in the directory.  SHEAF_ERR_NOT_FOUND: there is no manifest, or no index, or none
 * of its shards is here; _UNSUPPORTED: another file than a shard of the data set is here. */
int host_shards_open(const char *directory, const char *manifest, const struct host *host,
                     struct sheaf_dataset **dataset, struct sheaf_error *err);

#endif
