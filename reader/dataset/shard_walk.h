/* SPDX-License-Identifier: MIT
 *
 * Reads a whole shard: returns every frame (stored record) in order, and then the hash of all
 * stored bytes. */
#ifndef READER_SHARD_WALK_H
#define READER_SHARD_WALK_H

#include <stdatomic.h>

#include "base/xxh3_wide.h"
#include "reader/dataset/dataset.h"
#include "reader/dataset/frames.h"
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

/* Begins to read a whole shard. `limit` is the size of the largest frame (stored record) that is
 * accepted. If `section` is not NULL and has pieces, the pieces are read in their order.
 * `interrupt` may be NULL. */
int walk_open(struct walk *w, const struct sheaf_dataset *dataset, uint32_t shard,
              const struct index_section *section, size_t limit,
              atomic_uint_fast64_t *progress, const volatile int *interrupt,
              struct sheaf_error *err);
/* Allows the walk to read frames (stored records) that are larger than its limit. Several walks
 * share the memory `large`, and only one of them at a time may have such a frame. `large` must
 * outlive the walk. */
static inline void walk_use_large(struct walk *w, struct frames_large *large)
{
    w->frames.large = large;
}

/* Reads the shard again up to the frame (stored record) that was returned last, because bytes of a
 * remote shard may have been damaged in transit. This is done at most once for each shard. The
 * results are those of frames_repeat. */
int walk_repeat(struct walk *w, struct sheaf_error *err);
/* Returns the next frame (stored record), with the results of frames_next. Error messages begin
 * with the shard's name. Damage in a remote shard is reported only if it is still there when the
 * shard is read again. */
int walk_next(struct walk *w, struct frame *frame, struct sheaf_error *err);
/* Reads the rest of the shard, and writes the hash of all its bytes in hexadecimal. If the hash of
 * a remote shard differs from `expected` (which may be NULL), the shard is read again, unless it
 * was already read twice. */
int walk_hash(struct walk *w, const char *expected, char hex[33], struct sheaf_error *err);
void walk_close(struct walk *w);

#endif
