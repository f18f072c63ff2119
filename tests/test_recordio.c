/* SPDX-License-Identifier: MIT
 *
 * Tests RecordIO: bytes that a second implementation has made (in Python, from dmlc's source), the
 * magic number inside of records, MXNet's IRHeader, and the trailer of samples with several
 * fields. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "formats/format.h"
#include "tests/common_random.h"
#include "tests/common_sample.h"

#define MAGIC "\x0a\x23\xd7\xce"

/* IRHeader(0, 7.0, 42, 0), the five bytes ff d8 ff ! ! */
static const uint8_t scalar_record[] = {
    0x0a, 0x23, 0xd7, 0xce, 0x1d, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0xe0, 0x40, 0x2a, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0xff, 0xd8, 0xff, 0x21, 0x21, 0x00, 0x00, 0x00,
};

/* IRHeader(2, 0, 1, 0), labels 0.5 and 3, then MAGIC MAGIC "ab" MAGIC "cd" MAGIC "z". The magic
 * number between "ab" and "cd" is not at a multiple of 4, so it stays. */
static const uint8_t split_record[] = {
    0x0a, 0x23, 0xd7, 0xce, 0x20, 0x00, 0x00, 0x20, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x3f, 0x00, 0x00, 0x40, 0x40, 0x0a, 0x23,
    0xd7, 0xce, 0x00, 0x00, 0x00, 0x40, 0x0a, 0x23, 0xd7, 0xce, 0x08, 0x00, 0x00, 0x40,
    0x61, 0x62, 0x0a, 0x23, 0xd7, 0xce, 0x63, 0x64, 0x0a, 0x23, 0xd7, 0xce, 0x01, 0x00,
    0x00, 0x60, 0x7a, 0x00, 0x00, 0x00,
};

/* IRHeader(0, 0, 9, 1), jpg: ff d8 ff !, json: {"a":1}, and the trailer */
static const uint8_t two_fields_record[] = {
    0x0a, 0x23, 0xd7, 0xce, 0x52, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x09, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0xff, 0xd8, 0xff, 0x21, 0x7b, 0x22, 0x61, 0x22, 0x3a, 0x31,
    0x7d, 0x02, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03,
    0x00, 0x6a, 0x70, 0x67, 0x07, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x04, 0x00,
    0x6a, 0x73, 0x6f, 0x6e, 0x7b, 0x53, 0xb3, 0x43, 0x1f, 0x00, 0x00, 0x00, 0x73, 0x68,
    0x65, 0x61, 0x66, 0x72, 0x65, 0x63, 0x00, 0x00,
};

static const struct decode_context of_ours = { .stem = { "shard-000000", 12 }, .ours = true };
static const struct decode_context foreign = { .stem = { "shard-000000", 12 } };
static const struct encode_context no_classes = { 0 };

static int decode(const void *frame, size_t size, const char *line,
                  const struct decode_context *context, struct decode_scratch *scratch,
                  struct sheaf_sample *sample, struct sheaf_error *err)
{
    const struct record record = { .data = frame, .size = size, .name_line = line,
                                   .name_line_size = line == NULL ? 0 : strlen(line),
                                   .record = 3 };

    return recordio_ops.decode(&record, context, scratch, sample, err);
}

static void assert_encodes(const struct sheaf_sample *sample, const uint8_t *expected,
                           size_t size, const char *line, bool multipart)
{
    struct buf out = BUF_INIT(1 << 20), names = BUF_INIT(1 << 20);
    struct encoded encoded;

    assert_int_equal(recordio_ops.encode(sample, &no_classes, &out, &names, &encoded, NULL),
                     SHEAF_OK);
    assert_int_equal(out.size, size);
    assert_memory_equal(out.data, expected, size);
    assert_int_equal(names.size, strlen(line));
    assert_memory_equal(names.data, line, names.size);
    assert_int_equal(encoded.size, size);
    assert_int_equal(encoded.name_line_size, names.size);
    assert_int_equal(encoded.crc, crc32c(0, expected, size));
    assert_int_equal(encoded.multipart, multipart);
    buf_free(&out);
    buf_free(&names);
}

