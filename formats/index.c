/* SPDX-License-Identifier: MIT
 *
 * Collects, writes and parses the sections of an index. Each section describes one shard.
 * FORMATS.md specifies the bytes.
 *
 * The last part of a section is the XXH3-64 hash of the other parts, which finds accidental damage.
 * The parser also checks every count and sum, because somebody may have crafted a section to do
 * harm.
 *
 * The parser first compares the section's counts with its size. It then allocates the memory for
 * the whole result at once, and reads each part of the section once. */
#include "formats/index.h"

#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/content.h"
#include "formats/format.h"

#define VERSION      1
#define VERSION_JOINED 2        /* with pieces, and their two words in the header */
#define HEADER_BYTES 104
#define HEADER_BYTES_JOINED 120
#define HASH_BYTES   8
#define VARINT_MOST  10         /* bytes of a 64-bit varint */

static const uint8_t magic[8] = { 'S', 'H', 'E', 'A', 'F', 'I', 'D', 'X' };

/* The 64-bit words after the magic number. */
enum header_word {
    WORD_VERSION, WORD_SAMPLES, WORD_RAW_BYTES, WORD_NAMES_BYTES, WORD_LEAD, WORD_GAP_COUNT,
    WORD_BLOCK_COUNT,
    WORD_SIZES_SIZE, WORD_NAMES_SIZE, WORD_GAPS_SIZE, WORD_BLOCKS_SIZE,     /* of the parts */
    WORD_LABELS_SIZE,
    WORD_PIECE_COUNT, WORD_PIECES_SIZE,
    WORD_COUNT,
};
_Static_assert(sizeof(magic) + 8 * WORD_PIECE_COUNT == HEADER_BYTES, "the header's size");
_Static_assert(sizeof(magic) + 8 * WORD_COUNT == HEADER_BYTES_JOINED, "the header's size");

/* ---- Writing -------------------------------------------------------------------------------- */

static int index_put_varint(struct buf *b, uint64_t value, struct sheaf_error *err)
{
    uint8_t bytes[VARINT_MOST];
    size_t size = 0;

    for (; value >= 0x80; value >>= 7)
        bytes[size++] = (uint8_t)(value | 0x80);
    bytes[size++] = (uint8_t)value;
    /* A buffer has a limit because hostile input could otherwise make it grow without end. This
     * buffer contains only data that this process has made, so it needs no limit. */
    b->limit = SIZE_MAX;
    return buf_append(b, bytes, size, err);
}

static int put_pair(struct buf *b, uint64_t first, uint64_t second, struct sheaf_error *err)
{
    int code = index_put_varint(b, first, err);

    return code != SHEAF_OK ? code : index_put_varint(b, second, err);
}

int index_add_gap(struct index_writer *w, uint64_t bytes, struct sheaf_error *err)
{
    if (bytes > UINT64_MAX - w->gap_bytes)
        return err_set(err, SHEAF_ERR_LIMIT, "gaps of %llu and %llu bytes exceed 64 bits",
                       (unsigned long long)w->gap_bytes, (unsigned long long)bytes);
    w->gap_bytes += bytes;
    return SHEAF_OK;
}

/* Records the gap before a sample, if there is one. A gap is a range of the shard's bytes that
 * belong to no sample. */
static int end_gap(struct index_writer *w, struct sheaf_error *err)
{
    int code;

    if (w->gap_bytes == 0)
        return SHEAF_OK;
    code = put_pair(&w->gaps, w->samples - w->gap_sample, w->gap_bytes, err);
    if (code != SHEAF_OK)
        return code;
    w->raw_bytes += w->gap_bytes;
    w->gap_sample = w->samples;
    w->gap_bytes = 0;
    w->gap_count++;
    return SHEAF_OK;
}

static int index_check_sample(const struct index_writer *w, uint64_t frame_bytes,
                              size_t name_line_size, struct sheaf_error *err)
{
    uint64_t end;

    if (frame_bytes == 0 || frame_bytes > FRAME_LIMIT)
        return err_set(err, SHEAF_ERR_LIMIT, "a frame of %llu byte%s, expected 1 to %llu",
                       (unsigned long long)frame_bytes, plural(frame_bytes),
                       (unsigned long long)FRAME_LIMIT);
    if (__builtin_add_overflow(w->raw_bytes, w->gap_bytes, &end) ||
        __builtin_add_overflow(end, frame_bytes, &end))
        return err_set(err, SHEAF_ERR_LIMIT, "the size of a shard exceeds 64 bits");
    if (w->samples != 0 && w->has_names != (name_line_size != 0))
        return err_set(err, SHEAF_ERR_ARGUMENT, "sample %llu %s a name line, unlike those before",
                       (unsigned long long)w->samples, name_line_size != 0 ? "has" : "lacks");
    if (w->names_bytes + name_line_size > UINT32_MAX)
        return err_set(err, SHEAF_ERR_LIMIT, "names of more than %u bytes in a shard", UINT32_MAX);
    return SHEAF_OK;
}

