/* SPDX-License-Identifier: MIT
 *
 * Tests the framing of TFRecords: known bytes, and that the two CRCs find all damage. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "formats/format.h"
#include "tests/common_random.h"
#include "tests/common_sample.h"

/* The payload "hello" in a frame, whose CRCs a bitwise CRC-32C in Python has computed. */
static const uint8_t hello[] = {
    0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xea, 0xb2, 0x04, 0x3e,
    0x68, 0x65, 0x6c, 0x6c, 0x6f, 0xbb, 0x1f, 0x1c, 0x19,
};

static const struct decode_context foreign = { .stem = { "train", 5 } };

static void reads_golden_bytes(void **state)
{
    const struct record record = { .data = hello, .size = sizeof(hello), .number = 5, .shard = 1,
                                   .record = 7 };
    struct decode_scratch scratch = { 0 };
    struct sheaf_sample sample;
    struct frame_at frame;
    uint32_t crc;

    (void)state;
    assert_int_equal(cut_frames(&tfrecord_ops, hello, sizeof(hello), &frame, 1, NULL), 1);
    assert_int_equal(frame.size, sizeof(hello));
    assert_int_equal(tfrecord_ops.check(hello, sizeof(hello), &crc, NULL), SHEAF_OK);
    assert_int_equal(crc, crc32c(0, "hello", 5));
    assert_int_equal(tfrecord_ops.decode(&record, &foreign, &scratch, &sample, NULL), SHEAF_OK);
    assert_string_equal(sample.key, "train/00000007");
    assert_int_equal(sample.field_count, 1);
    assert_field(&sample, "data", "hello", 5);
    assert_int_equal(sample.number, 5);
    assert_int_equal(sample.shard, 1);
    decode_scratch_free(&scratch);
}

/* Compares made-up keys with the result of "%08" PRIu64. */
static void makes_keys_up(void **state)
{
    static const uint64_t numbers[] = { 0, 9, 10, 99, 100, 101, 9999, 10000, 10203040, 12345678,
                                        98765432, 99999999, 100000000, 99999999999, UINT64_MAX };
    struct decode_scratch scratch = { 0 };
    struct sheaf_sample sample;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        const struct record record = { .data = hello, .size = sizeof(hello),
                                       .record = numbers[i] };
        char key[40];

        snprintf(key, sizeof(key), "train/%08" PRIu64, numbers[i]);
        assert_int_equal(tfrecord_ops.decode(&record, &foreign, &scratch, &sample, NULL),
                         SHEAF_OK);
        assert_string_equal(sample.key, key);
        assert_int_equal(sample.record, numbers[i]);
    }
    decode_scratch_free(&scratch);
}

static void needs_a_whole_header(void **state)
{
    struct format_scan scan;
    struct part part;
    size_t size;

    (void)state;
    format_scan_reset(&scan);
    for (size = 1; size < 12; size++) {
        assert_int_equal(tfrecord_ops.part(&scan, hello, size, false, &part, NULL), SHEAF_OK);
        assert_int_equal(part.kind, PART_MORE);
        assert_int_equal(part.need, 12);
        assert_int_equal(tfrecord_ops.part(&scan, hello, size, true, &part, NULL),
                         SHEAF_ERR_TRUNCATED);
    }
    assert_int_equal(tfrecord_ops.part(&scan, hello, 12, false, &part, NULL), SHEAF_OK);
    assert_int_equal(part.kind, PART_START);
    assert_int_equal(part.size, sizeof(hello));
    format_scan_free(&scan);
}

static void finds_every_flipped_bit(void **state)
{
    uint8_t copy[sizeof(hello)];
    struct format_scan scan;
    struct part part;
    uint32_t crc;
    size_t bit;

    (void)state;
    format_scan_reset(&scan);
    for (bit = 0; bit < 8 * sizeof(hello); bit++) {
        struct sheaf_error err;

        memcpy(copy, hello, sizeof(hello));
        copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_equal(tfrecord_ops.check(copy, sizeof(copy), &crc, &err), SHEAF_ERR_CORRUPT);
        assert_non_null(strstr(err.message, "CRC"));
        if (bit < 96)   /* the length is not trusted before its CRC was verified */
            assert_int_equal(tfrecord_ops.part(&scan, copy, 12, false, &part, NULL),
                             SHEAF_ERR_CORRUPT);
    }
    format_scan_free(&scan);
}

