/* SPDX-License-Identifier: MIT
 *
 * Tests tf.train.Example: bytes that a second implementation has made (in Python, from the
 * specification of protobuf's wire format), the samples that foreign Examples become, and payloads
 * that are not Examples. */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "formats/example.h"
#include "tests/common_random.h"
#include "tests/common_sample.h"

/* The header of a JPEG of 16 x 9 pixels. */
static const uint8_t tiny_jpeg[] = {
    0xff, 0xd8, 0xff, 0xc0, 0x00, 0x11, 0x08, 0x00, 0x09, 0x00, 0x10, 0x03, 0x01, 0x11,
    0x00, 0x02, 0x11, 0x00, 0x03, 0x11, 0x00, 0xff, 0xd9,
};

/* The Example image/{class/label: 300, class/text: "cat", encoded: tiny_jpeg, filename: "a/b.JPG",
 * format: "JPEG", height: 9, width: 16}, txt: "hi" */
static const uint8_t image_example[] = {
    0x0a, 0xdd, 0x01, 0x0a, 0x1b, 0x0a, 0x11, 0x69, 0x6d, 0x61, 0x67, 0x65, 0x2f, 0x63,
    0x6c, 0x61, 0x73, 0x73, 0x2f, 0x6c, 0x61, 0x62, 0x65, 0x6c, 0x12, 0x06, 0x1a, 0x04,
    0x0a, 0x02, 0xac, 0x02, 0x0a, 0x1b, 0x0a, 0x10, 0x69, 0x6d, 0x61, 0x67, 0x65, 0x2f,
    0x63, 0x6c, 0x61, 0x73, 0x73, 0x2f, 0x74, 0x65, 0x78, 0x74, 0x12, 0x07, 0x0a, 0x05,
    0x0a, 0x03, 0x63, 0x61, 0x74, 0x0a, 0x2c, 0x0a, 0x0d, 0x69, 0x6d, 0x61, 0x67, 0x65,
    0x2f, 0x65, 0x6e, 0x63, 0x6f, 0x64, 0x65, 0x64, 0x12, 0x1b, 0x0a, 0x19, 0x0a, 0x17,
    0xff, 0xd8, 0xff, 0xc0, 0x00, 0x11, 0x08, 0x00, 0x09, 0x00, 0x10, 0x03, 0x01, 0x11,
    0x00, 0x02, 0x11, 0x00, 0x03, 0x11, 0x00, 0xff, 0xd9, 0x0a, 0x1d, 0x0a, 0x0e, 0x69,
    0x6d, 0x61, 0x67, 0x65, 0x2f, 0x66, 0x69, 0x6c, 0x65, 0x6e, 0x61, 0x6d, 0x65, 0x12,
    0x0b, 0x0a, 0x09, 0x0a, 0x07, 0x61, 0x2f, 0x62, 0x2e, 0x4a, 0x50, 0x47, 0x0a, 0x18,
    0x0a, 0x0c, 0x69, 0x6d, 0x61, 0x67, 0x65, 0x2f, 0x66, 0x6f, 0x72, 0x6d, 0x61, 0x74,
    0x12, 0x08, 0x0a, 0x06, 0x0a, 0x04, 0x4a, 0x50, 0x45, 0x47, 0x0a, 0x15, 0x0a, 0x0c,
    0x69, 0x6d, 0x61, 0x67, 0x65, 0x2f, 0x68, 0x65, 0x69, 0x67, 0x68, 0x74, 0x12, 0x05,
    0x1a, 0x03, 0x0a, 0x01, 0x09, 0x0a, 0x14, 0x0a, 0x0b, 0x69, 0x6d, 0x61, 0x67, 0x65,
    0x2f, 0x77, 0x69, 0x64, 0x74, 0x68, 0x12, 0x05, 0x1a, 0x03, 0x0a, 0x01, 0x10, 0x0a,
    0x0d, 0x0a, 0x03, 0x74, 0x78, 0x74, 0x12, 0x06, 0x0a, 0x04, 0x0a, 0x02, 0x68, 0x69,
};

