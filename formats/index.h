/* SPDX-License-Identifier: MIT
 *
 * The index of a data set states the offset of each sample in its shard and the sample's CRC-32C.
 *
 * The file dataset.index is a sequence of SECTIONS, one for each shard. Each section has a checksum
 * and can be read alone, because the manifest states its position. On disk a section takes about 8
 * bytes per sample. In memory it is a table of offsets, so that any sample is found at once. */
#ifndef FORMATS_INDEX_H
#define FORMATS_INDEX_H

#include <stdbool.h>

#include "base/buf.h"
#include "sheaf.h"

/* Collects the facts about one shard's samples, from which index_finish() makes the shard's section
 * of the index. The caller must add the samples in order. The struct must be zero-initialised. */
struct index_writer {
    struct buf sizes;           /* varint: frame sizes */
    struct buf crcs;            /* u32le */
    struct buf names;           /* varint: size of each .lst line with its newline */
    /* one varint for each sample: its label + 1, or 0 if the sample has no label */
    struct buf labels;
    /* pairs of varints, one pair for each gap (bytes of the shard that belong to no sample): number
     * of samples since the previous gap, and size of the gap in bytes */
    struct buf gaps;
    /* pairs of varints, one pair for each block of the codec: its compressed and its raw size in
     * bytes */
    struct buf blocks;
    /* A tar has pieces if the members of a sample are not adjacent in it. A piece is a range of the
     * tar's bytes. The pieces are listed in the order in which a reader must read them to make the
     * members adjacent. Each piece is a pair of varints: its start minus the end of the previous
     * piece (signed, in zigzag form), and its size in bytes. */
    struct buf pieces;
    uint64_t samples, raw_bytes, largest, names_bytes;
    uint64_t gap_count, gap_sample, gap_bytes;
    uint64_t block_count, block_raw_bytes, first_block_bytes;
    uint64_t piece_count, piece_end, piece_raw_bytes;
    bool has_names;
};

/* Records that the next `bytes` bytes of the uncompressed shard belong to no sample, such as the
 * entry of a directory in a foreign tar. */
int index_add_gap(struct index_writer *w, uint64_t bytes, struct sheaf_error *err);
/* Adds a sample whose stored record has `frame_bytes` bytes. `name_line_size` is the size of the
 * sample's line in the shard's .lst file, or 0 if the container has no .lst file. */
int index_add_sample(struct index_writer *w, uint64_t frame_bytes, uint32_t crc,
                     size_t name_line_size, struct sheaf_error *err);
/* Records the label of the sample that was added last. `label` is the sample's label + 1, or 0 if
 * the sample has no label. The caller must do this for all samples of a shard or for none.
 *
 * The index has labels only so that Sheaf can judge how well an epoch is shuffled. If the labels of
 * the samples are vectors, or are not small integers, the index has no labels. */
int index_add_label(struct index_writer *w, uint32_t label, struct sheaf_error *err);
/* Adds a block of the codec, which holds the samples that were added since the previous block.
 * `stored_bytes` is the compressed size of the block, and `raw_bytes` is its uncompressed size.
 *
 * The first block's `stored_bytes` include the bytes that the codec writes at the start of a shard
 * (`lead` of index_finish). The last block's `raw_bytes` include the end of the container, such as
 * a tar's zero blocks. The bytes that the codec writes at the end of a shard belong to no block. */
int index_add_block(struct index_writer *w, uint64_t stored_bytes, uint64_t raw_bytes,
                    struct sheaf_error *err);
/* Adds a piece: the range of `bytes` bytes at `stored_offset` of the shard. A tar needs pieces if
 * the members of a sample are not adjacent in it. If a reader reads the pieces in the order of
 * these calls, it gets the members of each sample next to each other. */
int index_add_piece(struct index_writer *w, uint64_t stored_offset, uint64_t bytes,
                    struct sheaf_error *err);
/* Appends the section of the shard to `out`, and empties the writer for the next shard. `lead` is
 * the number of bytes that the codec wrote before the first block; it is 0 without a codec. */
int index_finish(struct index_writer *w, uint64_t lead, struct buf *out,
                 struct sheaf_error *err);
void index_writer_free(struct index_writer *w);

struct index_block {
    uint64_t stored_offset, raw_offset;
};

/* A gap is a range of a shard's bytes that belong to no sample. The gap lies directly before the
 * sample with the number `sample`. */
struct index_gap {
    uint64_t sample, bytes;
};

/* The parsed section of one shard. The struct takes 12 bytes of memory per sample, or 16 if the
 * shard has a .lst file. Sample i begins at offsets[i] of the uncompressed shard. Sample i ends at
 * offsets[i + 1], or earlier if there is a gap before the next sample. Shards of our packer have no
 * gaps. */
