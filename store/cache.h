/* SPDX-License-Identifier: MIT
 *
 * A local cache for remote objects: their blocks are files in a directory, which any number of
 * processes on a host may share.
 *
 *     DIR/total                           bytes of all blocks together, under a lock
 *     DIR/<hash of URL, size and version>/<block>     BLOCK bytes of the object, and their hash
 *
 * A block is written under a temporary name and renamed, so it is whole or absent; its hash is
 * compared when a process first uses it, and a damaged one is fetched again.  Before a block is
 * written its bytes are added to the total, and if that passes the limit, the blocks that were
 * not used for longest go.  An object that was replaced has another version, so another name.
 *
 * What goes wrong with the cache itself (a full disk) costs speed and is not an error. */
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
/* Every object must have been closed.  NULL is fine. */
void cache_close(struct cache *cache);

/* Makes *object one that reads through the cache, if it is remote; it closes the other with
 * itself.  An object without a version, which a later one of the same size could be taken for,
 * stays as it is and is counted.  On failure *object is as it was. */
int cache_wrap(struct cache *cache, struct store_object **object, struct sheaf_error *err);

/* Of this process: bytes that came from the cache's files, and from the objects; and objects
 * that were not cached, as they have no version. */
void cache_counts(struct cache *cache, uint64_t *hit_bytes, uint64_t *fetched_bytes,
                  uint64_t *uncached);

/* ---- cache_files.c: the directory ----------------------------------------------------------- */

#define CACHE_NAME_BYTES 80

struct cache_files {
    int directory;
    int total;                  /* the file of that name; its lock is every process's */
    pthread_mutex_t lock;       /* of this process's threads, before that of the file */
    uint64_t limit;
};

int cache_files_open(struct cache_files *files, const char *directory, uint64_t limit_bytes,
                     struct sheaf_error *err);
void cache_files_close(struct cache_files *files);

/* "<hash>" of an object. */
void cache_files_name(const struct store_object *object, char name[CACHE_NAME_BYTES]);

/* Reads a block of `size` bytes and compares its hash; false if there is none that is right.  One
 * that is wrong is removed. */
bool cache_files_get(const struct cache_files *files, const char *object, uint64_t block,
                     void *data, size_t size);
/* Reads a part of a block that this process has seen to be right; false if it is gone. */
bool cache_files_part(const struct cache_files *files, const char *object, uint64_t block,
                      size_t offset, void *data, size_t size);
/* Keeps a block; makes room for it. */
void cache_files_put(struct cache_files *files, const char *object, uint64_t block,
                     const void *data, size_t size);

#endif