static void writes_golden_bytes(void **state)
{
    const struct sheaf_field image = { .name = "jpg", .suffix = "JPG", .data = "\xff\xd8\xff!!",
                                       .size = 5 };
    const struct sheaf_field magics = { .name = "data", .data = MAGIC MAGIC "ab" MAGIC "cd"
                                        MAGIC "z", .size = 21 };
    const struct sheaf_field two[] = {
        { .name = "json", .data = "{\"a\":1}", .size = 7 },
        { .name = "jpg", .data = "\xff\xd8\xff!", .size = 4 },
    };
    const double seven = 7, pair[] = { 0.5, 3 };
    struct sheaf_sample sample = { .key = "d/a", .fields = &image, .field_count = 1,
                                   .labels = &seven, .label_count = 1, .number = 42 };

    (void)state;
    assert_encodes(&sample, scalar_record, sizeof(scalar_record), "42\t7\td/a.JPG\n", false);
    sample = (struct sheaf_sample){ .key = "d/a b", .fields = &magics, .field_count = 1,
                                    .labels = pair, .label_count = 2, .number = 1 };
    assert_encodes(&sample, split_record, sizeof(split_record), "1\t0.5\t3\td/a b.data\n", true);
    sample = (struct sheaf_sample){ .key = "k", .fields = two, .field_count = 2, .number = 9 };
    assert_encodes(&sample, two_fields_record, sizeof(two_fields_record), "9\t0\tk.jpg\n", false);
}

static void reads_golden_bytes(void **state)
{
    struct decode_scratch scratch = { 0 };
    struct sheaf_sample sample;

    (void)state;
    assert_int_equal(decode(scalar_record, sizeof(scalar_record), "42\t7\td/a.JPG", &of_ours,
                            &scratch, &sample, NULL), SHEAF_OK);
    assert_string_equal(sample.key, "d/a");
    assert_int_equal(sample.field_count, 1);
    assert_string_equal(sample.fields[0].suffix, "JPG");
    assert_field(&sample, "jpg", "\xff\xd8\xff!!", 5);
    assert_ptr_equal(sample.fields[0].data, scalar_record + 32);    /* not copied */
    assert_int_equal(sample.label_count, 1);
    assert_true(sample.labels[0] == 7);

    assert_int_equal(decode(split_record, sizeof(split_record), "1\t0.5\t3\td/a b.data", &of_ours,
                            &scratch, &sample, NULL), SHEAF_OK);
    assert_field(&sample, "data", MAGIC MAGIC "ab" MAGIC "cd" MAGIC "z", 21);
    assert_int_equal(sample.label_count, 2);
    assert_true(sample.labels[0] == 0.5 && sample.labels[1] == 3);

    assert_int_equal(decode(two_fields_record, sizeof(two_fields_record), "9\t0\tk.jpg", &of_ours,
                            &scratch, &sample, NULL), SHEAF_OK);
    assert_string_equal(sample.key, "k");
    assert_int_equal(sample.label_count, 0);
    assert_field(&sample, "jpg", "\xff\xd8\xff!", 4);
    assert_field(&sample, "json", "{\"a\":1}", 7);
    decode_scratch_free(&scratch);
}

static void cuts_parts(void **state)
{
    uint8_t stream[sizeof(scalar_record) + sizeof(split_record)];
    struct frame_at frames[2];
    uint32_t crc;
    size_t i;

    (void)state;
    memcpy(stream, split_record, sizeof(split_record));
    memcpy(stream + sizeof(split_record), scalar_record, sizeof(scalar_record));
    assert_int_equal(cut_frames(&recordio_ops, stream, sizeof(stream), frames, 2, NULL), 2);
    assert_int_equal(frames[0].size, sizeof(split_record));
    assert_int_equal(frames[1].size, sizeof(scalar_record));
    assert_int_equal(recordio_ops.check(stream, frames[0].size, &crc, NULL), SHEAF_OK);
    /* A record of several parts that ends between two of them. */
    for (i = 40; i < sizeof(split_record); i++)
        assert_int_equal(cut_frames(&recordio_ops, stream, i, frames, 2, NULL),
                         SHEAF_ERR_TRUNCATED);
}

