/* SPDX-License-Identifier: MIT
 *
 * Tests compressed streams that are read from the start: in pieces of any size, with several
 * members, truncated, with other bytes after the end, and of kinds that cannot be read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <lz4frame.h>
#include <stdlib.h>
#include <zstd.h>

#include "base/bytes.h"
#include "formats/codec.h"
#include "tests/common_members.h"
#include "tests/common_random.h"

static const enum sheaf_codec codecs[] = { SHEAF_CODEC_GZIP, SHEAF_CODEC_LZ4, SHEAF_CODEC_ZSTD };

/* Decompresses the whole stream and frees it. Pushes at most `in` bytes and takes at most `room`
 * bytes at a time. */
static int read_opened(struct codec_stream *stream, const uint8_t *data, size_t size, size_t in,
                       size_t room, struct buf *raw, struct sheaf_error *err)
{
    uint8_t *piece = malloc(room);
    size_t given = room;
    int code = SHEAF_OK;

    assert_non_null(piece);
    while (code == SHEAF_OK && (size > 0 || given == room)) {
        const size_t shown = MIN(size, in);
        size_t taken = shown;

        given = room;
        code = codec_stream_push(stream, data, &taken, piece, &given, err);
        assert_true(taken <= shown && given <= room);
        if (code == SHEAF_OK && given < room)
            assert_int_equal(taken, shown);
        data += taken;
        size -= taken;
        assert_int_equal(buf_append(raw, piece, given, NULL), SHEAF_OK);
    }
    if (code == SHEAF_OK)
        code = codec_stream_end(stream, err);
    codec_stream_free(stream);
    free(piece);
    return code;
}

static int read_stream(enum sheaf_codec codec, const uint8_t *data, size_t size, size_t in,
                       size_t room, struct buf *raw, struct sheaf_error *err)
{
    struct codec_stream *stream;

    assert_int_equal(codec_stream_open(codec, &stream, err), SHEAF_OK);
    return read_opened(stream, data, size, in, room, raw, err);
}

static int read_quietly(enum sheaf_codec codec, const uint8_t *data, size_t size)
{
    struct buf raw = BUF_INIT(SIZE_MAX);
    struct sheaf_error err = { 0 };
    const int code = read_stream(codec, data, size, 64, 64, &raw, &err);

    if (code != SHEAF_OK) {
        assert_int_equal(err.code, code);
        assert_null(strchr(err.message, '\n'));
        assert_non_null(strstr(err.message, "byte"));
    }
    buf_free(&raw);
    return code;
}

/* Makes a few members. *ends gets the end of each member. */
static void make_members(enum sheaf_codec codec, const struct buf *raw, size_t count,
                         struct buf *stored, size_t *ends)
{
    *stored = (struct buf)BUF_INIT(SIZE_MAX);
    for (size_t i = 0; i < count; i++) {
        const size_t from = raw->size * i / count, to = raw->size * (i + 1) / count;

        member_append(codec, raw->data + from, to - from, stored);
        ends[i] = stored->size;
    }
}

static struct buf make_raw(size_t size)
{
    struct buf raw = BUF_INIT(SIZE_MAX);
    struct rng rng;

    random_start(&rng);
    assert_int_equal(buf_reserve(&raw, size, NULL), SHEAF_OK);
    random_text(&rng, raw.data, size / 2);
    random_bytes(&rng, raw.data + size / 2, size - size / 2);
    raw.size = size;
    return raw;
}

static const size_t pieces[][2] = {
    { 1 << 20, 1 << 20 }, { 1, 7 }, { 7, 1 }, { 4096, 100000 }, { 100000, 4096 },
};

static void members_are_read_in_pieces_of_any_size(void **state)
{
    struct buf raw = make_raw(300000);

    (void)state;
    for (size_t i = 0; i < COUNT_OF(codecs) * COUNT_OF(pieces); i++) {
        const enum sheaf_codec codec = codecs[i % COUNT_OF(codecs)];
        const size_t *piece = pieces[i / COUNT_OF(codecs)];
        struct buf stored, got = BUF_INIT(SIZE_MAX);
        size_t ends[5];

        make_members(codec, &raw, 5, &stored, ends);
        assert_int_equal(read_stream(codec, stored.data, stored.size, piece[0], piece[1], &got,
                                     NULL), SHEAF_OK);
        assert_int_equal(got.size, raw.size);
        assert_memory_equal(got.data, raw.data, raw.size);
        buf_free(&got);
        buf_free(&stored);
    }
    buf_free(&raw);
}

