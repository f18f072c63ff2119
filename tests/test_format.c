/* SPDX-License-Identifier: MIT
 *
 * Tests properties that all containers share: round trips, every prefix, every flipped byte,
 * failures that leave buffers unchanged, detection, and the public encoder. */
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

#define SAMPLES 40

static const struct format_ops *const all_formats[] = { &tfrecord_ops, &recordio_ops,
                                                        &webdataset_ops };
static const struct encode_context no_classes = { 0 };
static const struct decode_context of_ours = { .stem = { "shard-000000", 12 }, .ours = true };
static const struct decode_context foreign = { .stem = { "shard-000000", 12 } };

/* A shard that consists of random samples. */
struct shard {
    struct buf bytes, names;
    struct test_sample samples[SAMPLES];
    struct encoded encoded[SAMPLES];
    struct frame_at frames[SAMPLES];
};

static void make_shard(const struct format_ops *format, struct rng *rng, size_t count,
                       struct shard *shard)
{
    struct sheaf_error err = { 0 };
    size_t i;

    shard->bytes = shard->names = (struct buf)BUF_INIT(1 << 24);
    for (i = 0; i < count; i++) {
        random_sample(rng, i, &shard->samples[i]);
        if (format->encode(&shard->samples[i].sample, &no_classes, &shard->bytes, &shard->names,
                           &shard->encoded[i], &err) != SHEAF_OK)
            fail_msg("%s", err.message);
    }
    assert_int_equal(format->finish(&shard->bytes, NULL), SHEAF_OK);
}

static void free_shard(struct shard *shard)
{
    buf_free(&shard->bytes);
    buf_free(&shard->names);
}

/* Decodes sample i of a shard in memory of exactly its size. */
static int decode_one(const struct format_ops *format, const struct shard *shard, size_t i,
                      const char *line, struct decode_scratch *scratch,
                      struct sheaf_sample *sample, struct sheaf_error *err)
{
    const struct record record = {
        .data = shard->bytes.data + shard->frames[i].offset, .size = shard->frames[i].size,
        .name_line = format->has_names ? line : NULL,
        .name_line_size = format->has_names ? shard->encoded[i].name_line_size - 1 : 0,
        .number = i, .record = i,
    };

    return format->decode(&record, &of_ours, scratch, sample, err);
}

static void round_trip(const struct format_ops *format, struct rng *rng)
{
    static struct shard shard;
    struct decode_scratch scratch = { 0 };
    struct sheaf_error err = { 0 };
    const char *line;
    size_t i;

    make_shard(format, rng, SAMPLES, &shard);
    line = (const char *)shard.names.data;
    assert_int_equal(cut_frames(format, shard.bytes.data, shard.bytes.size, shard.frames, SAMPLES,
                                &err), SAMPLES);
    for (i = 0; i < SAMPLES; i++) {
        struct sheaf_sample sample;
        uint32_t crc;

        assert_int_equal(shard.frames[i].size, shard.encoded[i].size);
        assert_int_equal(format->check(shard.bytes.data + shard.frames[i].offset,
                                       shard.frames[i].size, &crc, &err), SHEAF_OK);
        assert_int_equal(crc, shard.encoded[i].crc);
        if (decode_one(format, &shard, i, line, &scratch, &sample, &err) != SHEAF_OK)
            fail_msg("%s", err.message);
        assert_same_sample(&shard.samples[i].sample, &sample);
        assert_int_equal(sample.number, i);
        line += shard.encoded[i].name_line_size;
    }
    assert_true(format->has_names || shard.names.size == 0);
    decode_scratch_free(&scratch);
    free_shard(&shard);
}

/* Puts the content of one field directly into the output buffer, at the position that content_at
 * returns. The frame must be the same as if the content had been copied. */
