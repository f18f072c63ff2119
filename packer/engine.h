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

/* The engine has two lists of source files, to which each shard adds lines. ENGINE_SKIPPED is the
 * list of files that were skipped, and ENGINE_CONVERTED the list of files that were converted. */
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
    /* Finished shards that are being committed: each is given its final name, and its journal entry
     * is written. */
    struct inflight commits;
    /* A commit gives a finished shard its final name. commits_now is the number of commits that may
     * run at the same time now. For a remote store, commits_now is 1 until the first commit has
     * succeeded, so that a store that refuses everything is asked only once. Afterwards, and for a
     * local disk, commits_now equals commits_most. */
    size_t commits_now, commits_most;
    /* nonzero if a commit has failed, so that no other commit begins */
    int commit_failed;
    struct budget budget;               /* memory for the blocks */
    /* memory for data on its way to the store, or NULL if the store needs no such memory */
    struct part_memory *parts;
    struct slot *slots;
    size_t slot_count, head, in_flight;
    uint64_t consumed;                  /* blocks */
    struct shard_writer *writer;        /* writer of the current shard; or NULL */
    size_t first[ENGINE_LISTS];         /* first line of the current shard in each list */
    /* If another process finishes a shard first, our lines about the shard are replaced by the
     * lines of that process. adopted[i] is the number of lines by which list i has grown through
     * all such replacements. If the list has become shorter, this number is negative, and is stored
     * modulo 2^64. */
    size_t adopted[ENGINE_LISTS];
    struct image_memory images;         /* for decoded ones */
    struct sheaf_progress progress;
    struct sheaf_pack_result result;    /* shards, samples, bytes, multipart_records */
};

/* Sets *sent_bytes to the number of bytes of the run's memory that are reserved for data on its way
 * to the destination `dest`. `shard_bytes` is the approximate size of the largest shard, or 0 if
 * unknown. Returns SHEAF_ERR_LIMIT if `memory_bytes`, the run's memory, is too small to send such a
 * shard. */
int engine_share(const char *dest, const struct block_setup *setup, uint64_t shard_bytes,
                 uint64_t memory_bytes, uint64_t *sent_bytes, struct sheaf_error *err);
int engine_open(struct engine *engine, const struct block_setup *setup,
                const struct output *output, struct problems *problems, struct watch *watch,
                unsigned jobs, uint64_t shard_bytes, uint64_t memory_bytes,
                struct sheaf_error *err);
/* Returns the largest number of bytes that the blocks, and the data on its way to the store, have
 * used at the same time. */
uint64_t engine_peak(struct engine *engine);
/* Stops all current work. Finished shards remain. */
void engine_close(struct engine *engine);

/* Sets *slot to an idle slot (an entry of the engine's ring) with an empty block. The caller must
 * take memory for the block with engine_charge(). If no slot is idle, waits for blocks to be
 * encoded and writes them. */
int engine_take(struct engine *engine, struct slot **slot, struct sheaf_error *err);
int engine_charge(struct engine *engine, struct slot *slot, struct block_need *need,
                  struct sheaf_error *err);
/* Queues the slot that engine_take returned last. */
void engine_submit(struct engine *engine, struct slot *slot);

/* Stops the workers after a failure: waits for the blocks that are being filled, and starts no
 * other blocks. */
void engine_stop(struct engine *engine);

/* Writes all blocks that were submitted, and waits until every finished shard has its final name
 * and its journal entry. */
int engine_drain(struct engine *engine, struct sheaf_error *err);

#endif