/* Makes a shard from blocks of `size` raw bytes, as the packer does. */
static struct buf make_shard(enum sheaf_codec codec, const struct buf *raw, size_t size)
{
    const struct codec_ops *ops = codec_of(codec);
    struct buf stored = BUF_INIT(SIZE_MAX);
    struct codec_total total = { 0 };

    assert_int_equal(ops->begin(&stored, NULL), SHEAF_OK);
    for (size_t from = 0; from < raw->size; from += size) {
        const size_t before = stored.size;
        struct codec_block block;

        assert_int_equal(ops->compress(raw->data + from, size, &stored, &block, NULL), SHEAF_OK);
        assert_int_equal(codec_total_add(ops, &total, &block, stored.data + before,
                                         stored.size - before, NULL), SHEAF_OK);
    }
    assert_int_equal(ops->end(&total, &stored, NULL), SHEAF_OK);
    codec_total_free(&total);
    return stored;
}

static void a_member_of_blocks_is_read(void **state)
{
    struct buf raw = make_raw(600000);

    (void)state;
    for (size_t c = 0; c < COUNT_OF(codecs); c++) {
        struct buf stored = make_shard(codecs[c], &raw, 200000), got = BUF_INIT(SIZE_MAX);

        assert_int_equal(read_stream(codecs[c], stored.data, stored.size, 5000, 5000, &got, NULL),
                         SHEAF_OK);
        assert_int_equal(got.size, raw.size);
        assert_memory_equal(got.data, raw.data, raw.size);
        buf_free(&got);
        buf_free(&stored);
    }
    buf_free(&raw);
}

/* Damages the checksums of all blocks in an LZ4 frame that our packer wrote. */
static void damage_checksums(struct buf *frame)
{
    uint8_t *at = frame->data + 7;

    while (load32(at) != 0) {
        at += 4 + (load32(at) & 0x7fffffff);
        assert_true(at < frame->data + frame->size);
        at[0] ^= 1;
        at += 4;
    }
}

/* A frame has compressed blocks and blocks that are stored without compression. */
static void checksums_of_lz4_blocks_are_skipped_if_the_reader_says_so(void **state)
{
    struct buf raw = make_raw(1200000), stored = make_shard(SHEAF_CODEC_LZ4, &raw, 600000);
    uint8_t *whole = malloc(raw.size);

    (void)state;
    damage_checksums(&stored);
    for (size_t i = 0; i < 2 * COUNT_OF(pieces); i++) {
        const size_t *piece = pieces[i / 2];
        struct buf got = BUF_INIT(SIZE_MAX);
        struct codec_stream *stream;

        assert_int_equal(codec_stream_open(SHEAF_CODEC_LZ4, &stream, NULL), SHEAF_OK);
        stream->skips_checksums = i % 2 == 0;
        assert_int_equal(read_opened(stream, stored.data, stored.size, piece[0], piece[1], &got,
                                     NULL), i % 2 == 0 ? SHEAF_OK : SHEAF_ERR_CORRUPT);
        assert_int_equal(got.size == raw.size, i % 2 == 0);
        assert_memory_equal(got.data, raw.data, got.size);
        buf_free(&got);
    }
    /* All blocks are between the header of 7 bytes and the end mark of 4 bytes. */
    assert_non_null(whole);
    assert_int_equal(codec_of(SHEAF_CODEC_LZ4)->decompress(true, stored.data + 7, stored.size - 11,
                                                           whole, raw.size, NULL), SHEAF_OK);
    assert_memory_equal(whole, raw.data, raw.size);
    free(whole);
    buf_free(&stored);
    buf_free(&raw);
}

static void every_prefix_is_truncated_unless_it_ends_with_a_member(void **state)
{
    struct buf raw = make_raw(900);

    (void)state;
    for (size_t c = 0; c < COUNT_OF(codecs); c++) {
        struct buf stored;
        size_t ends[3];

        make_members(codecs[c], &raw, 3, &stored, ends);
        for (size_t cut = 0; cut <= stored.size; cut++) {
            const bool whole = cut == ends[0] || cut == ends[1] || cut == ends[2];

            assert_int_equal(read_quietly(codecs[c], stored.data, cut),
                             whole ? SHEAF_OK : SHEAF_ERR_TRUNCATED);
        }
        buf_free(&stored);
    }
    buf_free(&raw);
}