static void encode_in_place(const struct format_ops *format, const struct test_sample *from,
                            size_t field, struct sheaf_error *err)
{
    struct buf copied = BUF_INIT(1 << 20), placed = BUF_INIT(1 << 20), names = BUF_INIT(1 << 20);
    struct sheaf_field fields[TEST_FIELDS];
    struct sheaf_sample sample = from->sample;
    struct encoded a, b;
    size_t at, size;

    assert_int_equal(buf_append(&copied, "before", 6, err), SHEAF_OK);
    assert_int_equal(buf_append(&placed, "before", 6, err), SHEAF_OK);
    assert_int_equal(format->encode(&sample, &no_classes, &copied, &names, &a, err), SHEAF_OK);
    memcpy(fields, sample.fields, sample.field_count * sizeof(fields[0]));
    sample.fields = fields;
    at = format->content_at(&sample, &no_classes, &fields[field]);
    size = fields[field].size;
    assert_true(at <= a.size && size <= a.size - at);
    if (!a.multipart && size != 0)
        assert_memory_equal(copied.data + 6 + at, fields[field].data, size);
    assert_int_equal(buf_reserve(&placed, 2 * a.size + 4096, err), SHEAF_OK);
    memset(placed.data + placed.size, 0xee, placed.capacity - placed.size);
    if (size != 0)
        memcpy(placed.data + placed.size + at, fields[field].data, size);
    fields[field].data = placed.data + placed.size + at;
    assert_int_equal(format->encode(&sample, &no_classes, &placed, &names, &b, err), SHEAF_OK);
    assert_int_equal(placed.size, copied.size);
    assert_memory_equal(placed.data, copied.data, copied.size);
    assert_int_equal(a.crc, b.crc);
    buf_free(&copied);
    buf_free(&placed);
    buf_free(&names);
}

static void content_in_its_place_is_not_copied(void **state)
{
    static struct test_sample sample;
    static char long_key[300];      /* longer than the name in a tar header */
    struct sheaf_error err = { 0 };
    struct rng rng;

    (void)state;
    random_start(&rng);
    memset(long_key, 'k', sizeof(long_key) - 1);
    for (size_t i = 0; i < COUNT_OF(all_formats); i++)
        for (size_t round = 0; round < 300; round++) {
            random_sample(&rng, round, &sample);
            if (round % 4 == 0)
                sample.sample.key = long_key;
            for (size_t field = 0; field < sample.sample.field_count; field++)
                encode_in_place(all_formats[i], &sample, field, &err);
        }
}

/* Tests content_at for content that was not read yet. It assumes an image of usual size. */
static void place_is_known_before_the_content(void **state)
{
    static const uint8_t jpeg[] = { 0xff, 0xd8, 0xff, 0xc0, 0, 11, 8, 1, 0x90, 1, 0xf4, 1, 1,
                                    0x11, 0, 0xff, 0xd9 };
    const double label = 7;
    struct sheaf_field fields[] = { { "jpg", NULL, NULL, sizeof(jpeg) },
                                    { "txt", NULL, NULL, 3 } };
    const struct sheaf_sample sample = { .key = "a/b", .fields = fields, .field_count = 2,
                                         .labels = &label, .label_count = 1 };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(all_formats); i++)
        for (size_t k = 0; k < COUNT_OF(fields); k++) {
            size_t before;

            fields[0].data = fields[1].data = NULL;
            before = all_formats[i]->content_at(&sample, &no_classes, &fields[k]);
            fields[0].data = jpeg;
            fields[1].data = "txt";
            assert_int_equal(all_formats[i]->content_at(&sample, &no_classes, &fields[k]),
                             before);
        }
}

static void gives_back_random_samples(void **state)
{
    struct rng rng;
    size_t i, round;

    (void)state;
    random_start(&rng);
    for (i = 0; i < COUNT_OF(all_formats); i++) {
        for (round = 0; round < 20; round++)
            round_trip(all_formats[i], &rng);
    }
}

static void is_deterministic(void **state)
{
    static struct shard first, second;
    struct rng rng, again;
    size_t i;

    (void)state;
    random_start(&rng);
    for (i = 0; i < COUNT_OF(all_formats); i++) {
        again = rng;
        make_shard(all_formats[i], &rng, 5, &first);
        make_shard(all_formats[i], &again, 5, &second);
        assert_int_equal(first.bytes.size, second.bytes.size);
        assert_memory_equal(first.bytes.data, second.bytes.data, first.bytes.size);
        free_shard(&first);
        free_shard(&second);
    }
}

