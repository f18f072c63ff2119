/* SPDX-License-Identifier: MIT
 *
 * A local cache for remote objects. The blocks of the objects are files in a directory DIR, which
 * any number of processes on a host may share. The file DIR/HASH/BLOCK has one block of an object
 * and the hash of this block; HASH is a hash of the object's URL, size and version. The file
 * DIR/total has the number of bytes of all blocks together, and is protected by a lock.
 *
 * A block is written under a temporary name and renamed, so it is complete or absent. When a
 * process first uses a block, it compares the hash. If the block was damaged in the cache, the hash
 * differs and the block is fetched again. The hash does not show damage from before the block was
 * stored; a reader that finds such damage calls store_distrust. Before a block is written, its size
 * is added to the total. If the total exceeds the limit, the least recently used blocks are
 * removed. If an object was replaced, it has another version and so another name in the cache.
 *
 * A fault of the cache itself (such as a full disk) costs speed but is not an error. */
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
/* Ends all requests: from now on, reading a block that is not in the cache is an error. */
void cache_go_offline(struct cache *cache);
/* Returns the descriptor of the cache's directory. */
int cache_directory(const struct cache *cache);
/* Closes the cache. Every object must have been closed. NULL is allowed. */
void cache_close(struct cache *cache);

/* Replaces a remote *object by an object that reads through the cache. Closing the new object also
 * closes the original one. An object without a version is not cached, because a later object of the
 * same size could be mistaken for it. Then *object is unchanged, and cache_counts counts the object
 * as not cached. On failure *object is unchanged. */
int cache_wrap(struct cache *cache, struct store_object **object, struct sheaf_error *err);

/* Opens an object of `bytes` bytes through the cache, without a request to its server. `version` is
 * a text that identifies its content, such as a hash from a manifest. Only blocks that are missing
 * in the cache are read from the server. The first such read determines which object is used. */
int cache_open_known(struct cache *cache, const char *url, const char *version, uint64_t bytes,
                     struct store_object **object, struct sheaf_error *err);

/* Returns three counts for this process: bytes read from the cache's files, bytes read from the
 * remote objects, and objects that were not cached because they have no version. */
void cache_counts(struct cache *cache, uint64_t *hit_bytes, uint64_t *fetched_bytes,
                  uint64_t *uncached);

/* ---- cache_files.c: the directory ----------------------------------------------------------- */

#define CACHE_NAME_BYTES 80

struct cache_files {
    int directory;
    /* descriptor of the file `total`; all processes share its lock */
    int total;
    pthread_mutex_t lock;       /* excludes this process's threads; taken before the file's lock */
    uint64_t limit;
};

int cache_files_open(struct cache_files *files, const char *directory, uint64_t limit_bytes,
                     struct sheaf_error *err);
void cache_files_close(struct cache_files *files);

/* "<hash>" of an object with this version. */
void cache_files_name(const struct store_object *object, const char *version,
                      char name[CACHE_NAME_BYTES]);

/* Reads a block of `size` bytes and verifies its hash. Returns false if there is no valid block. An
 * invalid block is removed. */
bool cache_files_get(const struct cache_files *files, const char *object, uint64_t block,
                     void *data, size_t size);
/* Reads a part of a block that this process has already verified. Returns false if the block does
 * not exist any more. */
bool cache_files_part(const struct cache_files *files, const char *object, uint64_t block,
                      size_t offset, void *data, size_t size);
/* Removes a block whose bytes have proved damaged. */
void cache_files_drop(const struct cache_files *files, const char *object, uint64_t block);
/* Stores a block, and makes room for it. */
void cache_files_put(struct cache_files *files, const char *object, uint64_t block,
                     const void *data, size_t size);

#endif