static void every_flipped_bit_is_found_or_without_meaning(void **state)
{
    struct buf raw = make_raw(300);

    (void)state;
    for (size_t c = 0; c < COUNT_OF(codecs); c++) {
        struct buf stored;
        size_t ends[2];

        make_members(codecs[c], &raw, 2, &stored, ends);
        for (size_t bit = 0; bit < 8 * stored.size; bit++) {
            struct buf got = BUF_INIT(SIZE_MAX);

            stored.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
            if (read_stream(codecs[c], stored.data, stored.size, 50, 50, &got, NULL) == SHEAF_OK) {
                assert_int_equal(got.size, raw.size);
                assert_memory_equal(got.data, raw.data, raw.size);
            }
            stored.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
            buf_free(&got);
        }
        buf_free(&stored);
    }
    buf_free(&raw);
}

static void what_follows_the_last_member_is_an_error(void **state)
{
    static const struct tail { const char *bytes; size_t size; } tails[] = {
        { "\0\0\0\0garbage", 11 }, { "garbage", 7 }, { "\xff", 1 }, { "\x05\x22", 2 },
    };
    struct buf raw = make_raw(100);

    (void)state;
    for (size_t i = 0; i < COUNT_OF(codecs) * COUNT_OF(tails); i++) {
        const enum sheaf_codec codec = codecs[i % COUNT_OF(codecs)];
        const struct tail *tail = &tails[i / COUNT_OF(codecs)];
        struct buf stored;
        size_t end;

        make_members(codec, &raw, 1, &stored, &end);
        assert_int_equal(buf_append(&stored, tail->bytes, tail->size, NULL), SHEAF_OK);
        assert_int_equal(read_quietly(codec, stored.data, stored.size), SHEAF_ERR_CORRUPT);
        buf_free(&stored);
    }
    buf_free(&raw);
}

/* Pushes complete members and garbage at once, and an incomplete member. */
static void members_before_damage_are_whole(void **state)
{
    struct buf raw = make_raw(2000);

    (void)state;
    for (size_t c = 0; c < COUNT_OF(codecs); c++) {
        struct codec_stream *stream;
        struct sheaf_error err;
        struct buf stored;
        uint8_t got[4000];
        size_t ends[3], taken, given = sizeof(got);

        make_members(codecs[c], &raw, 3, &stored, ends);
        memset(stored.data + ends[1], 'x', 8);
        taken = stored.size;
        assert_int_equal(codec_stream_open(codecs[c], &stream, NULL), SHEAF_OK);
        assert_int_equal(codec_stream_push(stream, stored.data, &taken, got, &given, &err),
                         SHEAF_ERR_CORRUPT);
        assert_int_equal(stream->whole_taken, ends[1]);
        assert_int_equal(stream->whole_given, 2 * raw.size / 3);
        assert_memory_equal(got, raw.data, stream->whole_given);
        codec_stream_free(stream);
        buf_free(&stored);
    }
    buf_free(&raw);
}

/* Tests zeros at the end and before another member, also if they are pushed in pieces. */
static void zeros_behind_a_gzip_member_are_passed_over(void **state)
{
    struct buf raw = make_raw(1000), stored = BUF_INIT(SIZE_MAX);
    const uint8_t zeros[700] = { 0 };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        member_append(SHEAF_CODEC_GZIP, raw.data + 500 * i, 500, &stored);
        assert_int_equal(buf_append(&stored, zeros, sizeof(zeros), NULL), SHEAF_OK);
        for (size_t piece = 1; piece <= 4096; piece *= 64) {
            struct buf got = BUF_INIT(SIZE_MAX);

            assert_int_equal(read_stream(SHEAF_CODEC_GZIP, stored.data, stored.size, piece, 64,
                                         &got, NULL), SHEAF_OK);
            assert_int_equal(got.size, 500 * (i + 1));
            assert_memory_equal(got.data, raw.data, got.size);
            buf_free(&got);
        }
    }
    assert_int_equal(read_quietly(SHEAF_CODEC_GZIP, zeros, 10), SHEAF_ERR_CORRUPT);
    buf_free(&stored);
    buf_free(&raw);
}

/* Tests skippable frames before, between and after frames, and streams that are cut at each of
 * their bytes. */
