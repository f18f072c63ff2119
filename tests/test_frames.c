/* SPDX-License-Identifier: MIT
 *
 * Tests the sequential frame reader and the header scan on damaged shards. The frames that they
 * return must be right, and they must report everything else as damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "reader/dataset/frames.h"
#include "reader/dataset/scan.h"
#include "tests/common_shards.h"

static const uint64_t counts[] = { 5, 0 };
static const struct format_ops *const containers[] = { &tfrecord_ops, &recordio_ops,
                                                       &webdataset_ops };

struct memory {
    const uint8_t *data;
    size_t size, used, step;
};

static int read_memory(void *context, void *data, size_t size, size_t *got,
                       struct sheaf_error *err)
{
    struct memory *m = context;

    (void)err;
    *got = MIN(MIN(size, m->step), m->size - m->used);
    memcpy(data, m->data + m->used, *got);
    m->used += *got;
    return SHEAF_OK;
}

struct outcome {
    uint64_t numbers[16], offsets[16];
    size_t count;
    unsigned errors;
};

/* Decodes a frame. Returns the sample's number if every byte is that of a sample of the set. */
static uint64_t number_of(const struct format_ops *format, const uint8_t *data, size_t size)
{
    const struct record record = { .data = data, .size = size };
    const struct decode_context context = { .stem = { "s", 1 } };
    struct decode_scratch scratch = { 0 };
    struct sheaf_sample sample;
    struct sheaf_error error;
    uint64_t number;

    assert_int_equal(format->decode(&record, &context, &scratch, &sample, &error), SHEAF_OK);
    number = shards_number(&sample);
    decode_scratch_free(&scratch);
    return number;
}

static void run_frames(const struct format_ops *format, const uint8_t *data, size_t size,
                       size_t step, struct outcome *out)
{
    struct memory memory = { .data = data, .size = size, .step = step };
    struct frames frames;
    struct sheaf_error error;

    memset(out, 0, sizeof(*out));
    assert_int_equal(frames_open(&frames, format, SHEAF_CODEC_NONE, read_memory, &memory, 1 << 20,
                                 &error), SHEAF_OK);
    for (;;) {
        struct frame frame;
        int code = frames_next(&frames, &frame, &error);

        if (code == SHEAF_END)
            break;
        if (code == SHEAF_OK) {
            assert_true(out->count < COUNT_OF(out->numbers));
            assert_memory_equal(frame.data, data + frame.offset, frame.size);
            out->offsets[out->count] = frame.offset;
            out->numbers[out->count++] = number_of(format, frame.data, frame.size);
            continue;
        }
        assert_true(code == SHEAF_ERR_CORRUPT || code == SHEAF_ERR_TRUNCATED);
        assert_non_null(strstr(error.message, "offset "));
        assert_true(++out->errors < 100);
    }
    frames_close(&frames);
}

static void run_scan(const struct format_ops *format, const char *path, const uint8_t *data,
                     size_t size, struct outcome *out)
{
    struct store_object *object;
    struct index_section *section;
    struct header_scan scan;
    struct sheaf_error error;
    int code;

    memset(out, 0, sizeof(*out));
    file_write(path, data, size);
    assert_int_equal(store_open(path, &object, &error), SHEAF_OK);
    scan_open(&scan, format, object);
    while ((code = scan_run(&scan, &error)) != SHEAF_END) {
        assert_true(code == SHEAF_ERR_CORRUPT || code == SHEAF_ERR_TRUNCATED);
        assert_true(++out->errors < 100);
    }
    assert_int_equal(scan_section(&scan, &section, &error), SHEAF_OK);
    for (uint64_t i = 0; i < section->samples; i++) {
        out->offsets[out->count] = section->offsets[i];
        out->numbers[out->count++] = number_of(format, data + section->offsets[i],
                                               index_frame_bytes(section, i));
    }
    index_section_free(section);
    scan_close(&scan);
    store_close(object);
}

/* Returns the bytes of a shard, and writes a path for a temporary copy to `path`. */
static uint8_t *shard_bytes(const struct format_ops *format, size_t *size, char *path)
{
    struct shard_set set;
    uint8_t *data;

    shards_make(&set, format, counts);
    data = file_read(set.paths[0], size);
    shards_remove(&set);
    snprintf(path, 64, "/tmp/sheaf-frames-%d", (int)getpid());
    return data;
}

static void whole_shards_are_read_whatever_the_pieces(void **state)
{
    (void)state;
    for (size_t f = 0; f < COUNT_OF(containers); f++) {
        char path[64];
        size_t size;
        uint8_t *data = shard_bytes(containers[f], &size, path);
        struct outcome out;

        for (size_t step = 1; step < 10000; step = step * 3 + 1) {
            run_frames(containers[f], data, size, step, &out);
            assert_int_equal(out.errors, 0);
            assert_int_equal(out.count, 5);
        }
        run_scan(containers[f], path, data, size, &out);
        assert_int_equal(out.errors, 0);
        assert_int_equal(out.count, 5);
        unlink(path);
        free(data);
    }
}

/* Returns whether QUICK leaves out case number `number`. QUICK keeps every third case, because each
 * case takes large pieces of memory, which is slow under a sanitizer. */
static bool quick_omits(size_t number)
{
    return getenv("QUICK") != NULL && number % 3 != 0;
}