int index_add_sample(struct index_writer *w, uint64_t frame_bytes, uint32_t crc,
                     size_t name_line_size, struct sheaf_error *err)
{
    int code = index_check_sample(w, frame_bytes, name_line_size, err);

    if (code == SHEAF_OK)
        code = end_gap(w, err);
    if (code == SHEAF_OK)
        code = index_put_varint(&w->sizes, frame_bytes, err);
    w->crcs.limit = SIZE_MAX;
    crc = htole32(crc);
    if (code == SHEAF_OK)
        code = buf_append(&w->crcs, &crc, sizeof(crc), err);
    if (code == SHEAF_OK && name_line_size != 0)
        code = index_put_varint(&w->names, name_line_size, err);
    if (code != SHEAF_OK)
        return code;
    w->has_names = name_line_size != 0;
    w->names_bytes += name_line_size;
    w->raw_bytes += frame_bytes;
    w->largest = MAX(w->largest, frame_bytes);
    w->samples++;
    return SHEAF_OK;
}

int index_add_label(struct index_writer *w, uint32_t label, struct sheaf_error *err)
{
    return index_put_varint(&w->labels, label, err);
}

int index_add_block(struct index_writer *w, uint64_t stored_bytes, uint64_t raw_bytes,
                    struct sheaf_error *err)
{
    uint64_t end;
    int code;

    if (stored_bytes == 0 || raw_bytes == 0 ||
        __builtin_add_overflow(w->block_raw_bytes, raw_bytes, &end) || end < w->raw_bytes)
        return err_set(err, SHEAF_ERR_ARGUMENT, "block %llu of %llu stored and %llu raw byte%s "
                       "does not hold its samples", (unsigned long long)w->block_count,
                       (unsigned long long)stored_bytes, (unsigned long long)raw_bytes,
                       plural(raw_bytes));
    code = put_pair(&w->blocks, stored_bytes, raw_bytes, err);
    if (code != SHEAF_OK)
        return code;
    if (w->block_count++ == 0)
        w->first_block_bytes = stored_bytes;
    w->block_raw_bytes = end;
    return SHEAF_OK;
}

/* Maps a signed number to an unsigned number: 0, -1, 1, -2 become 0, 1, 2, 3. So a number with a
 * small magnitude takes few bytes as a varint. */
static uint64_t zigzag(uint64_t difference)
{
    return difference << 1 ^ (0 - (difference >> 63));
}

static uint64_t unzigzag(uint64_t value)
{
    return value >> 1 ^ (0 - (value & 1));
}

int index_add_piece(struct index_writer *w, uint64_t stored_offset, uint64_t bytes,
                    struct sheaf_error *err)
{
    if (bytes == 0 || bytes > UINT64_MAX - w->piece_raw_bytes || stored_offset > INT64_MAX - bytes)
        return err_set(err, SHEAF_ERR_ARGUMENT, "a piece of %llu byte%s at %llu",
                       (unsigned long long)bytes, plural(bytes), (unsigned long long)stored_offset);
    w->piece_raw_bytes += bytes;
    w->piece_count++;
    stored_offset -= w->piece_end;
    w->piece_end += stored_offset + bytes;
    return put_pair(&w->pieces, zigzag(stored_offset), bytes, err);
}

