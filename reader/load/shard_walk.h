/* SPDX-License-Identifier: MIT
 *
 * A walk through a whole shard: returns every frame in turn, and the hash of all stored bytes. */
#ifndef READER_SHARD_WALK_H
#define READER_SHARD_WALK_H

#include <stdatomic.h>

#include "base/xxh3_wide.h"
#include "reader/dataset/dataset.h"
#include "reader/load/frames.h"
#include "store/store.h"

struct walk {
    const struct sheaf_dataset *dataset;
    uint32_t shard;
    struct store_object *object;
    struct frames frames;
    XXH3_state_t *hash;
    uint64_t offset;                    /* number of stored bytes read */
    atomic_uint_fast64_t *progress;     /* number of bytes read by all walks together */
    const volatile int *interrupt;
    uint64_t stored_bytes;              /* of the shard */
    bool may_repeat;                    /* it is remote, and was not read again yet */
};

/* Begins a walk. `limit` is the size of the largest frame. If `section` is not NULL and has pieces,
 * the walk follows the pieces. `interrupt` may be NULL. */
int walk_open(struct walk *w, const struct sheaf_dataset *dataset, uint32_t shard,
              const struct index_section *section, size_t limit,
              atomic_uint_fast64_t *progress, const volatile int *interrupt,
              struct sheaf_error *err);
/* Accepts frames above the limit, for one walk at a time. `large` must outlive the walk. */
static inline void walk_use_large(struct walk *w, struct frames_large *large)
{
    w->frames.large = large;
}

/* Does what frames_repeat does. Bytes of a remote shard may have been damaged in transit, so the
 * shard is read from its beginning again, once in a walk. */
int walk_repeat(struct walk *w, struct sheaf_error *err);
/* As frames_next. The message begins with the shard's name. Damage of a remote shard is only
 * reported if it is still there when the shard is read again. */
int walk_next(struct walk *w, struct frame *frame, struct sheaf_error *err);
/* Reads the rest of the shard, and returns the hash of all its bytes in hexadecimal. If the hash of
 * a remote shard is not `expected`, which may be NULL, the shard is read again unless it was
 * already. */
int walk_hash(struct walk *w, const char *expected, char hex[33], struct sheaf_error *err);
void walk_close(struct walk *w);

#endif
