/* SPDX-License-Identifier: MIT
 *
 * The index of a data set: the offset of each sample in its shard, and the sample's CRC-32C.
 *
 * The file dataset.index is a sequence of SECTIONS, one for each shard. Each section has a checksum
 * and can be read alone; the manifest holds its position. On disk a section is compact, with about
 * 8 bytes per sample. In memory it is an offset table, so that any sample is found at once. */
#ifndef FORMATS_INDEX_H
#define FORMATS_INDEX_H

#include <stdbool.h>

#include "base/buf.h"
#include "sheaf.h"

/* Builds the index section of one shard. Samples must be added in order. The struct must be
 * zero-initialised. */
struct index_writer {
    struct buf sizes;           /* varint: frame sizes */
    struct buf crcs;            /* u32le */
    struct buf names;           /* varint: size of each .lst line with its newline */
    /* one varint for each sample: its label + 1, or 0 if the sample has no label */
    struct buf labels;
    /* pairs of varints: number of samples since the last gap (bytes that belong to no sample), size
     * of the gap in bytes */
    struct buf gaps;
    /* pairs of varints: stored bytes and raw bytes of each block of the codec */
    struct buf blocks;
    /* Pieces: ranges of a tar in which the members of a sample are not adjacent, in the order in
     * which they must be read. Each is a pair of varints: the start of the piece minus the end of
     * the previous piece (signed, in zigzag form), and the size of the piece in bytes. */
    struct buf pieces;
    uint64_t samples, raw_bytes, largest, names_bytes;
    uint64_t gap_count, gap_sample, gap_bytes;
    uint64_t block_count, block_raw_bytes, first_block_bytes;
    uint64_t piece_count, piece_end, piece_raw_bytes;
    bool has_names;
};

/* Records that the next `bytes` raw bytes belong to no sample (for example directories in a foreign
 * tar). */
int index_add_gap(struct index_writer *w, uint64_t bytes, struct sheaf_error *err);
/* Adds a sample. name_line_size is 0 if the container has no .lst file. */
int index_add_sample(struct index_writer *w, uint64_t frame_bytes, uint32_t crc,
                     size_t name_line_size, struct sheaf_error *err);
/* Records the label of the sample added last. `label` is the sample's label + 1, or 0 if the sample
 * has no label. The caller must do this for all samples of a shard or for none. The labels in the
 * index serve to judge how well an epoch is shuffled. They are left out if labels are vectors or
 * not small integers. */
int index_add_label(struct index_writer *w, uint32_t label, struct sheaf_error *err);
/* Adds a codec block, which holds the samples added since the last block. The stored bytes of the
 * first block include the bytes that the codec writes at the start of a shard (`lead` of
 * index_finish). The bytes that the codec writes at the end of a shard belong to no block. The raw
 * bytes of the last block include the end of the shard (a tar's zero blocks). */
int index_add_block(struct index_writer *w, uint64_t stored_bytes, uint64_t raw_bytes,
                    struct sheaf_error *err);
/* Records that the next `bytes` raw bytes lie at `stored_offset` of the shard. This is used for a
 * shard whose samples were joined from separate pieces. */
int index_add_piece(struct index_writer *w, uint64_t stored_offset, uint64_t bytes,
                    struct sheaf_error *err);
/* Appends the shard's section of the index to `out`, and empties the writer. `lead` is the number
 * of stored bytes before the first block, 0 without a codec. */
int index_finish(struct index_writer *w, uint64_t lead, struct buf *out,
                 struct sheaf_error *err);
void index_writer_free(struct index_writer *w);

struct index_block {
    uint64_t stored_offset, raw_offset;
};

/* A gap: bytes that belong to no sample. The gap ends where the sample with the number `sample`
 * begins. */
struct index_gap {
    uint64_t sample, bytes;
};

/* The section of one shard in memory. It takes 12 bytes per sample, or 16 if there is a .lst file.
 * Sample i begins at raw offset offsets[i]. It ends at offsets[i + 1], or earlier if there is a gap
 * before the next sample. Our packer's shards have no gaps. */
struct index_section {
    uint64_t samples;
    uint64_t *offsets;          /* samples + 1 */
    /* CRC of each sample; NULL if the CRCs are unknown (foreign shards of which only headers
     * were read) */
    uint32_t *crcs;
    /* samples + 1 offsets of lines in the .lst file; NULL if the shard has no such file */
    uint32_t *name_offsets;
    struct index_gap *gaps;     /* in order; NULL: none */
    uint64_t gap_count;
    /* block_count + 1 blocks, of which the last one marks the end; NULL if the shard is not
     * compressed */
    struct index_block *blocks;
    uint64_t block_count;
    /* piece_count + 1 pieces, of which the last one marks the end; NULL unless samples were joined
     * from pieces. The raw bytes of such a shard are its pieces in this order, so that the files of
     * each sample are adjacent. */
    struct index_block *pieces;
    uint64_t piece_count;
    uint64_t memory_bytes;      /* size of everything above */
};

/* Returns whether the bytes begin like an index. */
bool index_begins(const uint8_t *data, size_t size);

/* Parses the section of a shard. `samples` is the number of the shard's samples in the manifest.
 * Every count is checked against the section's size before anything is allocated. Returns
 * SHEAF_ERR_CORRUPT if the section is damaged, and SHEAF_ERR_UNSUPPORTED if it has another
 * version. */
int index_parse(const uint8_t *data, size_t size, uint64_t samples,
                struct index_section **section, struct sheaf_error *err);
void index_section_free(struct index_section *section);

/* Sets `sum` to the checksum with which a shard's section ends, as 16 hexadecimal digits. The
 * manifest stores the same text, so that a section of another data set is noticed. For a section of
 * less than 8 bytes, `sum` becomes "". */
#define INDEX_SUM_BYTES 17      /* with its NUL */
void index_sum(const uint8_t *data, size_t size, char sum[INDEX_SUM_BYTES]);

/* Reads the labels in a shard's section. Each number is a sample's label + 1, or 0 if the sample
 * has no label. Checks only the section's header, checksum and labels; index_parse checks
 * everything. Returns SHEAF_END if the section has no labels. */
int index_labels(const uint8_t *data, size_t size, uint64_t samples, uint32_t *labels,
                 struct sheaf_error *err);

/* Returns the largest memory that the parsed section of a shard with these counts can take. Gaps
 * and pieces, which take 16 bytes each, are not included. */
uint64_t index_memory(uint64_t samples, bool has_names, uint64_t block_count);

/* Returns the size in bytes of the frame (stored record) of sample i. */
uint64_t index_frame_bytes(const struct index_section *section, uint64_t i);

/* index_block_of returns the number of the codec block that contains a raw (uncompressed) offset.
 * index_piece_of returns the number of the piece that contains it. Both use binary search. */
uint64_t index_block_of(const struct index_section *section, uint64_t raw_offset);
uint64_t index_piece_of(const struct index_section *section, uint64_t raw_offset);

#endif