/* Returns whether a stream may end at `size`. In a container without an end mark, this is so
 * between two records. */
static bool may_end_at(const struct format_ops *format, const struct shard *shard, size_t count,
                       size_t size)
{
    size_t i;

    if (format->id == SHEAF_WEBDATASET)
        return size == shard->bytes.size;
    for (i = 0; i < count; i++) {
        if (shard->frames[i].offset == size)
            return true;
    }
    return size == shard->bytes.size;
}

static void finds_every_truncation(void **state)
{
    static struct shard shard;
    struct frame_at frames[3];
    struct rng rng;
    size_t i, size;

    (void)state;
    random_start(&rng);
    for (i = 0; i < COUNT_OF(all_formats); i++) {
        make_shard(all_formats[i], &rng, 3, &shard);
        assert_int_equal(cut_frames(all_formats[i], shard.bytes.data, shard.bytes.size,
                                    shard.frames, 3, NULL), 3);
        for (size = 1; size <= shard.bytes.size; size++) {
            const long found = cut_frames(all_formats[i], shard.bytes.data, size, frames, 3, NULL);

            if (may_end_at(all_formats[i], &shard, 3, size))
                assert_true(found >= 0);
            else
                assert_int_equal(found, SHEAF_ERR_TRUNCATED);
        }
        free_shard(&shard);
    }
}

/* Tests that part() needs no more bytes than it asks for, if a reader moves from header to
 * header. */
static void hops_with_what_it_asks_for(void **state)
{
    static struct shard shard;
    struct rng rng;
    size_t i;

    (void)state;
    random_start(&rng);
    for (i = 0; i < COUNT_OF(all_formats); i++) {
        const struct format_ops *format = all_formats[i];
        struct format_scan scan;
        size_t at = 0, count = 0;

        make_shard(format, &rng, SAMPLES, &shard);
        format_scan_reset(&scan);
        while (at < shard.bytes.size) {
            struct part part = { .kind = PART_MORE, .need = 1 };
            size_t asked = 0;

            while (part.kind == PART_MORE) {
                assert_true(part.need > asked && at + part.need <= shard.bytes.size);
                asked = part.need;
                assert_int_equal(format->part(&scan, shard.bytes.data + at, asked, false, &part,
                                              NULL), SHEAF_OK);
            }
            assert_true(asked <= 1024);
            count += part.kind == PART_START;
            at += part.size;
        }
        assert_int_equal(count, SAMPLES);
        assert_int_equal(format->end(&scan, NULL), SHEAF_OK);
        format_scan_free(&scan);
        free_shard(&shard);
    }
}

/* Flips a byte of a frame, in memory of exactly its size. The frame must be refused or have another
 * CRC, and decoding must read only this memory. */
static void flip_byte(const struct format_ops *format, const uint8_t *frame, size_t size,
                      uint32_t good, size_t at, uint8_t by)
{
    struct decode_scratch scratch = { 0 };
    struct sheaf_sample sample;
    uint8_t *copy = malloc(size);
    struct record record = { .data = copy, .size = size };
    uint32_t crc = good;

    assert_non_null(copy);
    memcpy(copy, frame, size);
    copy[at] ^= by;
    if (format->check(copy, size, &crc, NULL) == SHEAF_OK)
        assert_int_not_equal(crc, good);
    (void)!format->decode(&record, &foreign, &scratch, &sample, NULL);
    decode_scratch_free(&scratch);
    free(copy);
}

static void finds_every_flipped_byte(void **state)
{
    static struct shard shard;
    struct rng rng;
    size_t i, at;

    (void)state;
    random_start(&rng);
    for (i = 0; i < COUNT_OF(all_formats); i++) {
        make_shard(all_formats[i], &rng, 1, &shard);
        for (at = 0; at < shard.encoded[0].size; at++) {
            flip_byte(all_formats[i], shard.bytes.data, shard.encoded[0].size,
                      shard.encoded[0].crc, at, 0xff);
            flip_byte(all_formats[i], shard.bytes.data, shard.encoded[0].size,
                      shard.encoded[0].crc, at, (uint8_t)(1 << rng_below(&rng, 8)));
        }
        free_shard(&shard);
    }
}

