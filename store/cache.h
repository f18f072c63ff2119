/* SPDX-License-Identifier: MIT
 *
 * A cache on the local disk for remote objects. An object is cut into blocks, and each block is a
 * file in the directory DIR of the cache. All processes of a host may share this directory.
 *
 * The file of a block is DIR/HASH/BLOCK. HASH is a hash of the object's URL, size and version. So
 * each version of an object has its own files.
 *
 * The file also contains a hash of the block. A process checks this hash when it uses the block for
 * the first time. If the hash does not match, the block is fetched again. The hash does not show
 * damage that happened before the block was cached. A reader that finds such damage calls
 * store_distrust.
 *
 * If the size limit of the cache is exceeded, the least recently used blocks are removed. A fault
 * of the cache, such as a full disk, makes reading slower, but is not an error. */
#ifndef STORE_CACHE_H
#define STORE_CACHE_H

#include <pthread.h>

#include "store/store.h"

#define CACHE_BLOCK ((size_t)1 << 20)

struct cache;

/* The memory that a cache takes. */
#define CACHE_MEMORY ((uint64_t)16 * CACHE_BLOCK)

/* Creates the directory if necessary. */
int cache_open(struct cache **cache, const char *directory, uint64_t limit_bytes,
               struct sheaf_error *err);
/* Forbids all further requests of the cache to servers. After this call, reading a block that is
 * not in the cache is an error. */
void cache_go_offline(struct cache *cache);
/* Returns the descriptor of the cache's directory. */
int cache_directory(const struct cache *cache);
/* Closes the cache. All its objects must be closed before. Does nothing if `cache` is NULL. */
void cache_close(struct cache *cache);

/* Replaces *object, a remote object, by a new object that reads *object through the cache. When the
 * new object is closed, it closes the original object. An object without a version (such as an
 * ETag) is not replaced and not cached, because a later object of the same size could be mistaken
 * for it. Such objects are counted in cache_counts. On failure, *object stays as it is. */
int cache_wrap(struct cache *cache, struct store_object **object, struct sheaf_error *err);

/* Opens an object of `bytes` bytes through the cache, without a request to its server. `version` is
 * a text that identifies the content, for example a hash from a manifest. Only blocks that the
 * cache does not have are requested from the server. The first response of the server fixes the
 * version of the object (such as its ETag) for all later responses. */
int cache_open_known(struct cache *cache, const char *url, const char *version, uint64_t bytes,
                     struct store_object **object, struct sheaf_error *err);

/* Returns counts for this process: *hit_bytes becomes the number of bytes from the cache, and
 * *fetched_bytes the number of bytes from remote objects. *uncached becomes the number of objects
 * that were not cached because they have no version (such as an ETag). */
void cache_counts(struct cache *cache, uint64_t *hit_bytes, uint64_t *fetched_bytes,
                  uint64_t *uncached);

/* ---- cache_files.c: the directory ----------------------------------------------------------- */

#define CACHE_NAME_BYTES 80

struct cache_files {
    int directory;
    /* descriptor of the file `total`; a process holds the lock of this file while it changes the
     * cache */
    int total;
    pthread_mutex_t lock;       /* excludes this process's threads; taken before the file's lock */
    uint64_t limit;
};

int cache_files_open(struct cache_files *files, const char *directory, uint64_t limit_bytes,
                     struct sheaf_error *err);
void cache_files_close(struct cache_files *files);

/* Makes the name of an object's directory in the cache, which is a hash in hexadecimal digits.
 * `version` is a text that identifies the content of the object, so that each version of the
 * object has a directory of its own. */
void cache_files_name(const struct store_object *object, const char *version,
                      char name[CACHE_NAME_BYTES]);

/* Reads a block of `size` bytes from the cache, and checks its hash. Returns false if the cache
 * does not have the block, or if the hash does not match. A block with a wrong hash is removed. */
bool cache_files_get(const struct cache_files *files, const char *object, uint64_t block,
                     void *data, size_t size);
/* Reads some bytes of a block without checking its hash, because this process has checked it
 * before. Returns false if the block was removed from the cache in the meantime. */
bool cache_files_part(const struct cache_files *files, const char *object, uint64_t block,
                      size_t offset, void *data, size_t size);
/* Removes a block whose bytes have proved damaged. */
void cache_files_drop(const struct cache_files *files, const char *object, uint64_t block);
/* Stores a block, and makes room for it. */
void cache_files_put(struct cache_files *files, const char *object, uint64_t block,
                     const void *data, size_t size);

#endif