/* __key__: "k", image/class/label: [0.5, -1.0] */
static const uint8_t keyed_example[] = {
    0x0a, 0x35, 0x0a, 0x10, 0x0a, 0x07, 0x5f, 0x5f, 0x6b, 0x65, 0x79, 0x5f, 0x5f, 0x12,
    0x05, 0x0a, 0x03, 0x0a, 0x01, 0x6b, 0x0a, 0x21, 0x0a, 0x11, 0x69, 0x6d, 0x61, 0x67,
    0x65, 0x2f, 0x63, 0x6c, 0x61, 0x73, 0x73, 0x2f, 0x6c, 0x61, 0x62, 0x65, 0x6c, 0x12,
    0x0c, 0x12, 0x0a, 0x0a, 0x08, 0x00, 0x00, 0x00, 0x3f, 0x00, 0x00, 0x80, 0xbf,
};

/* The Example image/{channels: 3, class/label: -5, encoded: a PNG's beginning, format: "PNG",
 * height: 3, object/bbox/xmin: [0.25, 0.5], object/class/text: ["cat", "dog"], width: 4} */
static const uint8_t foreign_example[] = {
    0x0a, 0xf8, 0x01, 0x0a, 0x17, 0x0a, 0x0e, 0x69, 0x6d, 0x61, 0x67, 0x65, 0x2f, 0x63,
    0x68, 0x61, 0x6e, 0x6e, 0x65, 0x6c, 0x73, 0x12, 0x05, 0x1a, 0x03, 0x0a, 0x01, 0x03,
    0x0a, 0x23, 0x0a, 0x11, 0x69, 0x6d, 0x61, 0x67, 0x65, 0x2f, 0x63, 0x6c, 0x61, 0x73,
    0x73, 0x2f, 0x6c, 0x61, 0x62, 0x65, 0x6c, 0x12, 0x0e, 0x1a, 0x0c, 0x0a, 0x0a, 0xfb,
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x0a, 0x21, 0x0a, 0x0d, 0x69,
    0x6d, 0x61, 0x67, 0x65, 0x2f, 0x65, 0x6e, 0x63, 0x6f, 0x64, 0x65, 0x64, 0x12, 0x10,
    0x0a, 0x0e, 0x0a, 0x0c, 0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x72, 0x65,
    0x73, 0x74, 0x0a, 0x17, 0x0a, 0x0c, 0x69, 0x6d, 0x61, 0x67, 0x65, 0x2f, 0x66, 0x6f,
    0x72, 0x6d, 0x61, 0x74, 0x12, 0x07, 0x0a, 0x05, 0x0a, 0x03, 0x50, 0x4e, 0x47, 0x0a,
    0x15, 0x0a, 0x0c, 0x69, 0x6d, 0x61, 0x67, 0x65, 0x2f, 0x68, 0x65, 0x69, 0x67, 0x68,
    0x74, 0x12, 0x05, 0x1a, 0x03, 0x0a, 0x01, 0x03, 0x0a, 0x26, 0x0a, 0x16, 0x69, 0x6d,
    0x61, 0x67, 0x65, 0x2f, 0x6f, 0x62, 0x6a, 0x65, 0x63, 0x74, 0x2f, 0x62, 0x62, 0x6f,
    0x78, 0x2f, 0x78, 0x6d, 0x69, 0x6e, 0x12, 0x0c, 0x12, 0x0a, 0x0a, 0x08, 0x00, 0x00,
    0x80, 0x3e, 0x00, 0x00, 0x00, 0x3f, 0x0a, 0x27, 0x0a, 0x17, 0x69, 0x6d, 0x61, 0x67,
    0x65, 0x2f, 0x6f, 0x62, 0x6a, 0x65, 0x63, 0x74, 0x2f, 0x63, 0x6c, 0x61, 0x73, 0x73,
    0x2f, 0x74, 0x65, 0x78, 0x74, 0x12, 0x0c, 0x0a, 0x0a, 0x0a, 0x03, 0x63, 0x61, 0x74,
    0x0a, 0x03, 0x64, 0x6f, 0x67, 0x0a, 0x14, 0x0a, 0x0b, 0x69, 0x6d, 0x61, 0x67, 0x65,
    0x2f, 0x77, 0x69, 0x64, 0x74, 0x68, 0x12, 0x05, 0x1a, 0x03, 0x0a, 0x01, 0x04,
};

