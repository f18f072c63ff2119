/* SPDX-License-Identifier: MIT
 *
 * Stores the samples of a plan as bytes. Each shard has one section, which consists of records
 * (plan_record.h) in compressed blocks. A section needs about a fifth of the memory that the
 * samples need as structs.
 *
 * The process that makes a plan keeps the sections in memory, or in a temporary file if they take
 * too much memory. From there it packs the samples, or copies the sections to a stored plan
 * (plan_file.h). */
#ifndef PACKER_PLAN_PLAN_SECTION_H
#define PACKER_PLAN_PLAN_SECTION_H

#include <xxhash.h>

#include "base/tempfile.h"
#include "packer/plan/plan_batch.h"

/* The place of a shard's section. In a plan file, all offsets are larger by PLAN_HEAD_BYTES. */
struct plan_section {
    uint64_t offset, bytes, files, sum;
};

/* ---- Writing --------------------------------------------------------------------------------- */

struct plan_sections {
    struct tempfile blocks;     /* the content of the sections, one after another */
    struct buf block;           /* records, not yet compressed */
    struct buf packed;
    XXH3_state_t *sum;          /* checksum of the open section so far; NULL before the opening */
    struct plan_section open;
    struct buf ended;           /* struct plan_section[] for the shards that have ended */
};

/* Opens the sections of a plan. If they take more than `memory_bytes` bytes, they go to a file in
 * `directory`. */
int plan_sections_open(struct plan_sections *sections, const char *directory, size_t memory_bytes,
                       struct sheaf_error *err);
/* Adds the next sample to the section of the current shard. `record` is the sample as bytes, and
 * `files` is its number of files. */
int plan_sections_add(struct plan_sections *sections, const uint8_t *record, size_t size,
                      uint64_t files, struct sheaf_error *err);
int plan_sections_end_shard(struct plan_sections *sections, struct sheaf_error *err);
/* Ends writing, so that the sections can be read. */
int plan_sections_end(struct plan_sections *sections, struct sheaf_error *err);
/* Frees sections, also zero-initialised ones. */
void plan_sections_free(struct plan_sections *sections);

static inline const struct plan_section *plan_sections_ended(const struct plan_sections *s)
{
    return (const struct plan_section *)(const void *)s->ended.data;
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* A function that reads the section of shard number `shard` (its samples as bytes) and verifies the
 * checksum of the section. Sets *data to the section, which is in the buffer `room` or in memory
 * that belongs to `context`. */
typedef int plan_read_fn(const void *context, size_t shard, struct buf *room, const uint8_t **data,
                         struct sheaf_error *err);

/* A plan whose samples are stored elsewhere. */
struct plan_rows {
    const struct plan *plan;
    const struct plan_section *sections;        /* of each shard */
    plan_read_fn *read;
    const void *context;
    /* URL or path of the plan file, for messages; NULL if the plan is in a temporary file */
    const char *url;
};

/* Fills a batch with the shards `first` to `end` - 1 of a plan and their samples. The former
 * content of the batch is freed. The batch points to texts of the whole plan, which must stay
 * valid. */
int plan_rows_load(const struct plan_rows *rows, size_t first, size_t end,
                   struct plan_batch *batch, struct sheaf_error *err);
/* Returns a struct with which plan_rows_load() reads the samples. The shards of `plan` must be the
 * shards whose samples were written, in the same order. */
struct plan_rows plan_sections_rows(const struct plan_sections *sections, const struct plan *plan);

#endif
