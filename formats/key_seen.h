/* SPDX-License-Identifier: MIT
 *
 * The keys that were seen in a shard, as hashes: finds those that come again. */
#ifndef FORMATS_KEY_SEEN_H
#define FORMATS_KEY_SEEN_H

#include <stddef.h>
#include <stdint.h>

#include "sheaf.h"

/* The largest number of keys that are kept, in 16 MiB. Later keys are only compared with these. */
#define KEY_SEEN_MOST ((size_t)1 << 20)

struct key_seen {               /* zero-initialised */
    uint64_t *slots;            /* hashes; 0: empty */
    size_t capacity, count;     /* size of the table, a power of 2; number of keys in it */
    uint64_t repeated;          /* keys that came again */
    char *first;                /* the first of them; NULL */
};

/* Takes the next key. */
int key_seen_add(struct key_seen *seen, const void *key, size_t size, struct sheaf_error *err);
void key_seen_free(struct key_seen *seen);

#endif