/* The Example n: [5, 300], not packed; f: 1.5, not packed, then [2, 3], packed */
static const uint8_t unpacked_example[] = {
    0x0a, 0x26, 0x0a, 0x0c, 0x0a, 0x01, 0x6e, 0x12, 0x07, 0x1a, 0x05, 0x08, 0x05, 0x08,
    0xac, 0x02, 0x0a, 0x16, 0x0a, 0x01, 0x66, 0x12, 0x11, 0x12, 0x0f, 0x0d, 0x00, 0x00,
    0xc0, 0x3f, 0x0a, 0x08, 0x00, 0x00, 0x00, 0x40, 0x00, 0x00, 0x40, 0x40,
};

static const struct decode_context of_ours = { .stem = { "train", 5 }, .ours = true };
static const struct decode_context foreign = { .stem = { "train", 5 } };
static const struct record some_record = { .number = 3, .record = 12 };

struct fixture {
    struct decode_scratch scratch;
    struct sheaf_sample sample;
    struct sheaf_error err;
};

static int setup(void **state)
{
    *state = calloc(1, sizeof(struct fixture));
    return *state == NULL;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    decode_scratch_free(&f->scratch);
    free(f);
    return 0;
}

/* Decodes a copy in memory of exactly this size. */
static int decode(struct fixture *f, const struct decode_context *context, const void *data,
                  size_t size)
{
    uint8_t *copy = malloc(size + 1);
    static uint8_t *kept;           /* the sample points into this copy */
    int code;

    assert_non_null(copy);
    free(kept);
    kept = copy;
    memcpy(copy + 1, data, size);
    code = example_decode(copy + 1, size, &some_record, context, &f->scratch, &f->sample, &f->err);
    return code;
}

static void assert_encodes(const struct sheaf_sample *sample, const struct encode_context *context,
                           const uint8_t *expected, size_t size)
{
    struct buf out = BUF_INIT(1 << 20);

    assert_int_equal(example_encode(sample, context, 4, &out, NULL), SHEAF_OK);
    assert_int_equal(out.size, size);
    assert_memory_equal(out.data, expected, size);
    assert_true(out.capacity >= out.size + 4);
    buf_free(&out);
}

static void writes_golden_bytes(void **state)
{
    const struct sheaf_field fields[] = {
        { .name = "txt", .data = "hi", .size = 2 },
        { .name = "jpg", .suffix = "JPG", .data = tiny_jpeg, .size = sizeof(tiny_jpeg) },
    };
    const char *const classes[] = { "ant", "bee", "cat" };
    const struct encode_context context = { .classes = classes, .class_count = 3,
                                            .label_base = 298 },
                                none = { 0 };
    const double label = 300, pair[] = { 0.5, -1 };
    const struct sheaf_sample image = { .key = "a/b", .fields = fields, .field_count = 2,
                                        .labels = &label, .label_count = 1 };
    const struct sheaf_sample keyed = { .key = "k", .labels = pair, .label_count = 2 };
    struct sheaf_sample named = image;

    (void)state;
    assert_encodes(&image, &context, image_example, sizeof(image_example));
    named.class_name = "cat";
    assert_encodes(&named, &none, image_example, sizeof(image_example));
    assert_encodes(&keyed, &context, keyed_example, sizeof(keyed_example));
}

