/* SPDX-License-Identifier: MIT
 *
 * Tests codecs: blocks are compressed, joined to a shard, decompressed alone, and damaged; and
 * other tools read the shards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <lz4frame.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/bytes.h"
#include "formats/codec.h"
#include "tests/common_members.h"
#include "tests/common_random.h"

#define BLOCKS 6

static const enum sheaf_codec codecs[] = { SHEAF_CODEC_GZIP, SHEAF_CODEC_LZ4, SHEAF_CODEC_ZSTD };

/* A shard of a few blocks, and the position of each block. If `single` is false, the shard consists
 * of whole members, as older releases wrote it. */
struct shard {
    const struct codec_ops *ops;
    bool single;
    struct buf raw, stored;
    /* [0] is the start of the first block */
    size_t raw_ends[BLOCKS + 1], stored_ends[BLOCKS + 1];
    struct codec_total total;
};

static void append_raw(struct shard *s, struct rng *rng, size_t size, unsigned kind)
{
    uint8_t *data = malloc(size + 1);

    assert_non_null(data);
    if (kind == 0)
        random_bytes(rng, data, size);
    else if (kind == 1)
        random_text(rng, data, size);
    else
        memset(data, 0, size);
    assert_int_equal(buf_append(&s->raw, data, size, NULL), SHEAF_OK);
    free(data);
}

static void shard_begin(struct shard *s)
{
    if (s->single)
        assert_int_equal(s->ops->begin(&s->stored, NULL), SHEAF_OK);
    s->stored_ends[0] = s->stored.size;
}

static void shard_add(struct shard *s, const void *data, size_t size)
{
    const size_t before = s->stored.size;
    struct codec_block block;

    if (!s->single) {
        member_append(s->ops->id, data, size, &s->stored);
        return;
    }
    assert_int_equal(s->ops->compress(data, size, &s->stored, &block, NULL), SHEAF_OK);
    assert_int_equal(block.raw_bytes, size);
    assert_int_equal(codec_total_add(s->ops, &s->total, &block, s->stored.data + before,
                                     s->stored.size - before, NULL), SHEAF_OK);
}

static void shard_end(struct shard *s)
{
    if (!s->single)
        return;
    assert_int_equal(s->ops->end(&s->total, &s->stored, NULL), SHEAF_OK);
    assert_int_equal(s->total.raw_bytes, s->raw.size);
}

static void shard_make(struct shard *s, enum sheaf_codec codec, bool single, struct rng *rng,
                       const size_t sizes[BLOCKS])
{
    *s = (struct shard){ .ops = codec_of(codec), .single = single };
    s->raw.limit = s->stored.limit = SIZE_MAX;
    shard_begin(s);
    for (unsigned i = 0; i < BLOCKS; i++) {
        append_raw(s, rng, sizes[i], i % 3);
        shard_add(s, s->raw.data + s->raw_ends[i], sizes[i]);
        s->raw_ends[i + 1] = s->raw.size;
        s->stored_ends[i + 1] = s->stored.size;
        assert_true(s->stored_ends[i + 1] - s->stored_ends[i] <= codec_bound(sizes[i]));
    }
    shard_end(s);
}

static void shard_free(struct shard *s)
{
    buf_free(&s->raw);
    buf_free(&s->stored);
    codec_total_free(&s->total);
}

static const size_t usual_sizes[BLOCKS] = { 100000, 262144, 70000, 1, 262145, 786431 };
static const size_t small_sizes[BLOCKS] = { 40, 300, 7, 1, 90, 2 };

/* Calls `check` with a shard of each codec, in the present form and in that of older releases. */
static void for_each_form(const size_t sizes[BLOCKS], void (*check)(const struct shard *s))
{
    struct rng rng;

    random_start(&rng);
    for (size_t i = 0; i < COUNT_OF(codecs); i++) {
        for (int single = 0; single <= 1; single++) {
            struct shard s;

            shard_make(&s, codecs[i], single != 0, &rng, sizes);
            check(&s);
            shard_free(&s);
        }
    }
}