static void set_header(uint8_t *at, uint32_t cflag, uint32_t length)
{
    store32(at + 4, cflag << 29 | length);
}

static void refuses_parts_out_of_order(void **state)
{
    struct sheaf_error err;
    struct frame_at frame;
    uint8_t copy[sizeof(split_record)];
    uint32_t crc, cflag;

    (void)state;
    for (cflag = 0; cflag < 8; cflag++) {
        memcpy(copy, split_record, sizeof(copy));
        set_header(copy + 40, cflag, 0);        /* the second part, which has the flag 2 */
        assert_int_equal(cut_frames(&recordio_ops, copy, sizeof(copy), &frame, 1, NULL),
                         cflag == 2 ? 1 : SHEAF_ERR_CORRUPT);
        assert_int_equal(recordio_ops.check(copy, sizeof(copy), &crc, NULL),
                         cflag == 2 ? SHEAF_OK : SHEAF_ERR_CORRUPT);
        memcpy(copy, split_record, sizeof(copy));
        set_header(copy, cflag, 32);            /* the first, with flag 1 */
        assert_int_equal(cut_frames(&recordio_ops, copy, sizeof(copy), &frame, 1, &err),
                         cflag == 1 ? 1 : SHEAF_ERR_CORRUPT);
    }
    memcpy(copy, split_record, sizeof(copy));
    set_header(copy + 48, 2, 7);                /* only the last part may have an odd length */
    assert_int_equal(recordio_ops.check(copy, sizeof(copy), &crc, &err), SHEAF_ERR_CORRUPT);
    assert_non_null(strstr(err.message, "multiple of 4"));
}

static void finds_bad_magic_and_padding(void **state)
{
    struct sheaf_error err;
    struct frame_at frame;
    uint8_t copy[sizeof(scalar_record)];
    uint32_t crc;

    (void)state;
    memcpy(copy, scalar_record, sizeof(copy));
    copy[2] ^= 4;
    assert_int_equal(cut_frames(&recordio_ops, copy, sizeof(copy), &frame, 1, &err),
                     SHEAF_ERR_CORRUPT);
    assert_non_null(strstr(err.message, "ced3230a"));
    copy[2] ^= 4;
    copy[sizeof(copy) - 1] = 1;
    assert_int_equal(recordio_ops.check(copy, sizeof(copy), &crc, &err), SHEAF_ERR_CORRUPT);
    assert_non_null(strstr(err.message, "padding"));
    assert_int_equal(recordio_ops.check(scalar_record, sizeof(scalar_record) - 4, &crc, NULL),
                     SHEAF_ERR_CORRUPT);
}

static void resyncs_at_the_first_part_of_a_record(void **state)
{
    uint8_t stream[sizeof(split_record) + sizeof(scalar_record)];
    size_t skip;

    (void)state;
    memcpy(stream, split_record, sizeof(split_record));
    memcpy(stream + sizeof(split_record), scalar_record, sizeof(scalar_record));
    assert_true(recordio_ops.resync(stream, sizeof(stream), &skip));
    assert_int_equal(skip, sizeof(split_record));
    assert_true(recordio_ops.resync(stream + 4, sizeof(stream) - 4, &skip));
    assert_int_equal(skip, sizeof(split_record) - 4);
    assert_false(recordio_ops.resync(stream, 64, &skip));
    assert_int_equal(skip, 56);
    assert_false(recordio_ops.resync(stream, 3, &skip));
    assert_int_equal(skip, 0);
}