static void reads_golden_bytes(void **state)
{
    const struct decode_context *contexts[] = { &of_ours, &foreign };
    struct fixture *f = *state;
    size_t i;

    for (i = 0; i < 2; i++) {
        assert_int_equal(decode(f, contexts[i], image_example, sizeof(image_example)), SHEAF_OK);
        assert_string_equal(f->sample.key, "a/b");
        assert_string_equal(f->sample.class_name, "cat");
        assert_int_equal(f->sample.label_count, 1);
        assert_true(f->sample.labels[0] == 300);
        assert_int_equal(f->sample.field_count, 2);
        assert_field(&f->sample, "jpg", tiny_jpeg, sizeof(tiny_jpeg));
        assert_string_equal(field_named(&f->sample, "jpg")->suffix, "JPG");
        assert_field(&f->sample, "txt", "hi", 2);
        assert_int_equal(f->sample.number, 3);
        assert_int_equal(f->sample.record, 12);

        assert_int_equal(decode(f, contexts[i], keyed_example, sizeof(keyed_example)), SHEAF_OK);
        assert_string_equal(f->sample.key, "k");
        assert_int_equal(f->sample.field_count, 0);
        assert_int_equal(f->sample.label_count, 2);
        assert_true(f->sample.labels[0] == 0.5 && f->sample.labels[1] == -1);
        assert_null(f->sample.class_name);
    }
}

static void makes_fields_of_foreign_features(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(decode(f, &foreign, foreign_example, sizeof(foreign_example)), SHEAF_OK);
    assert_string_equal(f->sample.key, "train/00000012");
    assert_int_equal(f->sample.label_count, 1);
    assert_true(f->sample.labels[0] == -5);
    assert_int_equal(f->sample.field_count, 7);
    assert_field(&f->sample, "png", "\x89PNG\r\n\x1a\nrest", 12);
    assert_field(&f->sample, "image.format", "PNG", 3);
    assert_field(&f->sample, "image.height", "3", 1);
    assert_field(&f->sample, "image.width", "4", 1);
    assert_field(&f->sample, "image.channels", "3", 1);
    assert_field(&f->sample, "image.object.bbox.xmin", "0.25 0.5", 8);
    assert_field(&f->sample, "image.object.class.text", "cat\ndog", 7);
}

static void reads_lists_that_are_not_packed(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(decode(f, &foreign, unpacked_example, sizeof(unpacked_example)), SHEAF_OK);
    assert_int_equal(f->sample.field_count, 2);
    assert_field(&f->sample, "n", "5 300", 5);
    assert_field(&f->sample, "f", "1.5 2 3", 7);
}

/* Tests that the image's size is dropped only if the image itself states the same size; otherwise
 * it becomes a field. */
static void keeps_what_the_image_does_not_say(void **state)
{
    struct fixture *f = *state;
    uint8_t wider[sizeof(image_example)];

    memcpy(wider, image_example, sizeof(wider));
    assert_int_equal(wider[sizeof(wider) - 16], 16);
    wider[sizeof(wider) - 16] = 17;             /* image/width */
    assert_int_equal(decode(f, &foreign, wider, sizeof(wider)), SHEAF_OK);
    assert_int_equal(f->sample.field_count, 4);
    assert_field(&f->sample, "image.height", "9", 1);
    assert_field(&f->sample, "image.width", "17", 2);
}

static void names_fall_back(void **state)
{
    struct fixture *f = *state;
    uint8_t copy[sizeof(image_example)];
    size_t at;

    /* A file name that leads out of the tree is not used as a key. It becomes a field. */
    memcpy(copy, image_example, sizeof(copy));
    for (at = 0; memcmp(copy + at, "a/b.JPG", 7) != 0; at++)
        ;
    memcpy(copy + at, "../.JPG", 7);
    assert_int_equal(decode(f, &foreign, copy, sizeof(copy)), SHEAF_OK);
    assert_string_equal(f->sample.key, "train/00000012");
    assert_field(&f->sample, "image.filename", "../.JPG", 7);
    assert_field(&f->sample, "jpg", tiny_jpeg, sizeof(tiny_jpeg));
    assert_int_equal(decode(f, &of_ours, copy, sizeof(copy)), SHEAF_ERR_CORRUPT);
    assert_non_null(strstr(f->err.message, "__key__"));
}