/* Encodes into buffers with less and less room. Each failure must leave the buffers unchanged. */
static void failures_leave_no_trace(void **state)
{
    struct test_sample sample;
    struct rng rng;
    size_t i, limit;

    (void)state;
    random_start(&rng);
    random_sample(&rng, 1, &sample);
    for (i = 0; i < COUNT_OF(all_formats); i++) {
        bool fitted = false;

        for (limit = 3; !fitted; limit += 97) {
            struct buf out = BUF_INIT(limit), names = BUF_INIT(limit);
            struct encoded encoded;
            int code;

            assert_int_equal(buf_append(&out, "abc", 3, NULL), SHEAF_OK);
            assert_int_equal(buf_append(&names, "de", 2, NULL), SHEAF_OK);
            code = all_formats[i]->encode(&sample.sample, &no_classes, &out, &names, &encoded,
                                          NULL);
            fitted = code == SHEAF_OK;
            if (!fitted) {
                assert_int_equal(code, SHEAF_ERR_LIMIT);
                assert_int_equal(out.size, 3);
                assert_int_equal(names.size, 2);
            }
            assert_memory_equal(out.data, "abc", 3);
            assert_memory_equal(names.data, "de", 2);
            buf_free(&out);
            buf_free(&names);
        }
    }
}

static void assert_refused(struct sheaf_field *fields, size_t count, const char *key,
                           const double *labels, size_t label_count, const char *about)
{
    const struct sheaf_sample sample = { .key = key, .fields = fields, .field_count = count,
                                         .labels = labels, .label_count = label_count };
    size_t i;

    for (i = 0; i < COUNT_OF(all_formats); i++) {
        struct buf out = BUF_INIT(1 << 20), names = BUF_INIT(1 << 20);
        struct encoded encoded;
        struct sheaf_error err;

        assert_int_equal(all_formats[i]->encode(&sample, &no_classes, &out, &names, &encoded,
                                                &err), SHEAF_ERR_ARGUMENT);
        if (strstr(err.message, about) == NULL)
            fail_msg("\"%s\" found where \"%s\" is expected", err.message, about);
        assert_int_equal(out.size, 0);
        assert_int_equal(names.size, 0);
        buf_free(&out);
        buf_free(&names);
    }
}

static void refuses_samples_against_the_rules(void **state)
{
    struct sheaf_field good = { .name = "jpg", .data = "x", .size = 1 };
    struct sheaf_field twins[] = { { .name = "txt", .suffix = "TXT" }, { .name = "txt" } };
    struct sheaf_field misnamed = { .name = "jpg", .suffix = "jpeg" };
    struct sheaf_field upper = { .name = "JPG" };
    struct sheaf_field slashed = { .name = "a/b" };
    const double tenth = 0.1;
    char key[KEY_LIMIT + 1] = { 0 };

    (void)state;
    memset(key, 'k', KEY_LIMIT);
    assert_refused(twins, 2, "a", NULL, 0, "two fields");
    assert_refused(&misnamed, 1, "a", NULL, 0, "lower case");
    assert_refused(&upper, 1, "a", NULL, 0, "lower case");
    assert_refused(&slashed, 1, "a", NULL, 0, "key");
    assert_refused(&good, 1, "a.b", NULL, 0, "dot");
    assert_refused(&good, 1, "../a", NULL, 0, "..");
    assert_refused(&good, 1, "", NULL, 0, "key.suffix");
    assert_refused(&good, 1, "a\n", NULL, 0, "control");
    assert_refused(&good, 1, key, NULL, 0, "4096");
    assert_refused(NULL, 0, "/a", &tenth, 0, "absolute");
    assert_refused(&good, 1, "a", &tenth, 1, "float");
    assert_refused(&good, FIELD_LIMIT + 1, "a", NULL, 0, "1025 fields");
}

