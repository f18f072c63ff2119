/* SPDX-License-Identifier: MIT
 *
 * The engine of sheaf_pack and sheaf_packer. Blocks go in, in order, and shards come out.
 *
 *     caller's thread    take -> submit ...       ... wait -> write ---------> end of shard
 *     workers                     | read, encode, compress |                   |
 *     hasher                                               | hash |            |
 *     committers                                                     fsync, journal, rename
 *
 * Blocks form a ring: the blocks in flight start at `head`, and idle blocks follow them. Blocks
 * are consumed in the order in which they were submitted, so the output does not depend on which
 * one is done first. A file's content is copied only once between read() and the write of its
 * shard. A thread of the store writes the bytes to the disk (store/local_write.h), or several
 * threads send them to S3.
 *
 * Memory is charged to the budget before a block is submitted. It stays charged as long as the
 * block has its buffers. Data that are sent to S3 have a share of their own
 * (store/part_memory.h). */
#ifndef PACKER_ENGINE_H
#define PACKER_ENGINE_H

#include <stdbool.h>

#include "base/budget.h"
#include "base/inflight.h"
#include "base/watch.h"
#include "image/image_memory.h"
#include "packer/block.h"
#include "packer/pack_output.h"
#include "packer/source/problems.h"

struct slot {
    struct block block;
    struct job hash;
    struct shard_writer *hashing;       /* the writer into whose hash the block goes */
    struct plan_shard shard;    /* the shard of the block */
    bool begins_shard;
    bool submitted;
    uint64_t charged;           /* bytes charged to the budget */
    uint64_t planned_bytes, planned_samples;
};

/* The lists of source files that the engine keeps: skipped files, and converted files. Each shard
 * adds lines to them. */
enum { ENGINE_SKIPPED, ENGINE_CONVERTED, ENGINE_LISTS };

/* A part of such a list. */
struct engine_lines {
    size_t first, count;
};

struct engine {
    const struct block_setup *setup;
    const struct output *output;
    struct problems *problems;
    struct watch *watch;
    struct workers *workers, *hasher, *committers;
    /* finished shards that are being committed. (Committing a shard means giving it its final name
     * and writing its journal entry.) */
    struct inflight commits;
    /* number of shards that may be committed at the same time: now, and after the first commit
     * has succeeded */
    size_t commits_now, commits_most;
    /* flag: whether a commit has failed, so that no other commit may begin */
    int commit_failed;
    struct budget budget;               /* memory for the blocks */
    /* memory for data on its way to the store; NULL if the store needs no such memory */
    struct part_memory *parts;
    struct slot *slots;
    size_t slot_count, head, in_flight;
    uint64_t consumed;                  /* blocks */
    struct shard_writer *writer;        /* writer of the current shard; or NULL */
    size_t first[ENGINE_LISTS];         /* first line of the current shard in each list */
    /* number of lines by which each list has become longer because of shards that another process
     * finished first: that process's lines about the shard replace the lines of this process. The
     * number wraps modulo 2^64 if the list has become shorter. */
    size_t adopted[ENGINE_LISTS];
    struct image_memory images;         /* for decoded ones */
    struct sheaf_progress progress;
    struct sheaf_pack_result result;    /* shards, samples, bytes, multipart_records */
};

/* Sets *sent_bytes to the part of the memory for data on its way to the destination `dest`.
 * `shard_bytes` is the approximate size of the largest shard, or 0 if unknown. Returns
 * SHEAF_ERR_LIMIT if the memory is too small to send such a shard. */
int engine_share(const char *dest, const struct block_setup *setup, uint64_t shard_bytes,
                 uint64_t memory_bytes, uint64_t *sent_bytes, struct sheaf_error *err);
int engine_open(struct engine *engine, const struct block_setup *setup,
                const struct output *output, struct problems *problems, struct watch *watch,
                unsigned jobs, uint64_t shard_bytes, uint64_t memory_bytes,
                struct sheaf_error *err);
/* Returns the peak of the memory for blocks and for data on its way to the store. */
uint64_t engine_peak(struct engine *engine);
/* Stops all current work. Finished shards remain. */
void engine_close(struct engine *engine);

/* Returns an idle slot (entry of the engine's ring of blocks). It has an empty block, whose memory
 * is taken from the budget. If there is no idle slot, waits for blocks to be encoded and writes
 * them. Returns SHEAF_ERR_LIMIT if the memory is too small for the block. */
int engine_take(struct engine *engine, struct slot **slot, struct sheaf_error *err);
int engine_charge(struct engine *engine, struct slot *slot, struct block_need *need,
                  struct sheaf_error *err);
/* Queues the slot that engine_take returned last. */
void engine_submit(struct engine *engine, struct slot *slot);

/* Called after a failure. Waits for the blocks that are being filled, and starts no more. */
void engine_stop(struct engine *engine);

/* Writes all blocks that are in flight, and waits until every shard is committed. */
int engine_drain(struct engine *engine, struct sheaf_error *err);

#endif