struct index_section {
    uint64_t samples;
    uint64_t *offsets;          /* samples + 1 */
    /* CRC of each sample. NULL if the CRCs are unknown, because only the headers in a foreign shard
     * were read and not its content. */
    uint32_t *crcs;
    /* Start of each sample's line in the shard's .lst file, in bytes, followed by the end of the
     * last line. NULL if the shard has no .lst file. */
    uint32_t *name_offsets;
    struct index_gap *gaps;     /* in order; NULL: none */
    uint64_t gap_count;
    /* The blocks of the codec, followed by one element whose offsets are the end of the last block.
     * NULL if the shard is not compressed. */
    struct index_block *blocks;
    uint64_t block_count;
    /* The pieces of a tar, followed by one element whose offsets are the end of the last piece. A
     * tar has pieces if the members of a sample are not adjacent in it. A reader that reads the
     * pieces in this order gets the members of each sample next to each other. NULL if the shard
     * has no pieces. */
    struct index_block *pieces;
    uint64_t piece_count;
    uint64_t memory_bytes;      /* size of everything above */
};

/* Returns whether the bytes begin like an index. */
bool index_begins(const uint8_t *data, size_t size);

/* Parses the index section of one shard. `samples` is the number of samples that the manifest
 * states for the shard. Every count is checked against the section's size before anything is
 * allocated. Returns SHEAF_ERR_CORRUPT if the section is damaged, and SHEAF_ERR_UNSUPPORTED if it
 * has another version. */
int index_parse(const uint8_t *data, size_t size, uint64_t samples,
                struct index_section **section, struct sheaf_error *err);
void index_section_free(struct index_section *section);

/* The entries of consecutive samples in the section of a shard. With this struct, the entries can
 * be parsed without the rest of the section. */
struct index_range {
    uint64_t offset;            /* offset of the first sample in the shard */
    uint64_t hash;              /* hash of the entries */
    /* Positions in the section, in bytes: of the samples' sizes and of their CRCs. */
    uint32_t sizes_at, crcs_at;
    uint32_t sizes_bytes;
    uint32_t count;             /* number of samples */
};

/* The state while a section is read from its start to its end, to find ranges in it. */
struct index_scan {
    const uint8_t *data;
    const uint8_t *sizes, *sizes_end;   /* the sizes of the samples from `sample` on */
    const uint8_t *crcs;                /* the CRCs of all samples */
    uint64_t samples;
    uint64_t sample, offset;
};

/* Prepares to find ranges in a section. The arguments are those of index_parse. The section must
 * have neither gaps nor blocks nor pieces. */
int index_scan_begin(struct index_scan *scan, const uint8_t *data, size_t size, uint64_t samples,
                     struct sheaf_error *err);
/* Finds the range of `count` samples, of which `first` is the first. The ranges must be requested
 * in the order of their samples. */
int index_scan_find(struct index_scan *scan, uint64_t first, uint64_t count,
                    struct index_range *range, struct sheaf_error *err);
/* Parses a range of a section. `sizes` and `crcs` have the bytes of the section at range->sizes_at
 * and range->crcs_at. Stores the offset of each sample in `offsets`, then the end of the last
 * sample. Stores the CRC of each sample in `sums`. */
int index_parse_range(const struct index_range *range, const uint8_t *sizes, const uint8_t *crcs,
                      uint64_t *offsets, uint32_t *sums, struct sheaf_error *err);

#define INDEX_SUM_BYTES 17      /* with its NUL */
/* Copies the checksum at the end of a shard's section to `sum`, as 16 hexadecimal digits. The
 * manifest stores the same text, so that a section of another data set is noticed. `sum` becomes ""
 * if the section has fewer than 8 bytes. */
void index_sum(const uint8_t *data, size_t size, char sum[INDEX_SUM_BYTES]);

/* Reads only the labels from a shard's section into `labels`. Each number is a sample's label + 1,
 * or 0 if the sample has no label. Checks the section's header, checksum and labels, whereas
 * index_parse checks everything. Returns SHEAF_END if the section has no labels. */
int index_labels(const uint8_t *data, size_t size, uint64_t samples, uint32_t *labels,
                 struct sheaf_error *err);

/* Returns an upper limit for the bytes of memory that the parsed section of a shard takes, without
 * its gaps and pieces. Each gap and each piece takes 16 more bytes. */
uint64_t index_memory(uint64_t samples, bool has_names, uint64_t block_count);

/* Returns the size in bytes of the frame (stored record) of sample i. */
uint64_t index_frame_bytes(const struct index_section *section, uint64_t i);

/* The first function returns the number of the codec's block that contains the offset `raw_offset`
 * of the uncompressed shard. The second function returns the number of the piece that contains it.
 * Both use binary search. */
uint64_t index_block_of(const struct index_section *section, uint64_t raw_offset);
uint64_t index_piece_of(const struct index_section *section, uint64_t raw_offset);

#endif