/* Decompresses into memory of exactly this size, so that a sanitizer notices an extra byte. */
static int unpack(const struct shard *s, const void *stored, size_t size, size_t raw_size,
                  uint8_t **raw)
{
    struct sheaf_error err = { 0 };
    int code;

    *raw = malloc(raw_size != 0 ? raw_size : 1);
    assert_non_null(*raw);
    code = s->ops->decompress(s->single, stored, size, *raw, raw_size, &err);
    if (code != SHEAF_OK) {
        assert_int_equal(err.code, code);
        assert_true(err.message[0] != '\0');
    }
    return code;
}

/* ---- Blocks --------------------------------------------------------------------------------- */

static void check_each_block_alone(const struct shard *s)
{
    for (unsigned i = BLOCKS; i-- > 0; ) {
        const size_t size = s->raw_ends[i + 1] - s->raw_ends[i];
        uint8_t *raw;

        assert_int_equal(unpack(s, s->stored.data + s->stored_ends[i],
                                s->stored_ends[i + 1] - s->stored_ends[i], size, &raw), SHEAF_OK);
        assert_memory_equal(raw, s->raw.data + s->raw_ends[i], size);
        free(raw);
    }
}

static void each_block_is_unpacked_alone(void **state)
{
    (void)state;
    for_each_form(usual_sizes, check_each_block_alone);
}

static void an_empty_block_is_a_block(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(codecs); i++) {
        const struct shard s = { .ops = codec_of(codecs[i]), .single = true };
        struct buf out = BUF_INIT(SIZE_MAX);
        struct codec_block block;
        uint8_t *raw;

        assert_int_equal(s.ops->compress("", 0, &out, &block, NULL), SHEAF_OK);
        assert_int_equal(unpack(&s, out.data, out.size, 0, &raw), SHEAF_OK);
        free(raw);
        buf_free(&out);
    }
}

static void check_same_bytes_again(const struct shard *s)
{
    for (unsigned i = 0; s->single && i < BLOCKS; i++) {
        struct buf out = BUF_INIT(SIZE_MAX);
        struct codec_block block;

        assert_int_equal(buf_append(&out, "before", 6, NULL), SHEAF_OK);
        assert_int_equal(s->ops->compress(s->raw.data + s->raw_ends[i],
                                          s->raw_ends[i + 1] - s->raw_ends[i], &out, &block,
                                          NULL), SHEAF_OK);
        assert_int_equal(out.size - 6, s->stored_ends[i + 1] - s->stored_ends[i]);
        assert_memory_equal(out.data, "before", 6);
        assert_memory_equal(out.data + 6, s->stored.data + s->stored_ends[i], out.size - 6);
        buf_free(&out);
    }
}

static void the_bytes_depend_on_the_data_only(void **state)
{
    (void)state;
    for_each_form(usual_sizes, check_same_bytes_again);
}

static void a_gzip_header_holds_no_time_and_no_system(void **state)
{
    static const uint8_t header[] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255 };
    struct buf lead = BUF_INIT(SIZE_MAX);

    (void)state;
    assert_int_equal(codec_of(SHEAF_CODEC_GZIP)->begin(&lead, NULL), SHEAF_OK);
    assert_int_equal(lead.size, sizeof(header));
    assert_memory_equal(lead.data, header, sizeof(header));
    buf_free(&lead);
}

static void the_total_is_the_crc_of_everything(void **state)
{
    struct shard s;
    struct rng rng;

    (void)state;
    random_start(&rng);
    shard_make(&s, SHEAF_CODEC_GZIP, true, &rng, usual_sizes);
    assert_int_equal(s.total.crc, crc32_z(0, s.raw.data, s.raw.size));
    shard_free(&s);
}

static void a_buffer_that_is_too_small_is_left_as_it_was(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(codecs); i++) {
        struct buf out = BUF_INIT(200);
        struct codec_block block;
        uint8_t data[1000] = { 0 };

        assert_int_equal(buf_append(&out, "before", 6, NULL), SHEAF_OK);
        assert_int_equal(codec_of(codecs[i])->compress(data, sizeof(data), &out, &block,
                                                       NULL), SHEAF_ERR_LIMIT);
        assert_int_equal(out.size, 6);
        buf_free(&out);
    }
}

/* ---- Damage --------------------------------------------------------------------------------- */

