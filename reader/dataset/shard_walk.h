/* SPDX-License-Identifier: MIT
 *
 * Reads a whole shard from start to end. Returns each frame (a record as it is stored) in order,
 * and finally the hash of all stored bytes. */
#ifndef READER_SHARD_WALK_H
#define READER_SHARD_WALK_H

#include <stdatomic.h>

#include "base/xxh3_wide.h"
#include "reader/dataset/dataset.h"
#include "reader/dataset/frames.h"
#include "store/read_ahead.h"
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
    uint64_t stored_bytes;              /* size of the stored shard in bytes */
    /* true if the shard is remote and was not read again yet */
    bool may_repeat;
};

/* Returns the number of requests that run at the same time while a walk reads a remote shard of
 * `shard_bytes` bytes. `limit` and `most` must be the arguments of walk_open. */
unsigned walk_requests(uint64_t shard_bytes, size_t limit, unsigned most);

/* Begins to read a whole shard. `limit` is the size in bytes of the largest frame (stored record)
 * that is accepted. If the shard is remote, at most `most` requests run at the same time; `most`
 * must be at most AHEAD_PIECES_MOST.
 *
 * A sample may be stored in several pieces (byte ranges), if other files lie between its files. If
 * `section` lists such pieces, they are read in the order of the list. `section` and `interrupt`
 * may be NULL. */
int walk_open(struct walk *w, const struct sheaf_dataset *dataset, uint32_t shard,
              const struct index_section *section, size_t limit, unsigned most,
              atomic_uint_fast64_t *progress, const volatile int *interrupt,
              struct sheaf_error *err);
/* Lets the walk read frames (stored records) that are larger than its limit. They are read into the
 * memory `large`, which several walks share, so only one walk can read such a frame at a time.
 * `large` must stay valid until the walk is closed. */
static inline void walk_use_large(struct walk *w, struct frames_large *large)
{
    w->frames.large = large;
}

/* Reads the shard again, up to the frame (stored record) that was returned last. The next call of
 * walk_next returns this frame again. Called if the frame is damaged, because the bytes of a remote
 * shard may have been damaged on the network. Each shard is read again at most once. Returns the
 * same codes as frames_repeat. Error messages begin with the name of the shard. */
int walk_repeat(struct walk *w, struct sheaf_error *err);
/* Returns the next frame (stored record) of the shard, and the same codes as frames_next. Error
 * messages begin with the name of the shard. If a remote shard seems damaged, the shard is read
 * again. The damage is reported only if it is found again. */
int walk_next(struct walk *w, struct frame *frame, struct sheaf_error *err);
/* Reads the rest of the shard. Writes the hash of all its bytes to `hex`. `expected` is the known
 * hash, or NULL. If a remote shard has another hash, reads the shard once more, unless the walk has
 * already read it again. */
int walk_hash(struct walk *w, const char *expected, char hex[33], struct sheaf_error *err);
void walk_close(struct walk *w);

#endif