/* Tests samples that are refused because of their size. Their data is not read. */
static void refuses_what_is_too_large(void **state)
{
    const struct sheaf_field fields[] = {
        { .name = "a", .data = "", .size = (size_t)1 << 31 },
        { .name = "b", .data = "", .size = 1 },
    };
    const struct sheaf_sample sample = { .key = "k", .fields = fields, .field_count = 2 };
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(all_formats); i++) {
        struct buf out = BUF_INIT(1 << 20), names = BUF_INIT(1 << 20);
        struct encoded encoded;

        assert_int_equal(all_formats[i]->encode(&sample, &no_classes, &out, &names, &encoded,
                                                NULL), SHEAF_ERR_LIMIT);
        assert_true(out.size == 0 && names.size == 0 && out.capacity <= 4096);
        buf_free(&out);
        buf_free(&names);
    }
}

static void detects_by_content(void **state)
{
    static struct shard shard;
    uint8_t zeros[1024] = { 0 };
    struct rng rng;
    size_t i;

    (void)state;
    random_start(&rng);
    for (i = 0; i < COUNT_OF(all_formats); i++) {
        make_shard(all_formats[i], &rng, 3, &shard);
        assert_ptr_equal(format_detect(shard.bytes.data, MIN(shard.bytes.size, 1024), "x.jpg"),
                         all_formats[i]);
        free_shard(&shard);
    }
    assert_ptr_equal(format_detect(zeros, sizeof(zeros), NULL), &webdataset_ops);
    assert_ptr_equal(format_detect(zeros, sizeof(zeros), "a.x"), &webdataset_ops);
    assert_ptr_equal(format_detect(zeros, sizeof(zeros), "a.tar"), &webdataset_ops);
    assert_ptr_equal(format_detect(zeros, sizeof(zeros), "a.tfrecord"), &tfrecord_ops);
    assert_ptr_equal(format_detect(zeros, sizeof(zeros), "a.REC.gz"), &recordio_ops);
    assert_null(format_detect((const uint8_t *)"some text, of no container", 26, "a.txt"));
    assert_null(format_detect((const uint8_t *)"some text, of no container", 26, NULL));
}

static void detects_by_name_what_is_empty(void **state)
{
    static const struct {
        const char *name;
        const struct format_ops *format;
    } cases[] = {
        { "a.tfrecord", &tfrecord_ops }, { "a.tfrecords", &tfrecord_ops },
        { "d.tar/a.tfrecord-00000-of-00010", &tfrecord_ops }, { "a.tfrecord.gz", &tfrecord_ops },
        { "a.rec", &recordio_ops }, { "a.tar", &webdataset_ops },
        { "a.b.tar.lz4", &webdataset_ops },
        { "a.tgz", &webdataset_ops }, { "A.TFRECORD-00000-of-00010", &tfrecord_ops },
        { "A.Tar.GZ", &webdataset_ops },
        { "a.record", NULL }, { "a.target", NULL }, { "tar", NULL },
    };
    const uint8_t nothing = 0;
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(cases); i++)
        assert_ptr_equal(format_detect(&nothing, 0, cases[i].name), cases[i].format);
}

static void knows_containers_by_name(void **state)
{
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(all_formats); i++) {
        const struct format_ops *format = all_formats[i];

        assert_ptr_equal(format_of(format->id), format);
        assert_string_equal(sheaf_container_name(format->id), format->name);
        assert_int_equal(sheaf_container_of(format->name), (int)format->id);
        assert_int_equal(format_id_of(format->name), (int)format->id);
        assert_int_equal(sheaf_container_of(format->aliases[0]), (int)format->id);
        assert_int_equal(sheaf_container_of(format->aliases[1]), (int)format->id);
        assert_int_equal(format_id_of(format->aliases[0]), -1);
    }
    assert_null(format_of((enum sheaf_container)0));
    assert_null(sheaf_container_name((enum sheaf_container)9));
    assert_int_equal(sheaf_container_of("zip"), -1);
}