static void check_wrong_sizes(const struct shard *s)
{
    for (unsigned i = 0; i < BLOCKS; i++) {
        const uint8_t *stored = s->stored.data + s->stored_ends[i];
        const size_t size = s->stored_ends[i + 1] - s->stored_ends[i];
        const size_t raw_size = s->raw_ends[i + 1] - s->raw_ends[i];
        uint8_t *raw;

        assert_int_equal(unpack(s, stored, size, raw_size - 1, &raw), SHEAF_ERR_CORRUPT);
        free(raw);
        assert_int_equal(unpack(s, stored, size, raw_size + 1, &raw), SHEAF_ERR_CORRUPT);
        free(raw);
        if (s->stored_ends[i] + size < s->stored.size) {    /* with one byte of the next block */
            assert_int_equal(unpack(s, stored, size + 1, raw_size, &raw), SHEAF_ERR_CORRUPT);
            free(raw);
        }
    }
}

static void other_sizes_than_the_exact_ones_are_refused(void **state)
{
    (void)state;
    for_each_form(usual_sizes, check_wrong_sizes);
}

static void check_end_inside_block(const struct shard *s)
{
    const unsigned last = BLOCKS - 1;
    uint8_t *raw;

    assert_int_equal(unpack(s, s->stored.data + s->stored_ends[last],
                            s->stored.size - s->stored_ends[last],
                            s->raw_ends[last + 1] - s->raw_ends[last], &raw),
                     s->single ? SHEAF_ERR_CORRUPT : SHEAF_OK);
    free(raw);
}

static void what_ends_a_member_is_no_part_of_a_block(void **state)
{
    (void)state;
    for_each_form(small_sizes, check_end_inside_block);
}

static void check_prefixes_of_blocks(const struct shard *s)
{
    for (unsigned i = 0; i < BLOCKS; i++) {
        const size_t size = s->stored_ends[i + 1] - s->stored_ends[i];

        for (size_t cut = 0; cut < size; cut++) {
            uint8_t *raw;

            assert_int_equal(unpack(s, s->stored.data + s->stored_ends[i], cut,
                                    s->raw_ends[i + 1] - s->raw_ends[i], &raw),
                             SHEAF_ERR_CORRUPT);
            free(raw);
        }
    }
}

static void every_prefix_of_a_block_is_refused(void **state)
{
    (void)state;
    for_each_form(small_sizes, check_prefixes_of_blocks);
}

/* Flips bits in a block. The damaged block must be refused, unless the bit has no meaning (such as
 * gzip's time). If no checksum is verified, which is so for LZ4 and for a piece of a gzip member,
 * decompressing must only do no harm. zstd always verifies its checksum. */