static void check_skippable_frames(enum sheaf_codec codec)
{
    static const uint8_t skippable[] = { 0x5f, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 'x', 'y', 'z' };
    static const uint8_t empty[] = { 0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0 };
    struct buf raw = make_raw(1000), stored = BUF_INIT(SIZE_MAX);
    size_t last;

    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(buf_append(&stored, skippable, sizeof(skippable), NULL), SHEAF_OK);
        assert_int_equal(buf_append(&stored, empty, sizeof(empty), NULL), SHEAF_OK);
        member_append(codec, raw.data + 500 * i, 500, &stored);
    }
    last = stored.size;
    assert_int_equal(buf_append(&stored, skippable, sizeof(skippable), NULL), SHEAF_OK);
    for (size_t piece = 1; piece <= 4096; piece *= 64) {
        struct buf got = BUF_INIT(SIZE_MAX);

        assert_int_equal(read_stream(codec, stored.data, stored.size, piece, 64, &got, NULL),
                         SHEAF_OK);
        assert_int_equal(got.size, raw.size);
        assert_memory_equal(got.data, raw.data, raw.size);
        buf_free(&got);
    }
    for (size_t cut = last + 1; cut < stored.size; cut++)
        assert_true(read_quietly(codec, stored.data, cut) < 0);
    buf_free(&stored);
    buf_free(&raw);
}

static void skippable_frames_are_passed_over(void **state)
{
    (void)state;
    check_skippable_frames(SHEAF_CODEC_LZ4);
    check_skippable_frames(SHEAF_CODEC_ZSTD);
}

/* Tests a header with a name, a comment and its own checksum (RFC 1952), around the data "hi". */
static void a_foreign_gzip_header_is_read(void **state)
{
    static const uint8_t member[] = {
        0x1f, 0x8b, 8, 0x1a, 1, 2, 3, 4, 2, 3, 'n', 'a', 'm', 'e', 0, 'w', 'h', 'y', 0,
        0x83, 0xf9, 0xcb, 0xc8, 4, 0, 0xac, 0x2a, 0x93, 0xd8, 2, 0, 0, 0,
    };
    uint8_t damaged[sizeof(member)];

    (void)state;
    assert_int_equal(read_quietly(SHEAF_CODEC_GZIP, member, sizeof(member)), SHEAF_OK);
    memcpy(damaged, member, sizeof(member));
    damaged[11] = 'o';
    assert_int_equal(read_quietly(SHEAF_CODEC_GZIP, damaged, sizeof(damaged)),
                     SHEAF_ERR_CORRUPT);
}

static void frames_that_are_not_read_are_refused(void **state)
{
    static const uint8_t legacy[] = { 0x02, 0x21, 0x4c, 0x18, 1, 0, 0, 0, 0 };
    struct buf raw = make_raw(100);
    LZ4F_preferences_t p = LZ4F_INIT_PREFERENCES;
    uint8_t frame[1000];
    size_t size;

    (void)state;
    assert_int_equal(read_quietly(SHEAF_CODEC_LZ4, legacy, sizeof(legacy)),
                     SHEAF_ERR_UNSUPPORTED);
    p.frameInfo.dictID = 7;
    size = LZ4F_compressFrame(frame, sizeof(frame), raw.data, raw.size, &p);
    assert_false(LZ4F_isError(size));
    assert_int_equal(read_quietly(SHEAF_CODEC_LZ4, frame, size), SHEAF_ERR_UNSUPPORTED);
    buf_free(&raw);
}

/* Tests the frames of other writers, with linked blocks and without sizes or checksums. */
static void foreign_lz4_frames_are_read(void **state)
{
    struct buf raw = make_raw(300000), got = BUF_INIT(SIZE_MAX);
    LZ4F_preferences_t p = LZ4F_INIT_PREFERENCES;
    const size_t room = LZ4F_compressFrameBound(raw.size, &p);
    uint8_t *frame = malloc(room);
    size_t size;

    (void)state;
    assert_non_null(frame);
    p.frameInfo.blockSizeID = LZ4F_max64KB;
    p.frameInfo.blockMode = LZ4F_blockLinked;
    size = LZ4F_compressFrame(frame, room, raw.data, raw.size, &p);
    assert_false(LZ4F_isError(size));
    assert_int_equal(read_stream(SHEAF_CODEC_LZ4, frame, size, 1000, 3333, &got, NULL), SHEAF_OK);
    assert_int_equal(got.size, raw.size);
    assert_memory_equal(got.data, raw.data, raw.size);
    free(frame);
    buf_free(&got);
    buf_free(&raw);
}

