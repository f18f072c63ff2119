/* SPDX-License-Identifier: MIT
 *
 * Tests the records of a line of an augmented manifest: the attribute names, the fields and labels
 * that they become, and damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "formats/attributes.h"
#include "formats/recordio.h"

static void names_are_checked(void **state)
{
    static const char *const bad[] = {
        "", ",", "a,", ",a", "a,b,a", "a/b", "a\nb", "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17",
    };
    struct attributes a;
    struct sheaf_error error;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(attributes_parse(bad[i], &a, &error), SHEAF_ERR_ARGUMENT);
    assert_int_equal(attributes_parse("image-ref,label,seg.mask", &a, &error), SHEAF_OK);
    assert_int_equal(a.count, 3);
    assert_string_equal(a.names[2], "seg.mask");
    attributes_free(&a);
}

/* Appends a RecordIO record. */
static void add(struct buf *out, const void *data, size_t size)
{
    const size_t start = out->size;

    out->limit = SIZE_MAX;
    assert_int_equal(buf_append(out, "\0\0\0\0\0\0\0\0", RECORDIO_HEADER_BYTES, NULL), SHEAF_OK);
    assert_int_equal(buf_append(out, data, size, NULL), SHEAF_OK);
    assert_int_equal(recordio_frame(out, start, NULL), SHEAF_OK);
}

/* Contains RecordIO's magic number, so that the record has several parts. */
static const char image[] = "\xff\xd8\xff\xe0 image .\x0a\x23\xd7\xce\x0a\x23\xd7\xce...";

static int decode(const char *names, const void *data, size_t size,
                  struct decode_scratch *scratch, struct sheaf_sample *sample)
{
    const struct decode_context context = { .stem = { "train", 5 } };
    const struct record record = { .data = data, .size = size, .number = 7, .record = 7 };
    struct attributes a;
    struct sheaf_error error;
    int code;

    assert_int_equal(attributes_parse(names, &a, &error), SHEAF_OK);
    code = attributes_decode(&a, &record, &context, scratch, sample, &error);
    attributes_free(&a);
    return code;
}

static void a_line_becomes_a_sample(void **state)
{
    struct buf data = { 0 };
    struct decode_scratch scratch = { 0 };
    struct sheaf_sample sample;

    (void)state;
    add(&data, image, sizeof(image) - 1);
    add(&data, "[4, 0.5]", 8);
    add(&data, image, sizeof(image) - 1);
    assert_int_equal(decode("a-ref,label,b-ref", data.data, data.size, &scratch, &sample),
                     SHEAF_OK);
    assert_string_equal(sample.key, "train/00000007");
    assert_int_equal(sample.field_count, 2);
    assert_string_equal(sample.fields[0].name, "b.jpg");
    assert_string_equal(sample.fields[1].name, "jpg");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sample.fields[i].size, sizeof(image) - 1);
        assert_memory_equal(sample.fields[i].data, image, sizeof(image) - 1);
    }
    assert_int_equal(sample.label_count, 2);
    assert_true(sample.labels[0] == 4 && sample.labels[1] == 0.5);
    decode_scratch_free(&scratch);
    buf_free(&data);
}

/* Tests that the label may have any name in column_names.h, in upper or lower case, and that a
 * class beside a number is its name. */
static void the_label_has_many_names(void **state)
{
    static const struct { const char *names, *label, *class_name; int fields; } cases[] = {
        { "a-ref,Labels,b", "7", NULL, 2 },
        { "a-ref,CLASS_NAME,b", "cat", "cat", 3 },
        { "a-ref,class,b", "7", NULL, 2 },
        { "a-ref,b,label", "cat", "cat", 3 },
    };
    struct decode_scratch scratch = { 0 };
    struct sheaf_sample sample;
    struct buf data = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const bool last = strstr(cases[i].names, ",b,") != NULL;

        data.size = 0;
        add(&data, image, sizeof(image) - 1);
        add(&data, last ? "x" : cases[i].label, last ? 1 : strlen(cases[i].label));
        add(&data, last ? cases[i].label : "x", last ? strlen(cases[i].label) : 1);
        assert_int_equal(decode(cases[i].names, data.data, data.size, &scratch, &sample), SHEAF_OK);
        assert_int_equal(sample.label_count, cases[i].class_name == NULL ? 1 : 0);
        assert_int_equal(sample.field_count, cases[i].fields);
        if (cases[i].class_name != NULL)
            assert_string_equal(sample.class_name, cases[i].class_name);
    }
    for (int number = 0; number < 2; number++) {
        data.size = 0;
        add(&data, "owl", 3);
        add(&data, number ? "2" : "bird", number ? 1 : 4);
        assert_int_equal(decode("class,label", data.data, data.size, &scratch, &sample), SHEAF_OK);
        assert_string_equal(sample.class_name, number ? "owl" : "bird");
        assert_int_equal(sample.label_count, number);
        assert_int_equal(sample.field_count, number ? 0 : 2);
    }
    decode_scratch_free(&scratch);
    buf_free(&data);
}

static void what_is_cut_is_corrupt(void **state)
{
    struct buf data = { 0 };

    (void)state;
    add(&data, image, sizeof(image) - 1);
    add(&data, "cat", 3);
    for (size_t size = 0; size < data.size; size++) {
        struct decode_scratch scratch = { 0 };
        struct sheaf_sample sample;
        uint8_t *exact = malloc(size + 1);      /* a sanitizer notices a read past the end */

        assert_non_null(exact);
        memcpy(exact + 1, data.data, size);
        assert_int_equal(decode("a-ref,label", exact + 1, size, &scratch, &sample),
                         SHEAF_ERR_CORRUPT);
        decode_scratch_free(&scratch);
        free(exact);
    }
    buf_free(&data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_checked),
        cmocka_unit_test(a_line_becomes_a_sample),
        cmocka_unit_test(the_label_has_many_names),
        cmocka_unit_test(what_is_cut_is_corrupt),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