static void check_flips_in_blocks(const struct shard *s)
{
    for (unsigned i = 0; i < BLOCKS; i++) {
        const size_t size = s->stored_ends[i + 1] - s->stored_ends[i];
        const size_t raw_size = s->raw_ends[i + 1] - s->raw_ends[i];
        uint8_t *stored = malloc(size), *raw;

        assert_non_null(stored);
        memcpy(stored, s->stored.data + s->stored_ends[i], size);
        for (size_t bit = 0; bit < 8 * size; bit++) {
            stored[bit / 8] ^= (uint8_t)(1 << bit % 8);
            if (unpack(s, stored, size, raw_size, &raw) == SHEAF_OK &&
                (s->ops->id == SHEAF_CODEC_ZSTD ||
                 (!s->single && s->ops->id == SHEAF_CODEC_GZIP)))
                assert_memory_equal(raw, s->raw.data + s->raw_ends[i], raw_size);
            free(raw);
            stored[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        free(stored);
    }
}

static void no_flipped_bit_passes_a_checksum(void **state)
{
    (void)state;
    for_each_form(small_sizes, check_flips_in_blocks);
}

/* ---- Names and the field's tools ------------------------------------------------------------ */

static void codecs_are_known_by_name_and_by_content(void **state)
{
    static const uint8_t lz4[] = { 0x04, 0x22, 0x4d, 0x18 }, gzip[] = { 0x1f, 0x8b, 8 };
    static const uint8_t skippable[] = { 0x5f, 0x2a, 0x4d, 0x18, 1, 0, 0, 0, 'x', 0x50, 0x2a, 0x4d,
                                         0x18, 0, 0, 0, 0, 0x28, 0xb5, 0x2f, 0xfd };

    (void)state;
    for (int id = 0; id <= 3; id++)
        assert_int_equal(sheaf_codec_of(sheaf_codec_name((enum sheaf_codec)id)), id);
    assert_string_equal(sheaf_codec_name(SHEAF_CODEC_LZ4), "lz4");
    assert_null(sheaf_codec_name((enum sheaf_codec)4));
    assert_int_equal(sheaf_codec_of("GZIP"), -1);
    assert_int_equal(sheaf_codec_of(""), -1);
    assert_null(codec_of(SHEAF_CODEC_NONE));
    assert_int_equal(codec_detect(lz4, 4), SHEAF_CODEC_LZ4);
    assert_int_equal(codec_detect(skippable, 4), SHEAF_CODEC_LZ4);
    assert_int_equal(codec_detect(gzip, 3), SHEAF_CODEC_GZIP);
    /* Both codecs have skippable frames. The first frame of another kind shows the codec. */
    assert_int_equal(codec_detect(skippable, sizeof(skippable)), SHEAF_CODEC_ZSTD);
    assert_int_equal(codec_detect(skippable, sizeof(skippable) - 1), SHEAF_CODEC_LZ4);
    assert_int_equal(codec_detect(skippable + 17, 4), SHEAF_CODEC_ZSTD);
    assert_int_equal(codec_detect(skippable + 17, 3), SHEAF_CODEC_NONE);
    for (size_t size = 0; size < 3; size++)
        assert_int_equal(codec_detect(gzip, size), SHEAF_CODEC_NONE);
    assert_int_equal(codec_detect(lz4, 3), SHEAF_CODEC_NONE);
    assert_int_equal(codec_detect((const uint8_t *)"plain tar", 9), SHEAF_CODEC_NONE);
}

static void a_files_name_says_its_codec(void **state)
{
    char names[CODEC_NAMES_BYTES];

    (void)state;
    assert_int_equal(codec_of_name("dir.gz/list.csv"), SHEAF_CODEC_NONE);
    assert_int_equal(codec_stem("list.csv"), 8);
    for (size_t i = 0; i < COUNT_OF(codecs); i++) {
        char name[40];

        snprintf(name, sizeof(name), "list.csv%s", codec_of(codecs[i])->suffix);
        assert_int_equal(codec_of_name(name), codecs[i]);
        assert_int_equal(codec_stem(name), 8);
        assert_non_null(strstr(codec_names(names), codec_of(codecs[i])->name));
    }
}

static void feed(const char *command, const struct buf *data)
{
    FILE *pipe = popen(command, "w");

    assert_non_null(pipe);
    assert_int_equal(fwrite(data->data, 1, data->size, pipe), data->size);
    assert_int_equal(pclose(pipe), 0);
}

/* Checks that readers which stop after the first member or frame get the whole shard. */
static void check_is_one_member(const struct shard *s)
{
    const bool gzip = s->ops->id == SHEAF_CODEC_GZIP;
    uint8_t *raw;

    if (!s->single || !s->ops->single_member)
        return;
    raw = malloc(s->raw.size);
    assert_non_null(raw);
    if (gzip) {
        z_stream z = { .next_in = s->stored.data, .avail_in = (uInt)s->stored.size,
                       .next_out = raw, .avail_out = (uInt)s->raw.size };

        assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
        assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
        assert_int_equal(z.avail_in + z.avail_out, 0);
        inflateEnd(&z);
    } else {
        size_t taken = s->stored.size, given = s->raw.size;
        LZ4F_dctx *context;

        assert_false(LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION)));
        assert_int_equal(LZ4F_decompress(context, raw, &given, s->stored.data, &taken, NULL), 0);
        assert_int_equal(taken, s->stored.size);
        assert_int_equal(given, s->raw.size);
        LZ4F_freeDecompressionContext(context);
    }
    assert_memory_equal(raw, s->raw.data, s->raw.size);
    free(raw);
}

static void a_shard_is_one_member_or_frame(void **state)
{
    (void)state;
    for_each_form(usual_sizes, check_is_one_member);
}

/* Checks the table of a zstd shard: the position and size of each frame, as the seekable format
 * requires. */