/* Returns what the decoder has kept of the sample's features, for the encoder. */
static struct kept_features kept_of(const struct fixture *f)
{
    return (struct kept_features){ (struct kept_feature *)(void *)f->scratch.kept.data,
                                   f->scratch.kept.size / sizeof(struct kept_feature) };
}

/* Returns whether the Example that is written for the sample contains this byte string. */
static bool is_written(const struct fixture *f, const char *text, size_t size)
{
    const struct kept_features kept = kept_of(f);
    const struct encode_context context = { .kept = &kept };
    struct buf out = BUF_INIT(1 << 20);
    bool found;

    assert_int_equal(example_encode(&f->sample, &context, 0, &out, NULL), SHEAF_OK);
    found = memmem(out.data, out.size, text, size) != NULL;
    buf_free(&out);
    return found;
}

#define IS_WRITTEN(f, text) is_written(f, text, sizeof(text) - 1)

static void keeps_features_as_they_are(void **state)
{
    const struct {
        const uint8_t *data;
        size_t size;
    } all[] = {
        { image_example, sizeof(image_example) }, { keyed_example, sizeof(keyed_example) },
    };
    struct fixture *f = *state;

    f->scratch.keeps = true;
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        struct kept_features kept;
        const struct encode_context context = { .kept = &kept };

        assert_int_equal(decode(f, &of_ours, all[i].data, all[i].size), SHEAF_OK);
        kept = kept_of(f);
        assert_encodes(&f->sample, &context, all[i].data, all[i].size);
    }
    assert_int_equal(decode(f, &foreign, foreign_example, sizeof(foreign_example)), SHEAF_OK);
    assert_int_equal(kept_of(f).count, 8);
    assert_true(IS_WRITTEN(f, "image/object/bbox/xmin\x12\x0c\x12\x0a\x0a\x08"));
    assert_true(IS_WRITTEN(f, "image/object/class/text\x12\x0c\x0a\x0a\x0a\x03" "cat"));
    assert_true(IS_WRITTEN(f, "image/encoded"));
    assert_true(IS_WRITTEN(f, "__key__"));
    assert_int_equal(decode(f, &foreign, unpacked_example, sizeof(unpacked_example)), SHEAF_OK);
    assert_true(IS_WRITTEN(f, "f\x12\x11\x12\x0f\x0d\x00\x00\xc0\x3f"));
    f->scratch.keeps = false;
    assert_int_equal(decode(f, &foreign, foreign_example, sizeof(foreign_example)), SHEAF_OK);
    assert_int_equal(kept_of(f).count, 0);
    assert_true(IS_WRITTEN(f, "image.object.bbox.xmin\x12\x0c\x0a\x0a\x0a\x08" "0.25 0.5"));
}

/* Tests fields whose data was changed after they were decoded. */
static void writes_what_a_field_has_become(void **state)
{
    struct fixture *f = *state;
    struct sheaf_field *fields;

    f->scratch.keeps = true;
    assert_int_equal(decode(f, &foreign, foreign_example, sizeof(foreign_example)), SHEAF_OK);
    fields = (struct sheaf_field *)(void *)f->scratch.fields.data;
    for (size_t i = 0; i < f->sample.field_count; i++) {
        if (strcmp(fields[i].name, "image.object.bbox.xmin") == 0 ||
            strcmp(fields[i].name, "png") == 0) {
            fields[i].data = "new";
            fields[i].size = 3;
        }
    }
    assert_true(IS_WRITTEN(f, "image.object.bbox.xmin\x12\x07\x0a\x05\x0a\x03new"));
    assert_true(IS_WRITTEN(f, "image/encoded\x12\x07\x0a\x05\x0a\x03new"));
    assert_true(IS_WRITTEN(f, "image/format\x12\x07\x0a\x05\x0a\x03PNG"));
    assert_true(IS_WRITTEN(f, "image.format\x12\x07\x0a\x05\x0a\x03PNG"));
    assert_true(IS_WRITTEN(f, "image/channels\x12\x05\x1a\x03\x0a\x01\x03"));
}

