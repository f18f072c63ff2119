/* SPDX-License-Identifier: MIT
 *
 * Opens shards and index files that a manifest lists. Reads them through a cache if the caller
 * gives a cache. */
#ifndef READER_LISTED_H
#define READER_LISTED_H

#include "reader/dataset/dataset.h"
#include "store/cache.h"

/* Opens the cache of a data set that is used offline, that is, without its servers. The data set
 * may still be in the process of being opened by this thread. Sets *cache to NULL if the data set
 * is used with its servers. */
int listed_open_cache(const struct sheaf_dataset *d, struct cache **cache, struct sheaf_error *err);
/* Opens an object of a data set. The size of the object need not be known. In all functions of this
 * file, `cache` is NULL if the object is not read through a cache. */
int listed_open_any(struct cache *cache, const char *url, struct store_object **object,
                    struct sheaf_error *err);
/* Opens an object of which the size and the content are known, for example a shard. `bytes` is its
 * size in the manifest of `source`. `proof` is a hash from the manifest that identifies the
 * content, or "" for foreign shards, which have no manifest.
 *
 * Usually no request is sent to open a remote object. If the object has another size, the first
 * read returns an error. If the whole object is in the cache, no server is needed. */
int listed_open_known(struct cache *cache, const struct sheaf_dataset *source, const char *url,
                      const char *proof, uint64_t bytes, struct store_object **object,
                      struct sheaf_error *err);
/* Opens an object like listed_open_known. Also checks the size of the object at once, and returns
 * SHEAF_ERR_CHANGED if the size is not `bytes`. */
int listed_open(struct cache *cache, const struct sheaf_dataset *source, const char *url,
                const char *proof, uint64_t bytes, struct store_object **object,
                struct sheaf_error *err);
/* Called for an object that should have `bytes` bytes. If it has another size, examines its first
 * bytes. Returns SHEAF_ERR_CORRUPT if they show that something else was stored in place of the
 * right file, such as a pointer file of Git LFS. The error says what was stored. */
int listed_check_kind(struct store_object *object, const char *url, uint64_t bytes,
                      struct sheaf_error *err);

#endif