static bool is_offset(const struct outcome *out, size_t length)
{
    size_t i = 0;

    while (i < out->count && out->offsets[i] != length)
        i++;
    return i < out->count;
}

/* Reads every prefix of a shard. The result must be the samples 0, 1, ..., k - 1. There must be an
 * error, unless the prefix ends between two records and the container has no end mark. */
static void every_prefix_is_found_out(void **state)
{
    (void)state;
    for (size_t f = 0; f < COUNT_OF(containers); f++) {
        char path[64];
        size_t size, silent = 0;
        uint8_t *data = shard_bytes(containers[f], &size, path);
        struct outcome whole, a, b;

        run_frames(containers[f], data, size, 1 << 20, &whole);
        for (size_t length = 0; length < size; length++) {
            if (quick_omits(length) && !is_offset(&whole, length))
                continue;
            run_frames(containers[f], data, length, 1 << 20, &a);
            for (size_t i = 0; i < a.count; i++)
                assert_int_equal(a.numbers[i], i);
            if (length % 7 == 0 || length > size - 1100) {
                run_scan(containers[f], path, data, length, &b);
                assert_int_equal(b.count, a.count);
                assert_int_equal(b.errors != 0, a.errors != 0);
            }
            silent += a.errors == 0;
            assert_true(a.errors != 0 || containers[f] != &webdataset_ops);
        }
        assert_int_equal(silent, containers[f] == &webdataset_ops ? 0 : 5);
        unlink(path);
        free(data);
    }
}

/* Flips each byte of a TFRecord file. At most the record with this byte may be lost; if the byte is
 * part of a length, the search may also skip the next record. No sample may be wrong. */
static void every_flipped_byte_of_tfrecord_is_found(void **state)
{
    char path[64];
    size_t size;
    uint8_t *data = shard_bytes(&tfrecord_ops, &size, path);

    (void)state;
    for (size_t i = 0; i < size; i++) {
        struct outcome out;

        if (quick_omits(i))
            continue;
        data[i] ^= (uint8_t)(1 + i % 255);
        run_frames(&tfrecord_ops, data, size, 1 << 20, &out);
        data[i] ^= (uint8_t)(1 + i % 255);
        assert_true(out.errors >= 1);
        assert_true(out.count == 4);
    }
    free(data);
}

/* Damages the header of one record after another. The scan and the reader of frames find the same
 * samples and report the same number of errors, however many bytes are read at a time. */
static void damaged_headers_cost_the_same_however_bytes_arrive(void **state)
{
    (void)state;
    for (size_t f = 0; f < COUNT_OF(containers); f++) {
        char path[64];
        size_t size;
        uint8_t *data = shard_bytes(containers[f], &size, path);
        struct outcome all, once, out;

        run_frames(containers[f], data, size, 1 << 20, &all);
        for (size_t k = 0; k < all.count; k++) {
            data[all.offsets[k] + 1] ^= 0x40;
            run_frames(containers[f], data, size, 1 << 20, &once);
            assert_true(once.errors != 0 && once.count < 5 && once.count >= 2);
            for (size_t step = 1; step < 10000; step = step * 3 + 1) {
                run_frames(containers[f], data, size, step, &out);
                assert_memory_equal(&out, &once, sizeof(out));
            }
            run_scan(containers[f], path, data, size, &out);
            assert_memory_equal(&out, &once, sizeof(out));
            data[all.offsets[k] + 1] ^= 0x40;
        }
        unlink(path);
        free(data);
    }
}

/* After damage, the first header is found wherever it lies in the bytes that are read at a time. */
static void headers_are_found_at_the_ends_of_windows(void **state)
{
    static const size_t windows[] = { 4 << 10, 256 << 10, 260 << 10, 512 << 10 };
    static const size_t steps[] = { 1, 4, 512 };        /* of the offsets of records */

    (void)state;
    for (size_t f = 0; f < COUNT_OF(containers); f++) {
        char path[64];
        size_t size;
        uint8_t *data = shard_bytes(containers[f], &size, path);
        const bool is_tar = containers[f] == &webdataset_ops;

        for (size_t w = 0; w < COUNT_OF(windows); w++)
            for (size_t k = 0; k < (is_tar ? 8 : 15); k++) {
                const size_t at = windows[w] + steps[f] - k * steps[f];
                uint8_t *bytes = calloc(1, at + size);
                struct outcome out;

                memset(bytes, 0xff, 16);
                memset(bytes + 16, 0x20, at - 16);
                memcpy(bytes + at, data, size);
                run_frames(containers[f], bytes, at + size, 1 << 20, &out);
                assert_int_equal(out.count, is_tar ? 4 : 5);
                assert_int_equal(out.errors, is_tar ? 2 : 1);
                run_scan(containers[f], path, bytes, at + size, &out);
                assert_int_equal(out.count, is_tar ? 4 : 5);
                assert_int_equal(out.errors, is_tar ? 2 : 1);
                free(bytes);
            }
        unlink(path);
        free(data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_shards_are_read_whatever_the_pieces),
        cmocka_unit_test(every_prefix_is_found_out),
        cmocka_unit_test(every_flipped_byte_of_tfrecord_is_found),
        cmocka_unit_test(damaged_headers_cost_the_same_however_bytes_arrive),
        cmocka_unit_test(headers_are_found_at_the_ends_of_windows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
