/* SPDX-License-Identifier: MIT
 *
 * Stores hashes of the keys that were found so far in a shard, in order to find repeated keys. */
#ifndef FORMATS_KEY_SEEN_H
#define FORMATS_KEY_SEEN_H

#include <stddef.h>
#include <stdint.h>

#include "sheaf.h"

/* Largest number of keys whose hashes are stored, which takes 16 MiB. Each later key is compared
 * with the stored keys, but is not stored. So a key that is repeated only among the later keys is
 * not found. */
#define KEY_SEEN_MOST ((size_t)1 << 20)

struct key_seen {               /* zero-initialised */
    uint64_t *slots;            /* hashes; 0: empty */
    /* `capacity` is the number of elements of the hash table, a power of 2. `count` is the number
     * of keys in the table. */
    size_t capacity, count;
    uint64_t repeated;          /* number of repeated keys */
    char *first;                /* the first repeated key; or NULL */
};

/* Takes the next key. */
int key_seen_add(struct key_seen *seen, const void *key, size_t size, struct sheaf_error *err);
void key_seen_free(struct key_seen *seen);

#endif