static void finds_a_wrong_size(void **state)
{
    uint8_t longer[sizeof(hello) + 1] = { 0 };
    uint32_t crc;
    size_t size;

    (void)state;
    memcpy(longer, hello, sizeof(hello));
    for (size = 0; size <= sizeof(longer); size++) {
        const int expected = size == sizeof(hello) ? SHEAF_OK : SHEAF_ERR_CORRUPT;

        assert_int_equal(tfrecord_ops.check(longer, size, &crc, NULL), expected);
    }
}

/* A length of 2^63 must be refused even if its CRC is right. */
static void refuses_a_length_past_the_limit(void **state)
{
    uint8_t header[12];
    struct format_scan scan;
    struct part part;

    (void)state;
    format_scan_reset(&scan);
    store64(header, UINT64_MAX / 2);
    store32(header + 8, crc32c_mask(crc32c(0, header, 8)));
    assert_int_equal(tfrecord_ops.part(&scan, header, 12, false, &part, NULL), SHEAF_ERR_LIMIT);
    store64(header, FRAME_LIMIT - 16);
    store32(header + 8, crc32c_mask(crc32c(0, header, 8)));
    assert_int_equal(tfrecord_ops.part(&scan, header, 12, false, &part, NULL), SHEAF_OK);
    assert_true(part.size == FRAME_LIMIT);
    format_scan_free(&scan);
}

static void resyncs_at_the_next_header(void **state)
{
    uint8_t stream[200 + 2 * sizeof(hello)];
    struct rng rng;
    size_t skip;

    (void)state;
    random_start(&rng);
    random_bytes(&rng, stream, 200);
    memcpy(stream, hello, 8);                   /* damaged: its CRC is random */
    memcpy(stream + 200, hello, sizeof(hello));
    memcpy(stream + 200 + sizeof(hello), hello, sizeof(hello));
    assert_true(tfrecord_ops.resync(stream, sizeof(stream), &skip));
    assert_int_equal(skip, 200);
    assert_true(tfrecord_ops.resync(stream + 200, sizeof(stream) - 200, &skip));
    assert_int_equal(skip, sizeof(hello));
    /* The search continues at or before the place where a header may begin. */
    assert_false(tfrecord_ops.resync(stream, 200 + 11, &skip));
    assert_true(skip < 200);
    assert_true(tfrecord_ops.resync(stream + skip, sizeof(stream) - skip, &skip));
    assert_false(tfrecord_ops.resync(stream, 5, &skip));
    assert_int_equal(skip, 0);
    assert_false(tfrecord_ops.resync(stream, 0, &skip));
    assert_int_equal(skip, 0);
}

static void decodes_only_whole_frames(void **state)
{
    struct decode_scratch scratch = { 0 };
    struct sheaf_sample sample;
    size_t size;

    (void)state;
    for (size = 0; size < sizeof(hello); size++) {
        const struct record record = { .data = hello, .size = size };

        assert_int_equal(tfrecord_ops.decode(&record, &foreign, &scratch, &sample, NULL),
                         SHEAF_ERR_CORRUPT);
    }
    decode_scratch_free(&scratch);
}

static void bids_by_what_it_verified(void **state)
{
    uint8_t damaged[sizeof(hello)];

    (void)state;
    memcpy(damaged, hello, sizeof(hello));
    damaged[12] ^= 1;
    assert_int_equal(tfrecord_ops.bid(hello, sizeof(hello)), 64);
    assert_int_equal(tfrecord_ops.bid(damaged, sizeof(hello)), 32);
    assert_int_equal(tfrecord_ops.bid(hello, 12), 32);
    assert_int_equal(tfrecord_ops.bid(hello, 11), 0);
    damaged[0] ^= 1;
    assert_int_equal(tfrecord_ops.bid(damaged, sizeof(hello)), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_golden_bytes),
        cmocka_unit_test(makes_keys_up),
        cmocka_unit_test(needs_a_whole_header),
        cmocka_unit_test(finds_every_flipped_bit),
        cmocka_unit_test(finds_a_wrong_size),
        cmocka_unit_test(refuses_a_length_past_the_limit),
        cmocka_unit_test(resyncs_at_the_next_header),
        cmocka_unit_test(decodes_only_whole_frames),
        cmocka_unit_test(bids_by_what_it_verified),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