/* Makes a frame without its size in the header, as zstd does for data from a pipe. */
static struct buf zstd_foreign(const struct buf *raw, ZSTD_cParameter parameter, int value)
{
    struct buf frame = BUF_INIT(SIZE_MAX);
    ZSTD_CCtx *context = ZSTD_createCCtx();
    ZSTD_inBuffer in = { .src = raw->data, .size = raw->size };
    ZSTD_outBuffer out;

    assert_non_null(context);
    assert_int_equal(buf_reserve(&frame, ZSTD_compressBound(raw->size), NULL), SHEAF_OK);
    out = (ZSTD_outBuffer){ .dst = frame.data, .size = frame.capacity };
    assert_false(ZSTD_isError(ZSTD_CCtx_setParameter(context, parameter, value)));
    assert_int_equal(ZSTD_compressStream2(context, &out, &in, ZSTD_e_flush), 0);
    assert_int_equal(ZSTD_compressStream2(context, &out, &in, ZSTD_e_end), 0);
    ZSTD_freeCCtx(context);
    frame.size = out.pos;
    return frame;
}

static void foreign_zstd_frames_are_read_up_to_a_window_of_8_MiB(void **state)
{
    static const struct { ZSTD_cParameter parameter; int value, code; } ways[] = {
        { ZSTD_c_compressionLevel, 1, SHEAF_OK }, { ZSTD_c_compressionLevel, 19, SHEAF_OK },
        { ZSTD_c_windowLog, 23, SHEAF_OK }, { ZSTD_c_windowLog, 24, SHEAF_ERR_UNSUPPORTED },
    };
    struct buf raw = make_raw(300000);

    (void)state;
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        struct buf frame = zstd_foreign(&raw, ways[i].parameter, ways[i].value);
        struct buf got = BUF_INIT(SIZE_MAX);
        struct sheaf_error err = { 0 };

        assert_int_equal(read_stream(SHEAF_CODEC_ZSTD, frame.data, frame.size, 1000, 3333, &got,
                                     &err), ways[i].code);
        if (ways[i].code == SHEAF_OK) {
            assert_int_equal(got.size, raw.size);
            assert_memory_equal(got.data, raw.data, raw.size);
        } else {
            assert_non_null(strstr(err.message, "window"));
        }
        buf_free(&got);
        buf_free(&frame);
    }
    buf_free(&raw);
}

/* The header states dictionary 7 and a window of 1 KiB; one empty block follows. */
static void a_zstd_frame_that_needs_a_dictionary_is_refused(void **state)
{
    static const uint8_t frame[] = { 0x28, 0xb5, 0x2f, 0xfd, 0x01, 0x00, 7, 0x01, 0, 0 };

    (void)state;
    assert_int_equal(read_quietly(SHEAF_CODEC_ZSTD, frame, sizeof(frame)),
                     SHEAF_ERR_UNSUPPORTED);
}

static void there_is_no_stream_without_a_codec(void **state)
{
    struct codec_stream *stream;

    (void)state;
    assert_int_equal(codec_stream_open(SHEAF_CODEC_NONE, &stream, NULL), SHEAF_ERR_ARGUMENT);
    codec_stream_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_read_in_pieces_of_any_size),
        cmocka_unit_test(a_member_of_blocks_is_read),
        cmocka_unit_test(checksums_of_lz4_blocks_are_skipped_if_the_reader_says_so),
        cmocka_unit_test(every_prefix_is_truncated_unless_it_ends_with_a_member),
        cmocka_unit_test(every_flipped_bit_is_found_or_without_meaning),
        cmocka_unit_test(what_follows_the_last_member_is_an_error),
        cmocka_unit_test(members_before_damage_are_whole),
        cmocka_unit_test(zeros_behind_a_gzip_member_are_passed_over),
        cmocka_unit_test(skippable_frames_are_passed_over),
        cmocka_unit_test(a_foreign_gzip_header_is_read),
        cmocka_unit_test(frames_that_are_not_read_are_refused),
        cmocka_unit_test(foreign_lz4_frames_are_read),
        cmocka_unit_test(foreign_zstd_frames_are_read_up_to_a_window_of_8_MiB),
        cmocka_unit_test(a_zstd_frame_that_needs_a_dictionary_is_refused),
        cmocka_unit_test(there_is_no_stream_without_a_codec),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
