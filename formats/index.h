/* SPDX-License-Identifier: MIT
 *
 * The index: the offset of each sample in its shard, and its expected CRC-32C.
 *
 * dataset.index is a row of SECTIONS, one a shard, each checksummed and readable alone; the
 * manifest says where each is.  On disk a section is compact (about 8 bytes a sample); in memory
 * it is an offset table, so that any sample is found at once. */
#ifndef FORMATS_INDEX_H
#define FORMATS_INDEX_H

#include <stdbool.h>

#include "base/buf.h"
#include "sheaf.h"

/* Gathers the section of one shard, in order.  Zero-initialised. */
struct index_writer {
    struct buf sizes;           /* varint: frame sizes */
    struct buf crcs;            /* u32le */
    struct buf names;           /* varint: bytes of each .lst line with its newline */
    struct buf labels;          /* varint: each sample's label + 1, 0 for none */
    struct buf gaps;            /* varint pairs: samples since the gap before, bytes */
    struct buf blocks;          /* varint pairs: stored bytes, raw bytes of each codec block */
    uint64_t samples, raw_bytes, largest, names_bytes;
    uint64_t gap_count, gap_sample, gap_bytes;
    uint64_t block_count, block_raw_bytes, first_block_bytes;
    bool has_names;
};

/* The next `bytes` raw bytes belong to no sample (directories of a foreign tar and the like). */
int index_add_gap(struct index_writer *w, uint64_t bytes, struct sheaf_error *err);
/* name_line_size: 0 if the container has no names. */
int index_add_sample(struct index_writer *w, uint64_t frame_bytes, uint32_t crc,
                     size_t name_line_size, struct sheaf_error *err);
/* The label of the sample added last, + 1; 0: it has none.  Either every sample of a shard is
 * given one, or none: the column is for those who judge how an epoch is mixed, and is left out
 * where labels are vectors or no small integers. */
int index_add_label(struct index_writer *w, uint32_t label, struct sheaf_error *err);
/* A codec block, which holds the samples added since the one before it.  The first block's stored
 * bytes include what codec begin() wrote, which is `lead` bytes; what end() wrote is in none.
 * The last block's raw bytes include what ends the shard (a tar's zero blocks). */
int index_add_block(struct index_writer *w, uint64_t stored_bytes, uint64_t raw_bytes,
                    struct sheaf_error *err);
/* Appends the section to `out`; the writer is then empty again. `lead`: bytes of the stored
 * shard before the first block (0 without a codec). */
int index_finish(struct index_writer *w, uint64_t lead, struct buf *out,
                 struct sheaf_error *err);
void index_writer_free(struct index_writer *w);

struct index_block {
    uint64_t stored_offset, raw_offset;
};

/* Bytes of no sample, which end where sample `sample` begins. */
struct index_gap {
    uint64_t sample, bytes;
};

/* A section in memory: 12 bytes a sample, 16 with names.  Sample i is the raw bytes from
 * offsets[i] on; without gaps (always in shards of the packer) up to offsets[i + 1]:
 *
 *     0    gap?   sample 0   sample 1   gap?   sample 2    what ends the shard
 *                 |          |                 |           |
 *          offsets[0]    [1]               [2]         [3]
 */
struct index_section {
    uint64_t samples;
    uint64_t *offsets;          /* samples + 1 */
    uint32_t *crcs;             /* samples; NULL: not known (foreign shards, by header scan) */
    uint32_t *name_offsets;     /* samples + 1, into the .lst; NULL without names */
    struct index_gap *gaps;     /* in order; NULL: none */
    uint64_t gap_count;
    struct index_block *blocks; /* block_count + 1, the last being the ends; NULL: no codec */
    uint64_t block_count;
    uint64_t memory_bytes;      /* what all this takes */
};

/* Whether an index begins like this. */
bool index_begins(const uint8_t *data, size_t size);

/* Parses a section.  `samples` is what the manifest says.  Every count is checked against the
 * section's size before anything is allocated.  SHEAF_ERR_CORRUPT; _UNSUPPORTED for another
 * version. */
int index_parse(const uint8_t *data, size_t size, uint64_t samples,
                struct index_section **section, struct sheaf_error *err);
void index_section_free(struct index_section *section);

/* The checksum that a section ends with, as 16 hexadecimal digits: the manifest has it too, so that
 * a section of another data set is not taken for it.  A section of less than 8 bytes has "". */
#define INDEX_SUM_BYTES 17      /* with its NUL */
void index_sum(const uint8_t *data, size_t size, char sum[INDEX_SUM_BYTES]);

/* The labels (+ 1) of a section that index_parse accepts.  SHEAF_END: it has none. */
int index_labels(const uint8_t *data, size_t size, uint64_t samples, uint32_t *labels,
                 struct sheaf_error *err);

/* The memory that a parsed section takes, at most (and 16 bytes per gap). */
uint64_t index_memory(uint64_t samples, bool has_names, uint64_t block_count);

/* Bytes of the frame of sample i. */
uint64_t index_frame_bytes(const struct index_section *section, uint64_t i);

/* The block that holds the raw offset (binary search). */
uint64_t index_block_of(const struct index_section *section, uint64_t raw_offset);

#endif