/* Tests a PNG whose fields with the size are left out, or which is renamed so that the features of
 * the image are written anew: the other fields are read again as they were. */
static void keeps_the_format_without_the_size(void **state)
{
    struct fixture *f = *state;

    for (unsigned turn = 0; turn < 2; turn++) {
        struct encode_context context = { .kept = NULL };
        struct buf out = BUF_INIT(1000);
        struct kept_features kept;
        struct sheaf_field *fields;
        size_t count = 0;

        f->scratch.keeps = true;
        assert_int_equal(decode(f, &foreign, foreign_example, sizeof(foreign_example)), SHEAF_OK);
        kept = kept_of(f);
        context.kept = &kept;
        fields = (struct sheaf_field *)(void *)f->scratch.fields.data;
        for (size_t i = 0; i < f->sample.field_count; i++) {
            if (turn == 1 && strcmp(fields[i].name, "png") == 0)
                fields[i].data = "changed.....";
            if (turn == 1 || (strcmp(fields[i].name, "image.height") != 0 &&
                              strcmp(fields[i].name, "image.width") != 0))
                fields[count++] = fields[i];
        }
        f->sample.field_count = count;
        assert_int_equal(example_encode(&f->sample, &context, 0, &out, &f->err),
                         SHEAF_OK);
        assert_int_equal(decode(f, &of_ours, out.data, out.size), SHEAF_OK);
        assert_int_equal(f->sample.field_count, count);
        assert_field(&f->sample, "image.format", "PNG", 3);
        if (turn == 1) {
            assert_field(&f->sample, "image.height", "3", 1);
            assert_field(&f->sample, "image.width", "4", 1);
        }
        assert_field(&f->sample, "png", turn == 0 ? "\x89PNG\r\n\x1a\nrest" : "changed.....", 12);
        buf_free(&out);
    }
}

/* Appends the features of a second Example with other values to image_example, as protobuf merges
 * messages: the name image/height occurs twice. The first one is the image's, the second one a
 * field. Both are written as they were read. */
static void keeps_repeated_names(void **state)
{
    static const uint8_t second[] = { 0x0a, 0x17, 0x0a, 0x15, 0x0a, 0x0c, 'i', 'm', 'a', 'g', 'e',
                                      '/', 'h', 'e', 'i', 'g', 'h', 't', 0x12, 0x05, 0x1a, 0x03,
                                      0x0a, 0x01, 0x0b };
    uint8_t both[sizeof(image_example) + sizeof(second)];
    struct encode_context context = { .kept = NULL };
    struct buf out = BUF_INIT(1000);
    struct fixture *f = *state;
    struct kept_features kept;
    size_t count;

    memcpy(both, image_example, sizeof(image_example));
    memcpy(both + sizeof(image_example), second, sizeof(second));
    f->scratch.keeps = true;
    assert_int_equal(decode(f, &foreign, both, sizeof(both)), SHEAF_OK);
    count = f->sample.field_count;
    assert_field(&f->sample, "image.height", "11", 2);
    kept = kept_of(f);
    context.kept = &kept;
    assert_int_equal(example_encode(&f->sample, &context, 0, &out, &f->err), SHEAF_OK);
    assert_int_equal(decode(f, &of_ours, out.data, out.size), SHEAF_OK);
    assert_int_equal(f->sample.field_count, count);
    assert_field(&f->sample, "image.height", "11", 2);
    buf_free(&out);
}

/* If a sample has no JPEG, its field "png", "webp", "gif" or "bmp" is written as image/encoded.
 * Other image fields, such as "seg.png" and "tiff", are written under their own names. All of them
 * are read back as the same fields. */
