/* SPDX-License-Identifier: MIT
 *
 * Opens objects that a manifest lists, through the cache if there is one. */
#ifndef READER_LISTED_H
#define READER_LISTED_H

#include "reader/dataset/dataset.h"
#include "store/cache.h"

/* Opens the cache of a data set that was opened offline, or that this thread is opening offline.
 * Sets *cache to NULL if the servers of the data set may be asked. */
int listed_open_cache(const struct sheaf_dataset *d, struct cache **cache, struct sheaf_error *err);
/* Opens an object of any size. `cache` may be NULL in all these functions. */
int listed_open_any(struct cache *cache, const char *url, struct store_object **object,
                    struct sheaf_error *err);
/* Opens an object of a source, whose manifest states the size of the object. `proof` is a hash from
 * the manifest that identifies the content, or "" for foreign shards (shards without a manifest).
 * For a remote object, no request is sent, and the first read shows whether the size is right. If
 * the cache has the whole object, no server is needed. */
int listed_open_known(struct cache *cache, const struct sheaf_dataset *source, const char *url,
                      const char *proof, uint64_t bytes, struct store_object **object,
                      struct sheaf_error *err);
/* Does the same, and returns SHEAF_ERR_CHANGED if the object has another size. */
int listed_open(struct cache *cache, const struct sheaf_dataset *source, const char *url,
                const char *proof, uint64_t bytes, struct store_object **object,
                struct sheaf_error *err);

#endif