static void decode_foreign(const void *payload, size_t size, struct decode_scratch *scratch,
                           struct sheaf_sample *sample)
{
    static uint8_t frame[256];

    assert_true(size <= sizeof(frame) - 8);
    memcpy(frame, MAGIC, 4);
    set_header(frame, 0, (uint32_t)size);
    memcpy(frame + 8, payload, size);
    assert_int_equal(decode(frame, 8 + ((size + 3) & ~(size_t)3), NULL, &foreign, scratch, sample,
                            NULL), SHEAF_OK);
    assert_string_equal(sample->key, "shard-000000/00000003");
}

static void guesses_what_foreign_records_are(void **state)
{
    struct decode_scratch scratch = { 0 };
    struct sheaf_sample sample;

    (void)state;
    decode_foreign(scalar_record + 8, 29, &scratch, &sample);       /* IRHeader, JPEG */
    assert_field(&sample, "jpg", "\xff\xd8\xff!!", 5);
    assert_true(sample.label_count == 1 && sample.labels[0] == 7);
    decode_foreign("\xff\xd8\xff\xe0 a JPEG alone", 18, &scratch, &sample);
    assert_field(&sample, "jpg", "\xff\xd8\xff\xe0 a JPEG alone", 18);
    assert_int_equal(sample.label_count, 0);
    decode_foreign("neither header nor image, but text", 34, &scratch, &sample);
    assert_field(&sample, "data", "neither header nor image, but text", 34);
    decode_foreign("", 0, &scratch, &sample);
    assert_field(&sample, "data", "", 0);
    decode_foreign(two_fields_record + 8, 82, &scratch, &sample);   /* ours, without its .lst */
    assert_field(&sample, "jpg", "\xff\xd8\xff!", 4);
    assert_field(&sample, "json", "{\"a\":1}", 7);
    decode_scratch_free(&scratch);
}

static void refuses_lines_that_do_not_fit(void **state)
{
    static const char *const lines[] = {
        "", "42", "42\td/a.JPG", "43\t7\td/a.JPG", "\t7\td/a.JPG", "x42\t7\td/a.JPG", "42\t7\t",
        "42\t7\tREADME", "42 7 d/a.JPG", "42\t7\td/\xff.JPG",
        "340282366920938463463374607431768211498\t7\td/a.JPG",
    };
    struct decode_scratch scratch = { 0 };
    struct sheaf_sample sample;
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(lines); i++) {
        struct sheaf_error err;

        assert_int_equal(decode(scalar_record, sizeof(scalar_record), lines[i], &of_ours, &scratch,
                                &sample, &err), SHEAF_ERR_CORRUPT);
        assert_non_null(strstr(err.message, "42"));
    }
    assert_int_equal(decode(scalar_record, sizeof(scalar_record), NULL, &of_ours, &scratch,
                            &sample, NULL), SHEAF_ERR_CORRUPT);
    /* The trailer says that the first field is "jpg". */
    assert_int_equal(decode(two_fields_record, sizeof(two_fields_record), "9\t0\tk.png", &of_ours,
                            &scratch, &sample, NULL), SHEAF_ERR_CORRUPT);
    decode_scratch_free(&scratch);
}

static void finds_damage_in_trailers(void **state)
{
    const size_t table = 8 + 24 + 11, end = 8 + 82;
    struct decode_scratch scratch = { 0 };
    uint8_t copy[sizeof(two_fields_record)];
    struct sheaf_sample sample;
    size_t at;

    (void)state;
    for (at = table; at < end - 8; at++) {      /* everything up to the magic number at the end */
        memcpy(copy, two_fields_record, sizeof(copy));
        copy[at] ^= 0x10;
        assert_int_equal(decode(copy, sizeof(copy), "9\t0\tk.jpg", &of_ours, &scratch, &sample,
                                NULL), SHEAF_ERR_CORRUPT);
        assert_int_equal(decode(copy, sizeof(copy), NULL, &foreign, &scratch, &sample, NULL),
                         SHEAF_OK);
        assert_int_equal(sample.field_count, 1);
    }
    decode_scratch_free(&scratch);
}