static int index_check_blocks(const struct index_writer *w, uint64_t lead, struct sheaf_error *err)
{
    if (w->block_count != 0 ? lead >= w->first_block_bytes : lead != 0)
        return err_set(err, SHEAF_ERR_ARGUMENT, "%llu byte%s before a first block of %llu",
                       (unsigned long long)lead, plural(lead),
                       (unsigned long long)w->first_block_bytes);
    if (w->block_count != 0 && w->block_raw_bytes < w->raw_bytes)
        return err_set(err, SHEAF_ERR_ARGUMENT, "blocks of %llu raw byte%s, samples of %llu",
                       (unsigned long long)w->block_raw_bytes, plural(w->block_raw_bytes),
                       (unsigned long long)w->raw_bytes);
    if (w->piece_count != 0 && (w->piece_raw_bytes < w->raw_bytes || w->block_count != 0))
        return err_set(err, SHEAF_ERR_ARGUMENT, "pieces of %llu byte%s, samples of %llu",
                       (unsigned long long)w->piece_raw_bytes, plural(w->piece_raw_bytes),
                       (unsigned long long)w->raw_bytes);
    return SHEAF_OK;
}

static size_t header_bytes(uint64_t version)
{
    return version == VERSION_JOINED ? HEADER_BYTES_JOINED : HEADER_BYTES;
}

static uint64_t index_version_of(const struct index_writer *w)
{
    return w->piece_count != 0 ? VERSION_JOINED : VERSION;
}

static void index_put_header(const struct index_writer *w, uint64_t lead, struct buf *out)
{
    uint64_t words[WORD_COUNT] = {
        [WORD_VERSION] = index_version_of(w),
        [WORD_SAMPLES] = w->samples,
        [WORD_RAW_BYTES] = w->raw_bytes,
        [WORD_NAMES_BYTES] = w->names_bytes,
        [WORD_LEAD] = lead,
        [WORD_GAP_COUNT] = w->gap_count,
        [WORD_BLOCK_COUNT] = w->block_count,
        [WORD_SIZES_SIZE] = w->sizes.size,
        [WORD_NAMES_SIZE] = w->names.size,
        [WORD_GAPS_SIZE] = w->gaps.size,
        [WORD_BLOCKS_SIZE] = w->blocks.size,
        [WORD_LABELS_SIZE] = w->labels.size,
        [WORD_PIECE_COUNT] = w->piece_count,
        [WORD_PIECES_SIZE] = w->pieces.size,
    };

    buf_put(out, magic, sizeof(magic));
    words_le(words, COUNT_OF(words));
    buf_put(out, words, header_bytes(index_version_of(w)) - sizeof(magic));
}

int index_finish(struct index_writer *w, uint64_t lead, struct buf *out,
                 struct sheaf_error *err)
{
    const struct buf *parts[] = { &w->sizes, &w->crcs, &w->names, &w->gaps, &w->blocks,
                                  &w->labels, &w->pieces };
    const size_t start = out->size;
    size_t size = header_bytes(index_version_of(w)) + HASH_BYTES;
    XXH64_canonical_t hash;
    int code = index_check_blocks(w, lead, err);

    for (size_t i = 0; i < COUNT_OF(parts); i++)
        size += parts[i]->size;
    if (code == SHEAF_OK)
        code = buf_reserve(out, size, err);
    if (code != SHEAF_OK)
        return code;
    index_put_header(w, lead, out);
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        buf_put(out, parts[i]->data, parts[i]->size);
    XXH64_canonicalFromHash(&hash, XXH3_64bits(out->data + start, out->size - start));
    buf_put(out, &hash, sizeof(hash));
    index_writer_free(w);
    return SHEAF_OK;
}

void index_writer_free(struct index_writer *w)
{
    buf_free(&w->sizes);
    buf_free(&w->crcs);
    buf_free(&w->names);
    buf_free(&w->gaps);
    buf_free(&w->blocks);
    buf_free(&w->labels);
    buf_free(&w->pieces);
    *w = (struct index_writer){ 0 };
}

/* ---- Parsing -------------------------------------------------------------------------------- */

struct index_cursor {
    const uint8_t *at, *end;
};

/* Takes a varint of more than one byte from the section. Returns false if the varint is truncated,
 * has more than 64 bits, or could have been shorter. */
static bool take_long_varint(struct index_cursor *c, uint64_t *value)
{
    const uint8_t *p = c->at;
    uint64_t v = 0;

    for (unsigned shift = 0; p < c->end && shift < 64; shift += 7) {
        const uint8_t byte = *p++;

        if (shift == 63 && byte > 1)
            return false;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            c->at = p;
            *value = v;
            return byte != 0 || shift == 0;
        }
    }
    return false;
}

/* Most varints have one byte. */
static inline bool take_varint(struct index_cursor *c, uint64_t *value)
{
    if (c->at == c->end || *c->at >= 0x80)
        return take_long_varint(c, value);
    *value = *c->at++;
    return true;
}

