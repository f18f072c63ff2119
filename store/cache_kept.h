/* SPDX-License-Identifier: MIT
 *
 * Keeps texts in a cache, for example the manifests of the data sets whose shards are cached. Each
 * text is stored with a hash in a file in the directory of the cache. Texts do not count towards
 * the size limit of the cache. */
#ifndef STORE_CACHE_KEPT_H
#define STORE_CACHE_KEPT_H

#include "store/cache.h"

/* Stores a text under a name in the cache, and replaces an earlier text of this name. Failures are
 * ignored, because the text is needed only if the data set is later opened without a network
 * (sheaf_dataset_open_offline). */
void cache_keep(const struct cache *cache, const char *name, const char *text, size_t size);

/* Sets *text to the text that cache_keep has stored under this name in `directory`. The caller must
 * free the text. Returns SHEAF_ERR_NOT_FOUND if the text is missing or damaged. */
int cache_kept(const char *directory, const char *name, char **text, size_t *size,
               struct sheaf_error *err);

#endif
