/* SPDX-License-Identifier: MIT
 *
 * Stores manifests of remote data sets in a cache on this machine. A reader with a cache stores the
 * manifest of each data set that it opens. Later, such a data set can be opened offline, without a
 * request to its server. The blocks of its index and of its shards are found in the cache by the
 * hashes in the manifest. */
#ifndef READER_DATASET_KEPT_MANIFEST_H
#define READER_DATASET_KEPT_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>

#include "store/cache.h"

/* Keeps the manifest of a source. */
void kept_manifest_put(const struct cache *cache, const char *source, const char *text);

/* Makes this thread open data sets offline, with the cache in `directory`, until the function is
 * called again. If `directory` is NULL, the thread uses the servers of data sets again. Returns the
 * directory that was set before. */
const char *kept_manifest_offline(const char *directory);
/* Returns whether this thread opens the source offline. */
bool kept_manifest_is_offline(const char *source);
/* Returns the directory of the cache if this thread opens data sets offline, and otherwise NULL. */
const char *kept_manifest_directory(void);

/* Reads the manifest of a data set from the cache with which this thread opens data sets offline.
 * Returns SHEAF_ERR_UNSUPPORTED if the cache does not contain the manifest. */
int kept_manifest_get(const char *source, char **text, size_t *size, struct sheaf_error *err);

#endif