struct parser {
    uint64_t words[WORD_COUNT];
    struct index_cursor sizes, names, gaps, blocks, labels, pieces;
    const uint8_t *crcs;
    struct index_section *section;
};

static int index_corrupt(struct sheaf_error *err, const char *what, uint64_t number)
{
    return err_set(err, SHEAF_ERR_CORRUPT, "index: invalid %s %llu", what,
                   (unsigned long long)number);
}

bool index_begins(const uint8_t *data, size_t size)
{
    return size >= sizeof(magic) && memcmp(data, magic, sizeof(magic)) == 0;
}

static int index_check_frame(const uint8_t *data, size_t size, struct sheaf_error *err)
{
    XXH64_canonical_t stored;
    uint64_t hash, version;

    if (!index_begins(data, size) && content_check(data, size, "an index", err) != SHEAF_OK)
        return SHEAF_ERR_CORRUPT;
    if (size < HEADER_BYTES + HASH_BYTES || !index_begins(data, size))
        return err_set(err, SHEAF_ERR_CORRUPT, "index: not a valid section of %zu byte%s", size,
                       plural(size));
    version = load64(data + sizeof(magic));
    if (version != VERSION && version != VERSION_JOINED)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "index: version %llu, expected %d or %d",
                       (unsigned long long)version, VERSION, VERSION_JOINED);
    if (size < header_bytes(version) + HASH_BYTES)
        return err_set(err, SHEAF_ERR_CORRUPT, "index: not a valid section of %zu bytes", size);
    memcpy(&stored, data + size - HASH_BYTES, HASH_BYTES);
    hash = XXH3_64bits(data, size - HASH_BYTES);
    if (hash != XXH64_hashFromCanonical(&stored))
        return err_set(err, SHEAF_ERR_CORRUPT, "index: XXH3-64 is %016llx, expected %016llx",
                       (unsigned long long)hash,
                       (unsigned long long)XXH64_hashFromCanonical(&stored));
    return SHEAF_OK;
}

void index_sum(const uint8_t *data, size_t size, char sum[INDEX_SUM_BYTES])
{
    XXH64_canonical_t stored;

    sum[0] = '\0';
    if (size < HASH_BYTES)
        return;
    memcpy(&stored, data + size - HASH_BYTES, HASH_BYTES);
    snprintf(sum, INDEX_SUM_BYTES, "%016llx",
             (unsigned long long)XXH64_hashFromCanonical(&stored));
}

/* Cuts the next `size` bytes from `rest`, the bytes of the section that were not parsed yet.
 * Returns false if `rest` is shorter. Also returns false if `size` is too small for `count`
 * entries, each of which has at least `least` bytes. */
static bool cut_part(struct index_cursor *rest, uint64_t size, uint64_t count, uint64_t least,
                     struct index_cursor *part)
{
    if (size > (uint64_t)(rest->end - rest->at) || count > size / least)
        return false;
    part->at = rest->at;
    part->end = rest->at += size;
    return true;
}

static int cut_parts(struct parser *p, const uint8_t *data, size_t size, uint64_t samples,
                     struct sheaf_error *err)
{
    const size_t header = header_bytes(load64(data + sizeof(magic)));
    struct index_cursor rest = { data + header, data + size - HASH_BYTES }, crcs;
    uint64_t crcs_size;
    const uint64_t *words = p->words;

    memcpy(p->words, data + sizeof(magic), header - sizeof(magic));
    words_le(p->words, COUNT_OF(p->words));
    if (words[WORD_SAMPLES] != samples)
        return err_set(err, SHEAF_ERR_CORRUPT, "index: %llu sample%s, expected %llu",
                       (unsigned long long)words[WORD_SAMPLES], plural(words[WORD_SAMPLES]),
                       (unsigned long long)samples);
    if (__builtin_mul_overflow(samples, sizeof(uint32_t), &crcs_size) ||
        !cut_part(&rest, words[WORD_SIZES_SIZE], samples, 1, &p->sizes) ||
        !cut_part(&rest, crcs_size, samples, sizeof(uint32_t), &crcs) ||
        !cut_part(&rest, words[WORD_NAMES_SIZE],
                  words[WORD_NAMES_SIZE] != 0 ? samples : 0, 1, &p->names) ||
        !cut_part(&rest, words[WORD_GAPS_SIZE], words[WORD_GAP_COUNT], 2, &p->gaps) ||
        !cut_part(&rest, words[WORD_BLOCKS_SIZE], words[WORD_BLOCK_COUNT], 2, &p->blocks) ||
        !cut_part(&rest, words[WORD_LABELS_SIZE],
                  words[WORD_LABELS_SIZE] != 0 ? samples : 0, 1, &p->labels) ||
        !cut_part(&rest, words[WORD_PIECES_SIZE], words[WORD_PIECE_COUNT], 2, &p->pieces) ||
        rest.at != rest.end)
        return err_set(err, SHEAF_ERR_CORRUPT, "index: a section of %zu byte%s disagrees with "
                       "its counts", size, plural(size));
    p->crcs = crcs.at;
    return SHEAF_OK;
}