static void check_seek_table(const struct shard *s)
{
    const uint8_t *end = s->stored.data + s->stored.size, *entry;
    const size_t table = 8 * BLOCKS + 9;

    if (!s->single || s->ops->id != SHEAF_CODEC_ZSTD)
        return;
    entry = end - table;
    assert_int_equal(s->stored_ends[BLOCKS] + 8 + table, s->stored.size);
    assert_int_equal(load32(entry - 8), 0x184d2a5e);
    assert_int_equal(load32(entry - 4), table);
    for (unsigned i = 0; i < BLOCKS; i++, entry += 8) {
        assert_int_equal(load32(entry), s->stored_ends[i + 1] - s->stored_ends[i]);
        assert_int_equal(load32(entry + 4), s->raw_ends[i + 1] - s->raw_ends[i]);
    }
    assert_int_equal(load32(end - 9), BLOCKS);
    assert_int_equal(end[-5], 0);
    assert_int_equal(load32(end - 4), 0x8f92eab1);
}

static void a_zstd_shard_ends_with_a_seek_table(void **state)
{
    (void)state;
    for_each_form(usual_sizes, check_seek_table);
}

/* Compresses more bytes than one frame may hold (16 MiB). */
static void a_very_large_zstd_block_is_several_frames(void **state)
{
    const size_t size = ((size_t)33 << 20) + 5;
    struct shard s = { .ops = codec_of(SHEAF_CODEC_ZSTD), .single = true };
    uint8_t *raw;
    struct rng rng;

    (void)state;
    random_start(&rng);
    s.raw.limit = s.stored.limit = SIZE_MAX;
    append_raw(&s, &rng, size, 0);
    shard_begin(&s);
    shard_add(&s, s.raw.data, size);
    assert_true(s.stored.size <= codec_bound(size));
    assert_int_equal(s.total.table.size, 3 * 8);
    assert_int_equal(load32(s.total.table.data + 4), 16 << 20);
    assert_int_equal(load32(s.total.table.data + 20), (1 << 20) + 5);
    assert_int_equal(unpack(&s, s.stored.data, s.stored.size, size, &raw), SHEAF_OK);
    assert_memory_equal(raw, s.raw.data, size);
    free(raw);
    shard_free(&s);
}

static void check_with_tools(const struct shard *s)
{
    char python[256];

    if (s->ops->id == SHEAF_CODEC_LZ4) {
        feed("lz4 -t -q", &s->stored);
        return;
    }
    if (s->ops->id == SHEAF_CODEC_ZSTD) {
        feed("zstd -t -q", &s->stored);
        return;
    }
    feed("gzip -t", &s->stored);
    snprintf(python, sizeof(python),
             "python3 -c 'import gzip, sys, zlib; raw = gzip.open(sys.stdin.buffer).read(); "
             "sys.exit((len(raw), zlib.crc32(raw)) != (%zu, %u))'",
             s->raw.size, (unsigned)crc32_z(0, s->raw.data, s->raw.size));
    feed(python, &s->stored);
}

static void the_codecs_own_tools_and_python_take_it(void **state)
{
    (void)state;
    for_each_form(usual_sizes, check_with_tools);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_block_is_unpacked_alone),
        cmocka_unit_test(an_empty_block_is_a_block),
        cmocka_unit_test(the_bytes_depend_on_the_data_only),
        cmocka_unit_test(a_gzip_header_holds_no_time_and_no_system),
        cmocka_unit_test(the_total_is_the_crc_of_everything),
        cmocka_unit_test(a_buffer_that_is_too_small_is_left_as_it_was),
        cmocka_unit_test(other_sizes_than_the_exact_ones_are_refused),
        cmocka_unit_test(what_ends_a_member_is_no_part_of_a_block),
        cmocka_unit_test(every_prefix_of_a_block_is_refused),
        cmocka_unit_test(no_flipped_bit_passes_a_checksum),
        cmocka_unit_test(codecs_are_known_by_name_and_by_content),
        cmocka_unit_test(a_files_name_says_its_codec),
        cmocka_unit_test(a_shard_is_one_member_or_frame),
        cmocka_unit_test(a_zstd_shard_ends_with_a_seek_table),
        cmocka_unit_test(a_very_large_zstd_block_is_several_frames),
        cmocka_unit_test(the_codecs_own_tools_and_python_take_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