static void encodes_for_the_public(void **state)
{
    const struct sheaf_field field = { .name = "txt", .data = "hi", .size = 2 };
    const struct sheaf_sample sample = { .key = "k", .fields = &field, .field_count = 1 };
    const struct sheaf_sample other = { .key = "l", .fields = &field, .field_count = 1 };
    const struct sheaf_sample bad = { .key = "k.k", .fields = &field, .field_count = 1 };
    struct sheaf_encoder *encoder;
    struct sheaf_error err;
    const void *data;
    size_t size;

    (void)state;
    assert_int_equal(sheaf_encoder_open(SHEAF_WEBDATASET, &encoder, &err), SHEAF_OK);
    assert_int_equal(sheaf_encoder_add(encoder, &sample, &data, &size, &err), SHEAF_OK);
    assert_int_equal(size, 1024);
    assert_string_equal(data, "k.txt");
    assert_int_equal(sheaf_encoder_add(encoder, &bad, &data, &size, &err), SHEAF_ERR_ARGUMENT);
    assert_int_equal(sheaf_encoder_add(encoder, &other, &data, &size, &err), SHEAF_OK);
    assert_int_equal(size, 1024);
    assert_int_equal(sheaf_encoder_end(encoder, &data, &size, &err), SHEAF_OK);
    assert_int_equal(size, 1024);
    sheaf_encoder_free(encoder);
    sheaf_encoder_free(NULL);
    assert_int_equal(sheaf_encoder_open((enum sheaf_container)7, &encoder, &err),
                     SHEAF_ERR_ARGUMENT);
    assert_null(encoder);
}

/* Encodes two samples with one key in a row. Every reader of a tar would merge them, so the second
 * one must be refused. Containers with frames of their own must accept it. */
static void a_tar_never_has_one_key_twice_in_a_row(void **state)
{
    const struct sheaf_field field = { .name = "txt", .data = "hi", .size = 2 };
    const struct sheaf_sample a = { .key = "a", .fields = &field, .field_count = 1 };
    const struct sheaf_sample ab = { .key = "ab", .fields = &field, .field_count = 1 };
    const struct sheaf_sample *const samples[] = { &a, &ab, &a, &a, &a, &ab, &ab };
    const bool refused[] = { false, false, false, true, true, false, true };
    struct sheaf_encoder *encoder;
    struct sheaf_error err;
    const void *data;
    size_t size;

    (void)state;
    for (int container = SHEAF_TFRECORD; container <= SHEAF_WEBDATASET; container++) {
        assert_int_equal(sheaf_encoder_open((enum sheaf_container)container, &encoder, &err),
                         SHEAF_OK);
        for (size_t i = 0; i < COUNT_OF(samples); i++) {
            const bool fails = refused[i] && container == SHEAF_WEBDATASET;

            assert_int_equal(sheaf_encoder_add(encoder, samples[i], &data, &size, &err),
                             fails ? SHEAF_ERR_EXISTS : SHEAF_OK);
            assert_true(fails == (size == 0));
        }
        sheaf_encoder_free(encoder);
    }
    assert_non_null(strstr(err.message, "ab: the previous sample has the same key"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_back_random_samples),
        cmocka_unit_test(content_in_its_place_is_not_copied),
        cmocka_unit_test(place_is_known_before_the_content),
        cmocka_unit_test(is_deterministic),
        cmocka_unit_test(finds_every_truncation),
        cmocka_unit_test(hops_with_what_it_asks_for),
        cmocka_unit_test(finds_every_flipped_byte),
        cmocka_unit_test(failures_leave_no_trace),
        cmocka_unit_test(refuses_samples_against_the_rules),
        cmocka_unit_test(refuses_what_is_too_large),
        cmocka_unit_test(detects_by_content),
        cmocka_unit_test(detects_by_name_what_is_empty),
        cmocka_unit_test(knows_containers_by_name),
        cmocka_unit_test(encodes_for_the_public),
        cmocka_unit_test(a_tar_never_has_one_key_twice_in_a_row),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