/* Allocates one block of memory for the parsed section and all its arrays. The arrays lie after the
 * struct. Arrays with larger alignment come first, so no padding is needed. */
static int index_allocate(struct parser *p, struct sheaf_error *err)
{
    const uint64_t samples = p->words[WORD_SAMPLES];
    const bool has_names = p->words[WORD_NAMES_SIZE] != 0;
    const uint64_t gap_count = p->words[WORD_GAP_COUNT];
    const uint64_t block_count = p->words[WORD_BLOCK_COUNT];
    const uint64_t piece_count = p->words[WORD_PIECE_COUNT];
    const uint64_t piece_ends = piece_count == 0 ? 0 : piece_count + 1;
    const uint64_t bytes = index_memory(samples, has_names, block_count) +
                           gap_count * sizeof(struct index_gap) +
                           piece_ends * sizeof(struct index_block);
    struct index_section *s = calloc(1, bytes);

    if (s == NULL)
        return err_memory(err, bytes);
    s->samples = samples;
    s->offsets = (uint64_t *)(s + 1);
    s->gap_count = gap_count;
    s->gaps = gap_count != 0 ? (struct index_gap *)(s->offsets + samples + 1) : NULL;
    s->block_count = block_count;
    s->blocks = (struct index_block *)(s->offsets + samples + 1 + 2 * gap_count);
    s->piece_count = piece_count;
    s->pieces = s->blocks + (block_count != 0 ? block_count + 1 : 0);
    s->crcs = (uint32_t *)(s->pieces + piece_ends);
    if (block_count == 0)
        s->blocks = NULL;
    if (piece_count == 0)
        s->pieces = NULL;
    s->name_offsets = has_names ? s->crcs + samples : NULL;
    s->memory_bytes = bytes;
    p->section = s;
    return SHEAF_OK;
}

static int parse_gaps(struct parser *p, struct sheaf_error *err)
{
    struct index_section *s = p->section;
    uint64_t sample = 0, skipped, bytes;

    for (uint64_t i = 0; i < s->gap_count; i++) {
        if (!take_varint(&p->gaps, &skipped) || !take_varint(&p->gaps, &bytes) || bytes == 0 ||
            (skipped == 0 && i != 0) || skipped >= s->samples - sample)
            return index_corrupt(err, "gap", i);
        sample += skipped;
        s->gaps[i] = (struct index_gap){ sample, bytes };
    }
    return p->gaps.at == p->gaps.end ? SHEAF_OK : index_corrupt(err, "gap", s->gap_count);
}

/* Takes the size of the next sample from `sizes`, and adds it to *offset. */
static inline bool take_size(struct index_cursor *sizes, uint64_t *offset)
{
    uint64_t size;

    return take_varint(sizes, &size) && size != 0 && size <= FRAME_LIMIT &&
           !__builtin_add_overflow(*offset, size, offset);
}

static int parse_offsets(struct parser *p, struct sheaf_error *err)
{
    struct index_section *s = p->section;
    uint64_t offset = 0, gap = 0;

    for (uint64_t i = 0; i < s->samples; i++) {
        if (gap < s->gap_count && s->gaps[gap].sample == i &&
            __builtin_add_overflow(offset, s->gaps[gap++].bytes, &offset))
            return index_corrupt(err, "gap before sample", i);
        s->offsets[i] = offset;
        if (!take_size(&p->sizes, &offset))
            return index_corrupt(err, "size of sample", i);
    }
    s->offsets[s->samples] = offset;
    if (p->sizes.at != p->sizes.end || offset != p->words[WORD_RAW_BYTES])
        return err_set(err, SHEAF_ERR_CORRUPT, "index: samples of %llu byte%s, expected %llu",
                       (unsigned long long)offset, plural(offset),
                       (unsigned long long)p->words[WORD_RAW_BYTES]);
    return SHEAF_OK;
}

