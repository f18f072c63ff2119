/* SPDX-License-Identifier: MIT
 *
 * The shards that an earlier run of the same program finished: the first shards of the data set.
 * The program makes all its samples again in the same order, and those of finished shards are
 * skipped. Therefore each sample gets the same place, and the published data set is the
 * same. */
#ifndef PACKER_RESUMED_H
#define PACKER_RESUMED_H

#include "packer/engine.h"

struct resumed {
    struct resumed_shard {
        uint64_t samples, payload_bytes, files;
        uint64_t place;         /* the place that the program stored with the shard; 0 for none */
    } *shards;
    size_t count;
    size_t at;                  /* the shard whose samples come now; `count`: none */
    bool has_cls;               /* whether a sample of these shards has a field `cls` */
    struct buf keys;            /* key_hash() of the keys of their samples */
    bool drops_keys;            /* whether the keys are not needed: all keys differ */
    bool lacks_keys;            /* whether some of the keys are missing */
    bool converts;              /* whether images were converted in these shards, so that their
                                   sizes differ from the program's */
};

/* Finds the shards, and counts them as work that the engine has done. */
int resumed_find(struct resumed *resumed, const struct output *output, struct engine *engine,
                 struct sheaf_error *err);
void resumed_free(struct resumed *resumed);

static inline bool resumed_has_next(const struct resumed *r) { return r->at < r->count; }

/* Called when a kept shard has received the number of samples that `shard` has. *ends becomes
 * whether the shard is complete. Returns SHEAF_ERR_CHANGED if the shard was made of other
 * samples. */
int resumed_take(struct resumed *resumed, const struct plan_shard *shard, bool *ends,
                 struct sheaf_error *err);
/* Returns whether the program may continue after these shards without their samples. */
bool resumed_has_place(const struct resumed *resumed);
/* Returns SHEAF_ERR_CHANGED if the program ended, but kept shards have more samples. */
int resumed_check_end(const struct resumed *resumed, struct sheaf_error *err);

#endif
