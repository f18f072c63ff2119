/* SPDX-License-Identifier: MIT
 *
 * The shards that an earlier run of the same program has finished: those from the first on.  The
 * program makes all its samples again, in the same order; those of finished shards are passed
 * over.  So each sample is where it would have been, and what is published is the same. */
#ifndef PACKER_RESUMED_H
#define PACKER_RESUMED_H

#include "packer/engine.h"

struct resumed {
    struct resumed_shard {
        uint64_t samples, payload_bytes, files;
        uint64_t place;         /* what the program noted with it; 0: nothing */
    } *shards;
    size_t count;
    size_t at;                  /* the samples come that are of this one; count: of none */
    bool has_cls;               /* some sample of theirs has a field `cls` */
    struct buf keys;            /* key_hash() of each of their samples' keys */
    bool lacks_keys;            /* these are not all of them */
    bool converts;              /* images changed as they were packed, and so did the payload */
};

/* Finds them, and counts them among what the engine has done. */
int resumed_find(struct resumed *resumed, const struct output *output, struct engine *engine,
                 struct sheaf_error *err);
void resumed_free(struct resumed *resumed);

static inline bool resumed_has_next(const struct resumed *r) { return r->at < r->count; }

/* A shard that is kept has got so much: *ends says whether that is all of it.  SHEAF_ERR_CHANGED:
 * it was made of other samples. */
int resumed_take(struct resumed *resumed, const struct plan_shard *shard, bool *ends,
                 struct sheaf_error *err);
/* Whether the program may go on behind them without their samples. */
bool resumed_has_place(const struct resumed *resumed);
/* SHEAF_ERR_CHANGED: the samples are over, but shards are kept that have more. */
int resumed_check_end(const struct resumed *resumed, struct sheaf_error *err);

#endif