static int parse_names(struct parser *p, struct sheaf_error *err)
{
    struct index_section *s = p->section;
    uint64_t offset = 0, size;

    for (uint64_t i = 0; s->name_offsets != NULL && i < s->samples; i++) {
        if (!take_varint(&p->names, &size) || size == 0 || size > UINT32_MAX - offset)
            return index_corrupt(err, "name of sample", i);
        offset += size;
        s->name_offsets[i + 1] = (uint32_t)offset;
    }
    if (p->names.at != p->names.end || offset != p->words[WORD_NAMES_BYTES])
        return err_set(err, SHEAF_ERR_CORRUPT, "index: names of %llu byte%s, expected %llu",
                       (unsigned long long)offset, plural(offset),
                       (unsigned long long)p->words[WORD_NAMES_BYTES]);
    return SHEAF_OK;
}

/* Returns whether the offset `raw_offset`, at which a block of the codec begins, lies between two
 * samples. Returns false if it lies inside a sample, because a block must begin with a sample. */
static bool is_between_samples(const struct index_section *s, uint64_t raw_offset)
{
    uint64_t low = 0, high = s->samples;

    while (low < high) {        /* finds the first sample that begins there or later */
        const uint64_t middle = low + (high - low) / 2;

        if (s->offsets[middle] < raw_offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 || s->offsets[low - 1] + index_frame_bytes(s, low - 1) <= raw_offset;
}

static int parse_blocks(struct parser *p, struct sheaf_error *err)
{
    struct index_section *s = p->section;
    struct index_block at = { 0 };
    const uint64_t lead = p->words[WORD_LEAD];
    uint64_t stored, raw;

    for (uint64_t i = 0; i < s->block_count; i++) {
        s->blocks[i] = at;
        if (!take_varint(&p->blocks, &stored) || !take_varint(&p->blocks, &raw) || raw == 0 ||
            stored <= (i == 0 ? lead : 0) ||
            __builtin_add_overflow(at.stored_offset, stored, &at.stored_offset) ||
            __builtin_add_overflow(at.raw_offset, raw, &at.raw_offset) ||
            !is_between_samples(s, s->blocks[i].raw_offset))
            return index_corrupt(err, "block", i);
    }
    if (p->blocks.at != p->blocks.end || (s->block_count == 0 && lead != 0))
        return index_corrupt(err, "block", s->block_count);
    if (s->block_count == 0)
        return SHEAF_OK;
    s->blocks[0].stored_offset = lead;
    s->blocks[s->block_count] = at;
    if (at.raw_offset < s->offsets[s->samples])
        return err_set(err, SHEAF_ERR_CORRUPT, "index: blocks of %llu raw byte%s, samples of %llu",
                       (unsigned long long)at.raw_offset, plural(at.raw_offset),
                       (unsigned long long)s->offsets[s->samples]);
    return SHEAF_OK;
}

/* Parses the list of pieces. A piece is a range of a tar's bytes. A tar has pieces if the members
 * of a sample are not adjacent in it. A reader that reads the pieces in the listed order gets the
 * members of each sample next to each other. Whether a piece lies inside the shard is checked when
 * the piece is read. */
static int parse_pieces(struct parser *p, struct sheaf_error *err)
{
    struct index_section *s = p->section;
    struct index_block at = { 0 };
    uint64_t step, bytes;

    for (uint64_t i = 0; i < s->piece_count; i++) {
        if (!take_varint(&p->pieces, &step) || !take_varint(&p->pieces, &bytes) || bytes == 0)
            return index_corrupt(err, "piece", i);
        at.stored_offset += unzigzag(step);
        s->pieces[i] = at;
        if (at.stored_offset > INT64_MAX ||
            __builtin_add_overflow(at.stored_offset, bytes, &at.stored_offset) ||
            __builtin_add_overflow(at.raw_offset, bytes, &at.raw_offset))
            return index_corrupt(err, "piece", i);
    }
    if (p->pieces.at != p->pieces.end || (s->piece_count != 0 && s->block_count != 0))
        return index_corrupt(err, "piece", s->piece_count);
    if (s->piece_count == 0)
        return SHEAF_OK;
    s->pieces[s->piece_count] = at;
    if (at.raw_offset < s->offsets[s->samples])
        return err_set(err, SHEAF_ERR_CORRUPT, "index: pieces of %llu byte%s, samples of %llu",
                       (unsigned long long)at.raw_offset, plural(at.raw_offset),
                       (unsigned long long)s->offsets[s->samples]);
    return SHEAF_OK;
}

/* Parses the labels in the section. Also stores them in `labels` unless `labels` is NULL. */
static int index_parse_labels(struct parser *p, uint32_t *labels, struct sheaf_error *err)
{
    uint64_t value;

    if (p->words[WORD_LABELS_SIZE] == 0)
        return SHEAF_OK;
    for (uint64_t i = 0; i < p->words[WORD_SAMPLES]; i++) {
        if (!take_varint(&p->labels, &value) || value > UINT32_MAX)
            return index_corrupt(err, "label", i);
        if (labels != NULL)
            labels[i] = (uint32_t)value;
    }
    return p->labels.at == p->labels.end ? SHEAF_OK
         : index_corrupt(err, "label", p->words[WORD_SAMPLES]);
}

int index_parse(const uint8_t *data, size_t size, uint64_t samples,
                struct index_section **section, struct sheaf_error *err)
{
    struct parser p = { 0 };
    int code = index_check_frame(data, size, err);

    if (code == SHEAF_OK)
        code = cut_parts(&p, data, size, samples, err);
    if (code == SHEAF_OK)
        code = index_allocate(&p, err);
    if (code == SHEAF_OK)
        code = parse_gaps(&p, err);
    if (code == SHEAF_OK)
        code = parse_offsets(&p, err);
    if (code == SHEAF_OK)
        code = parse_names(&p, err);
    if (code == SHEAF_OK)
        code = parse_blocks(&p, err);
    if (code == SHEAF_OK)
        code = index_parse_labels(&p, NULL, err);
    if (code == SHEAF_OK)
        code = parse_pieces(&p, err);
    if (code != SHEAF_OK) {
        index_section_free(p.section);
        return code;
    }
    for (uint64_t i = 0; i < samples; i++)
        p.section->crcs[i] = load32(p.crcs + i * sizeof(uint32_t));
    *section = p.section;
    return SHEAF_OK;
}

int index_labels(const uint8_t *data, size_t size, uint64_t samples, uint32_t *labels,
                 struct sheaf_error *err)
{
    struct parser p = { 0 };
    int code = index_check_frame(data, size, err);

    if (code == SHEAF_OK)
        code = cut_parts(&p, data, size, samples, err);
    if (code == SHEAF_OK && p.words[WORD_LABELS_SIZE] == 0 && samples != 0)
        return SHEAF_END;
    return code == SHEAF_OK ? index_parse_labels(&p, labels, err) : code;
}

/* ---- Ranges --------------------------------------------------------------------------------- */

static uint64_t index_range_hash(const struct index_range *r, const uint8_t *sizes,
                                 const uint8_t *crcs)
{
    return XXH3_64bits_withSeed(crcs, r->count * sizeof(uint32_t),
                                XXH3_64bits(sizes, r->sizes_bytes));
}

int index_scan_begin(struct index_scan *scan, const uint8_t *data, size_t size, uint64_t samples,
                     struct sheaf_error *err)
{
    struct parser p = { 0 };
    int code = index_check_frame(data, size, err);

    if (code == SHEAF_OK)
        code = cut_parts(&p, data, size, samples, err);
    if (code != SHEAF_OK)
        return code;
    if (p.words[WORD_GAP_COUNT] != 0 || p.words[WORD_BLOCK_COUNT] != 0 ||
        p.words[WORD_PIECE_COUNT] != 0)
        return err_set(err, SHEAF_ERR_CORRUPT, "index: %llu gaps, %llu blocks and %llu pieces, "
                       "expected none", (unsigned long long)p.words[WORD_GAP_COUNT],
                       (unsigned long long)p.words[WORD_BLOCK_COUNT],
                       (unsigned long long)p.words[WORD_PIECE_COUNT]);
    if (size > UINT32_MAX)
        return err_set(err, SHEAF_ERR_LIMIT, "index: a section of %zu bytes, the limit is %u",
                       size, UINT32_MAX);
    *scan = (struct index_scan){ .data = data, .sizes = p.sizes.at, .sizes_end = p.sizes.end,
                                 .crcs = p.crcs, .samples = samples };
    return SHEAF_OK;
}

/* Moves to sample number `to` of the section. */
static int scan_to(struct index_scan *scan, uint64_t to, struct sheaf_error *err)
{
    struct index_cursor sizes = { scan->sizes, scan->sizes_end };

    for (; scan->sample < to; scan->sample++)
        if (!take_size(&sizes, &scan->offset))
            return index_corrupt(err, "size of sample", scan->sample);
    scan->sizes = sizes.at;
    return SHEAF_OK;
}

int index_scan_find(struct index_scan *scan, uint64_t first, uint64_t count,
                    struct index_range *range, struct sheaf_error *err)
{
    const uint8_t *sizes, *crcs;
    struct index_range r;
    int code;

    if (first < scan->sample || first > scan->samples || count > scan->samples - first)
        return index_corrupt(err, "range of samples from sample", first);
    code = scan_to(scan, first, err);
    sizes = scan->sizes;
    crcs = scan->crcs + first * sizeof(uint32_t);
    r = (struct index_range){ .offset = scan->offset, .count = (uint32_t)count,
                              .sizes_at = (uint32_t)(sizes - scan->data),
                              .crcs_at = (uint32_t)(crcs - scan->data) };
    if (code == SHEAF_OK)
        code = scan_to(scan, first + count, err);
    if (code != SHEAF_OK)
        return code;
    r.sizes_bytes = (uint32_t)(scan->sizes - sizes);
    r.hash = index_range_hash(&r, sizes, crcs);
    *range = r;
    return SHEAF_OK;
}

int index_parse_range(const struct index_range *range, const uint8_t *sizes, const uint8_t *crcs,
                      uint64_t *offsets, uint32_t *sums, struct sheaf_error *err)
{
    const uint64_t hash = index_range_hash(range, sizes, crcs);
    struct index_cursor cursor = { sizes, sizes + range->sizes_bytes };
    uint64_t offset = range->offset;

    if (hash != range->hash)
        return err_set(err, SHEAF_ERR_CHANGED, "index: the hash of %u samples is %016llx, but it "
                       "was %016llx", range->count, (unsigned long long)hash,
                       (unsigned long long)range->hash);
    for (uint32_t i = 0; i < range->count; i++) {
        offsets[i] = offset;
        sums[i] = load32(crcs + i * sizeof(uint32_t));
        if (!take_size(&cursor, &offset))
            return index_corrupt(err, "size of sample", i);
    }
    offsets[range->count] = offset;
    return SHEAF_OK;
}

/* ---- Using ---------------------------------------------------------------------------------- */

void index_section_free(struct index_section *section)
{
    free(section);
}

uint64_t index_memory(uint64_t samples, bool has_names, uint64_t block_count)
{
    uint64_t bytes = sizeof(struct index_section) + (samples + 1) * sizeof(uint64_t) +
                     samples * sizeof(uint32_t);

    if (has_names)
        bytes += (samples + 1) * sizeof(uint32_t);
    if (block_count != 0)
        bytes += (block_count + 1) * sizeof(struct index_block);
    return bytes;
}

/* Returns the size of the gap directly before sample i, in bytes, or 0 if there is no gap. A gap is
 * a range of bytes that belong to no sample. */
static uint64_t index_gap_before(const struct index_section *s, uint64_t i)
{
    uint64_t low = 0, high = s->gap_count;

    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;

        if (s->gaps[middle].sample < i)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->gap_count && s->gaps[low].sample == i ? s->gaps[low].bytes : 0;
}

uint64_t index_frame_bytes(const struct index_section *section, uint64_t i)
{
    return section->offsets[i + 1] - section->offsets[i] - index_gap_before(section, i + 1);
}

/* The last block that begins there or before. */
static uint64_t index_find_block(const struct index_block *blocks, uint64_t count,
                                 uint64_t raw_offset)
{
    uint64_t low = 0, high = count;

    while (high - low > 1) {
        const uint64_t middle = low + (high - low) / 2;

        if (blocks[middle].raw_offset <= raw_offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

uint64_t index_block_of(const struct index_section *section, uint64_t raw_offset)
{
    return index_find_block(section->blocks, section->block_count, raw_offset);
}

uint64_t index_piece_of(const struct index_section *section, uint64_t raw_offset)
{
    return index_find_block(section->pieces, section->piece_count, raw_offset);
}
