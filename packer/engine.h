/* SPDX-License-Identifier: MIT
 *
 * The engine under sheaf_pack and sheaf_packer: blocks go in, in order; shards come out.
 *
 *     caller's thread    take -> submit ...       ... wait -> write ---------> end of shard
 *     workers                     | read, encode, compress |                   |
 *     hasher                                               | hash |            |
 *     committers                                                     fsync, journal, rename
 *
 * Blocks are a ring: those in flight from `head` on, idle ones after them.  A block is consumed
 * in the order of its submission, so what is written does not depend on which is done first.
 * Writing is a copy only, the one that there is between a file's read() and the write of its
 * shard: a thread of the store takes the bytes to the disk (store/local_write.h), or several of
 * them to S3.
 * Memory is charged to the budget before a block is submitted, and stays charged as long as the
 * block keeps its buffers.  What is sent to S3 has a share of its own (store/part_memory.h). */
#ifndef PACKER_ENGINE_H
#define PACKER_ENGINE_H

#include <stdbool.h>

#include "base/budget.h"
#include "base/watch.h"
#include "base/workers.h"
#include "packer/block.h"
#include "packer/commit_window.h"
#include "packer/image_memory.h"
#include "packer/pack_output.h"
#include "packer/source/problems.h"

#define ENGINE_COMMITS 8        /* finished shards that are committed, or wait for that */

struct slot {
    struct block block;
    struct job hash;
    struct shard_writer *hashing;       /* the block into that writer's hash */
    struct plan_shard shard;    /* the shard that it is of */
    bool begins_shard;
    bool submitted;
    uint64_t charged;           /* bytes of the budget */
    uint64_t planned_bytes, planned_samples;
};

struct commit {
    struct job job;
    const struct output *output;
    struct commit_window *window;
    struct shard_writer *writer;
    uint32_t split;
    struct journal_entry entry;
    size_t first_problem, problem_count;    /* of the shard, as it was made here */
    size_t first_converted, converted_count;
    bool is_others;             /* the entry is that of another process, which finished it first */
    int code;
    struct sheaf_error error;
};

struct engine {
    const struct block_setup *setup;
    const struct output *output;
    struct problems *problems;
    struct watch *watch;
    struct workers *workers, *hasher, *committers;
    struct commit_window window;        /* of the committers */
    struct budget budget;               /* of blocks */
    struct part_memory *parts;          /* of what is sent; NULL: nothing waits there */
    struct slot *slots;
    size_t slot_count, head, in_flight;
    uint64_t consumed;                  /* blocks */
    struct shard_writer *writer;        /* of the shard that is being written; or NULL */
    size_t first_problem;               /* of that shard, in problems->items */
    size_t first_converted;             /* and in problems->converted->items */
    struct image_memory images;         /* for decoded ones */
    struct commit commits[ENGINE_COMMITS];
    size_t commit_head, commit_count, commits_most;
    struct sheaf_progress progress;
    struct sheaf_pack_result result;    /* shards, samples, bytes, multipart_records */
};

/* How much of the memory what is sent to `dest` gets, where the largest shard has about
 * `shard_bytes` (0: not known).  SHEAF_ERR_LIMIT: it cannot be sent with so little. */
int engine_share(const char *dest, const struct block_setup *setup, uint64_t shard_bytes,
                 uint64_t memory_bytes, uint64_t *sent_bytes, struct sheaf_error *err);
int engine_open(struct engine *engine, const struct block_setup *setup,
                const struct output *output, struct problems *problems, struct watch *watch,
                unsigned jobs, uint64_t shard_bytes, uint64_t memory_bytes,
                struct sheaf_error *err);
/* The most that blocks and what was sent took of the memory. */
uint64_t engine_peak(struct engine *engine);
/* Stops what is under way.  Shards that were finished stay. */
void engine_close(struct engine *engine);

/* An idle slot with an empty block, for which the memory needed is charged; consumes blocks until
 * there is one.  SHEAF_ERR_LIMIT: it cannot fit. */
int engine_take(struct engine *engine, struct slot **slot, struct sheaf_error *err);
int engine_charge(struct engine *engine, struct slot *slot, struct block_need *need,
                  struct sheaf_error *err);
/* Queues the slot that was taken last. */
void engine_submit(struct engine *engine, struct slot *slot);

/* Waits for the blocks that are being filled, and fills no more: after a failure. */
void engine_stop(struct engine *engine);

/* Consumes all blocks that are in flight, and waits until every shard is in place. */
int engine_drain(struct engine *engine, struct sheaf_error *err);

/* Adds a finished shard to the result. */
void engine_count(struct engine *engine, const struct shard_facts *facts);

#endif