static void assert_round_trip(const struct sheaf_sample *sample)
{
    struct buf out = BUF_INIT(1 << 20), names = BUF_INIT(1 << 20);
    struct decode_scratch scratch = { 0 };
    struct sheaf_sample back;
    struct encoded encoded;

    assert_int_equal(recordio_ops.encode(sample, &no_classes, &out, &names, &encoded, NULL),
                     SHEAF_OK);
    names.data[names.size - 1] = '\0';
    assert_int_equal(decode(out.data, out.size, (char *)names.data, &of_ours, &scratch, &back,
                            NULL), SHEAF_OK);
    assert_same_sample(sample, &back);
    decode_scratch_free(&scratch);
    buf_free(&out);
    buf_free(&names);
}

/* Tests a field whose content is a record's content with a trailer, or ends like one. */
static void is_never_ambiguous(void **state)
{
    const struct sheaf_field nested = { .name = "jpg", .data = two_fields_record + 32, .size = 58 };
    const struct sheaf_field bare = { .name = "jpg", .data = "sheafrec", .size = 8 };
    struct sheaf_sample sample = { .key = "k", .fields = &nested, .field_count = 1 };

    (void)state;
    assert_round_trip(&sample);
    sample.fields = &bare;
    assert_round_trip(&sample);
    sample.fields = NULL;
    sample.field_count = 0;
    assert_round_trip(&sample);
}

/* Tests content that is mostly the magic number, at any alignment. */
static void gives_back_the_magic_anywhere(void **state)
{
    uint8_t data[64];
    struct rng rng;
    int round;

    (void)state;
    random_start(&rng);
    for (round = 0; round < 5000; round++) {
        const struct sheaf_field field = { .name = "d", .data = data,
                                           .size = rng_below(&rng, sizeof(data) + 1) };
        const struct sheaf_sample sample = { .key = "k", .fields = &field, .field_count = 1 };
        size_t i, shift = rng_below(&rng, 4);

        for (i = 0; i < sizeof(data); i++)
            data[i] = (uint8_t)MAGIC[(i + shift) % 4];
        for (i = rng_below(&rng, 5); i > 0; i--)
            data[rng_below(&rng, sizeof(data))] ^= 1;
        assert_round_trip(&sample);
    }
}

static void refuses_labels_that_floats_cannot_hold(void **state)
{
    const double labels[] = { 1, 16777217 };
    const struct sheaf_sample sample = { .key = "k", .labels = labels, .label_count = 2 };
    struct buf out = BUF_INIT(1 << 20), names = BUF_INIT(1 << 20);
    struct encoded encoded;
    struct sheaf_error err;

    (void)state;
    assert_int_equal(recordio_ops.encode(&sample, &no_classes, &out, &names, &encoded, &err),
                     SHEAF_ERR_LIMIT);
    assert_non_null(strstr(err.message, "16777217"));
    assert_int_equal(out.size + names.size, 0);
    buf_free(&out);
    buf_free(&names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_golden_bytes),
        cmocka_unit_test(reads_golden_bytes),
        cmocka_unit_test(cuts_parts),
        cmocka_unit_test(refuses_parts_out_of_order),
        cmocka_unit_test(finds_bad_magic_and_padding),
        cmocka_unit_test(resyncs_at_the_first_part_of_a_record),
        cmocka_unit_test(guesses_what_foreign_records_are),
        cmocka_unit_test(refuses_lines_that_do_not_fit),
        cmocka_unit_test(finds_damage_in_trailers),
        cmocka_unit_test(is_never_ambiguous),
        cmocka_unit_test(gives_back_the_magic_anywhere),
        cmocka_unit_test(refuses_labels_that_floats_cannot_hold),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
