/* SPDX-License-Identifier: MIT
 *
 * Texts that a cache keeps, such as the manifests of the data sets whose shards it has. Each kept
 * text is stored with a hash in a separate file in the directory of the cache. It does not count
 * towards the size limit of the cache. */
#ifndef STORE_CACHE_KEPT_H
#define STORE_CACHE_KEPT_H

#include "store/cache.h"

/* Keeps a text under a name, and replaces an earlier text of this name. A failure is ignored,
 * because a kept text is needed only if the data set is later opened offline. */
void cache_keep(const struct cache *cache, const char *name, const char *text, size_t size);

/* Reads a kept text. The caller frees it. Returns SHEAF_ERR_NOT_FOUND if the cache in `directory`
 * has no text of this name, or if the text is damaged. */
int cache_kept(const char *directory, const char *name, char **text, size_t *size,
               struct sheaf_error *err);

#endif
