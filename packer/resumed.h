/* SPDX-License-Identifier: MIT
 *
 * The shards that an earlier run of the same program finished before it was interrupted. These
 * shards are the first ones of the data set.
 *
 * The program makes the samples of these shards again in the same order, and the packer skips them.
 * So each sample gets the same position as before, and the published data set is the same as
 * without an interruption. */
#ifndef PACKER_RESUMED_H
#define PACKER_RESUMED_H

#include "packer/engine.h"

struct resumed {
    struct resumed_shard {
        uint64_t samples, payload_bytes, files;
        /* position that the program had reached in its own input when it ended the shard; 0 if the
         * program did not state a position */
        uint64_t place;
    } *shards;
    size_t count;
    size_t at;                  /* the shard whose samples come now; `count`: none */
    /* true if at least one sample of the finished shards has a field `cls` */
    bool has_cls;
    struct buf keys;            /* key_hash() of the keys of their samples */
    bool drops_keys;            /* whether the keys are not needed: all keys differ */
    /* true if the packer converts images. The program appends the original samples again, whose
     * sizes differ from the sizes in the finished shard, so the sizes are not compared. */
    bool converts;
};

/* Finds the shards that an earlier run has finished, and counts them in the engine's progress. */
int resumed_find(struct resumed *resumed, const struct output *output, struct engine *engine,
                 struct sheaf_error *err);
void resumed_free(struct resumed *resumed);

static inline bool resumed_has_next(const struct resumed *r) { return r->at < r->count; }

/* Called for each sample of a finished shard that the program makes again. `shard` counts the
 * samples that the program has appended to this shard so far, and their bytes. Sets *ends to true
 * if the sample is the last one of the finished shard, and to false otherwise. Returns
 * SHEAF_ERR_CHANGED if the shard is complete but its bytes differ from those of the finished
 * shard. */
int resumed_take(struct resumed *resumed, const struct plan_shard *shard, bool *ends,
                 struct sheaf_error *err);
/* Returns whether the program may continue after the finished shards, without making their samples
 * again. This is possible if the journal has the program's position in its input and the keys of
 * these samples. */
bool resumed_has_place(const struct resumed *resumed);
/* Called when the program has appended its last sample. Returns SHEAF_ERR_CHANGED if the finished
 * shards have more samples than the program has made now. */
int resumed_check_end(const struct resumed *resumed, struct sheaf_error *err);

#endif
