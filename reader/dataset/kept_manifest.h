/* SPDX-License-Identifier: MIT
 *
 * Manifests in a cache. A reader that has a cache keeps the manifests of its remote data sets
 * there. A data set can then be opened offline, without a request to its server: the kept manifest
 * has the hashes of the index and the shards, by which the cache knows their blocks. */
#ifndef READER_DATASET_KEPT_MANIFEST_H
#define READER_DATASET_KEPT_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>

#include "store/cache.h"

/* Keeps the manifest of a source. */
void kept_manifest_put(const struct cache *cache, const char *source, const char *text);

/* Makes this thread open data sets offline, with the cache in `directory`, until the next call.
 * NULL ends this. Returns the former directory. */
const char *kept_manifest_offline(const char *directory);
/* Returns whether this thread opens the source offline. */
bool kept_manifest_is_offline(const char *source);
/* Returns the directory of the cache with which this thread opens data sets offline, or NULL. */
const char *kept_manifest_directory(void);

/* Reads the manifest of a source that is opened offline. Returns SHEAF_ERR_UNSUPPORTED if the cache
 * does not have it. */
int kept_manifest_get(const char *source, char **text, size_t *size, struct sheaf_error *err);

#endif