static void writes_other_images(void **state)
{
    static const struct { const char *suffix, *format; bool is_image; } kinds[] = {
        { "png", "PNG", true }, { "PNG", "PNG", true }, { "webp", "WEBP", true },
        { "gif", "GIF", true }, { "bmp", "BMP", true }, { "seg.png", "PNG", false },
        { "tiff", "TIFF", false },
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        const struct sheaf_field fields[] = {
            { "cap", NULL, "text", 4 }, { kinds[i].suffix, kinds[i].suffix, "new", 3 } };
        const struct sheaf_sample sample = { .key = "a/b", .fields = fields, .field_count = 2 };
        struct buf out = BUF_INIT(1000);
        struct sheaf_error err;
        char name[16] = "";

        for (size_t k = 0; kinds[i].suffix[k] != '\0'; k++)
            name[k] = (char)tolower((unsigned char)kinds[i].suffix[k]);
        ((struct sheaf_field *)(uintptr_t)fields)[1].name = name;
        assert_int_equal(example_encode(&sample, &(struct encode_context){ .label_base = 0 }, 0,
                                        &out, &err), SHEAF_OK);
        assert_int_equal(memmem(out.data, out.size, "image/encoded", 13) != NULL,
                         kinds[i].is_image);
        assert_int_equal(memmem(out.data, out.size, kinds[i].format, strlen(kinds[i].format)) !=
                         NULL && memmem(out.data, out.size, "image/format", 12) != NULL,
                         kinds[i].is_image);
        assert_int_equal(decode(f, &foreign, out.data, out.size), SHEAF_OK);
        assert_string_equal(f->sample.key, "a/b");
        assert_int_equal(f->sample.field_count, 2);
        assert_field(&f->sample, name, "new", 3);
        assert_string_equal(field_named(&f->sample, name)->suffix, kinds[i].suffix);
        buf_free(&out);
    }
}

static void assert_opaque(struct fixture *f, const void *data, size_t size)
{
    assert_int_equal(decode(f, &foreign, data, size), SHEAF_OK);
    assert_string_equal(f->sample.key, "train/00000012");
    assert_int_equal(f->sample.field_count, 1);
    assert_field(&f->sample, "data", data, size);
    assert_int_equal(f->sample.label_count, 0);
    assert_int_equal(decode(f, &of_ours, data, size), SHEAF_ERR_CORRUPT);
}

static void leaves_anything_else_alone(void **state)
{
    struct fixture *f = *state;
    uint8_t more[sizeof(keyed_example) + 2];
    size_t size;

    assert_opaque(f, "", 0);
    assert_opaque(f, "hello", 5);
    assert_opaque(f, "\xff\xd8\xff\xe0", 4);
    /* This is a SequenceExample. As an Example it would lose its second message. */
    memcpy(more, keyed_example, sizeof(keyed_example));
    more[sizeof(keyed_example)] = 0x12;
    more[sizeof(keyed_example) + 1] = 0;
    assert_opaque(f, more, sizeof(more));
    for (size = 1; size < sizeof(image_example); size++)
        assert_opaque(f, image_example, size);
}

/* Their names are equal as names of fields. The Example becomes one field. */
static void keeps_two_features_of_one_name(void **state)
{
    static const uint8_t twins[] = { 0x0a, 0x0e, 0x0a, 0x05, 0x0a, 0x01, 'a', 0x12, 0x00,
                                     0x0a, 0x05, 0x0a, 0x01, 'A', 0x12, 0x00 };
    struct fixture *f = *state;

    assert_int_equal(decode(f, &foreign, twins, sizeof(twins)), SHEAF_OK);
    assert_int_equal(f->sample.field_count, 1);
    assert_string_equal(f->sample.fields[0].name, "data");
    assert_int_equal(f->sample.fields[0].size, sizeof(twins));
    assert_memory_equal(f->sample.fields[0].data, twins, sizeof(twins));
}

/* Tests a sample with the largest number of fields. Its Example has other features in addition to
 * these fields. */
static void reads_as_many_fields_as_it_writes(void **state)
{
    static struct sheaf_field fields[FIELD_LIMIT];
    static char names[FIELD_LIMIT][8];
    const struct encode_context none = { 0 };
    const double label = 3;
    const struct sheaf_sample sample = { .key = "k", .fields = fields, .field_count = FIELD_LIMIT,
                                         .labels = &label, .label_count = 1, .class_name = "cat" };
    struct buf out = BUF_INIT(1 << 20);
    struct fixture *f = *state;

    for (size_t i = 0; i < FIELD_LIMIT; i++) {
        snprintf(names[i], sizeof(names[i]), "f%04zu", i);
        fields[i] = (struct sheaf_field){ .name = names[i], .data = "x", .size = 1 };
    }
    for (size_t i = 0; i < 2; i++) {
        out.size = 0;
        assert_int_equal(example_encode(&sample, &none, 0, &out, NULL), SHEAF_OK);
        assert_int_equal(decode(f, &of_ours, out.data, out.size), SHEAF_OK);
        assert_int_equal(f->sample.field_count, FIELD_LIMIT);
        assert_int_equal(f->sample.label_count, 1);
        fields[0] = (struct sheaf_field){ .name = "jpg", .data = tiny_jpeg,
                                          .size = sizeof(tiny_jpeg) };
    }
    buf_free(&out);
}

/* Tests that a label which a double cannot represent stays a text. */
static void keeps_labels_exact(void **state)
{
    static const uint8_t wide[] = {         /* 2^53 + 1 */
        0x0a, 0x23, 0x0a, 0x21, 0x0a, 0x11, 'i', 'm', 'a', 'g', 'e', '/', 'c', 'l', 'a', 's', 's',
        '/', 'l', 'a', 'b', 'e', 'l', 0x12, 0x0c, 0x1a, 0x0a, 0x0a, 0x08,
        0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10,
    };
    struct fixture *f = *state;

    assert_int_equal(decode(f, &foreign, wide, sizeof(wide)), SHEAF_OK);
    assert_int_equal(f->sample.label_count, 0);
    assert_field(&f->sample, "image.class.label", "9007199254740993", 16);
}

static void refuses_labels_that_fit_no_list(void **state)
{
    const double labels[] = { 0.5, 16777217 };
    const struct sheaf_sample sample = { .key = "k", .labels = labels, .label_count = 2 };
    const struct encode_context none = { 0 };
    struct buf out = BUF_INIT(1 << 20);
    struct sheaf_error err;

    (void)state;
    assert_int_equal(example_encode(&sample, &none, 0, &out, &err), SHEAF_ERR_LIMIT);
    assert_non_null(strstr(err.message, "16777217"));
    assert_int_equal(out.size, 0);
    buf_free(&out);
}

/* Replaces each byte. The result must be a sample or an error, and nothing past the end may be
 * read. */
static void copes_with_any_byte(void **state)
{
    const struct {
        const uint8_t *data;
        size_t size;
    } all[] = {
        { image_example, sizeof(image_example) }, { foreign_example, sizeof(foreign_example) },
        { unpacked_example, sizeof(unpacked_example) },
    };
    struct fixture *f = *state;
    uint8_t copy[sizeof(foreign_example)];
    size_t i, at;
    int byte;

    for (i = 0; i < COUNT_OF(all); i++) {
        for (at = 0; at < all[i].size; at++) {
            for (byte = 0; byte < 256; byte++) {
                int code;

                memcpy(copy, all[i].data, all[i].size);
                copy[at] = (uint8_t)byte;
                code = decode(f, &foreign, copy, all[i].size);
                assert_true(code == SHEAF_OK || code == SHEAF_ERR_CORRUPT);
            }
        }
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(writes_golden_bytes),
        TEST(reads_golden_bytes),
        TEST(makes_fields_of_foreign_features),
        TEST(reads_lists_that_are_not_packed),
        TEST(keeps_what_the_image_does_not_say),
        TEST(names_fall_back),
        TEST(keeps_features_as_they_are),
        TEST(writes_what_a_field_has_become),
        TEST(keeps_repeated_names),
        TEST(writes_other_images),
        TEST(keeps_the_format_without_the_size),
        TEST(leaves_anything_else_alone),
        TEST(keeps_two_features_of_one_name),
        TEST(reads_as_many_fields_as_it_writes),
        TEST(keeps_labels_exact),
        TEST(refuses_labels_that_fit_no_list),
        TEST(copes_with_any_byte),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
