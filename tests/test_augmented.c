/* SPDX-License-Identifier: MIT
 *
 * Tests lines of augmented manifests, and the functions that find values in a JSON text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/json.h"
#include "base/rng.h"
#include "packer/source/augmented.h"
#include "tests/common_random.h"

static struct augmented a;
static struct sheaf_error error;
static char shown[4000];

static int setup(void **state)
{
    (void)state;
    augmented_init(&a);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    augmented_free(&a);
    return 0;
}

/* Parses a copy of the text, in memory that ends where the text ends. */
static int parse(const char *text, size_t size, uint64_t number)
{
    char *line = malloc(size + 1);
    const struct augmented_field *fields;
    size_t at = 0;
    int code;

    memcpy(line, text, size);
    line = realloc(line, size != 0 ? size : 1);
    code = augmented_parse(&a, line, size, number, &error);
    fields = (const void *)a.fields.data;
    shown[0] = '\0';
    for (size_t i = 0; code == SHEAF_OK && i < a.fields.size / sizeof(*fields); i++) {
        const struct augmented_field *f = &fields[i];
        const bool is_text = f->url == SIZE_MAX;

        at += (size_t)snprintf(shown + at, sizeof(shown) - at, "%s%s%s%.*s",
                               i == 0 ? "" : " ", augmented_text(&a, f->path),
                               is_text ? "=" : "@", is_text ? (int)f->size : 1000,
                               is_text ? f->text : augmented_text(&a, f->url));
    }
    free(line);
    return code;
}

static int parse_text(const char *text)
{
    return parse(text, strlen(text), 1);
}

static void must_give(const char *text, const char *expected)
{
    if (parse(text, strlen(text), 7) != SHEAF_OK)
        fail_msg("%s", error.message);
    assert_string_equal(shown, expected);
}

static void test_fields(void **state)
{
    (void)state;
    must_give("{\"a-ref\": \"s3://b/d/x.jpg\"}", "d/x.jpg@s3://b/d/x.jpg");
    must_give(" { \"a-ref\" :\"s3://b/x.tar.gz\" , \"n\" : -1.50e2 , \"o\":{ \"}\" : [ 1 ] } } ",
              "x.tar.gz@s3://b/x.tar.gz x.n=-1.50e2 x.o={ \"}\" : [ 1 ] }");
    must_give("{\"t\": \"\\\"},{\", \"u\": null, \"v\": true, \"w\": []}",
              "00000007.t=\"\\\"},{\" 00000007.u=null 00000007.v=true 00000007.w=[]");
    must_give("{\"n\": 1, \"a-ref\": \"s3://b/k.p\"}", "k.n=1 k.p@s3://b/k.p");
}

static void test_suffixes(void **state)
{
    (void)state;
    must_give("{\"a-ref\": \"s3://b/x.jpg\", \"m-ref\": \"s3://c/y.JPG\"}",
              "x.jpg@s3://b/x.jpg x.m.JPG@s3://c/y.JPG");
    must_give("{\"img-ref\": \"s3://b/d.1/name\", \"m-ref\": \"s3://b/y.png\"}",
              "d.1/name.img@s3://b/d.1/name d.1/name.png@s3://b/y.png");
    must_give("{\"a-ref\": \"file:///t/x.jpg\"}", "t/x.jpg@file:///t/x.jpg");
}

static void check_label(const char *text, const char *class_name, double value)
{
    assert_int_equal(parse(text, strlen(text), 1), SHEAF_OK);
    if (class_name != NULL) {
        assert_int_equal(a.label.class_size, strlen(class_name));
        assert_memory_equal(a.label.class_name, class_name, strlen(class_name));
        assert_int_equal(a.label.label_count, 0);
        return;
    }
    assert_null(a.label.class_name);
    assert_int_equal(a.label.label_count, 1);
    assert_true(a.label.labels[0] == value);
}

static void test_labels(void **state)
{
    (void)state;
    check_label("{\"x\": 1, \"label\": 5}", NULL, 5);
    assert_string_equal(shown, "00000001.x=1");
    check_label("{\"class\": 0.5}", NULL, 0.5);
    check_label("{\"label\": \"caf\\u00e9\"}", "caf\u00e9", 0);
    check_label("{\"class\": 5, \"label\": 2}", NULL, 2);
    assert_string_equal(shown, "00000001.class=5");
    check_label("{\"Labels\": 4, \"x\": 1}", NULL, 4);
    check_label("{\"labels\": [[1, 2]], \"CLASS_NAME\": \"dog\"}", "dog", 0);
    assert_string_equal(shown, "00000001.labels=[[1, 2]]");
    assert_int_equal(parse_text("{\"class\": \"dog\", \"label\": 2}"), SHEAF_OK);
    assert_int_equal(a.label.class_size, 3);        /* the name of the number */
    assert_memory_equal(a.label.class_name, "dog", 4);
    assert_int_equal(a.label.label_count, 1);
    assert_true(a.label.labels[0] == 2);
    check_label("{\"kind\": 3, \"kind-metadata\": {\"type\": "
                "\"groundtruth/image-classification\"}}",
                NULL, 3);
    check_label("{\"kind\": 3, \"x\": 18446744073709551615, \"kind-metadata\": {\"type\": "
                "\"groundtruth/image-classification\"}}",
                NULL, 3);
    assert_string_equal(shown, "00000001.x=18446744073709551615 00000001.kind-metadata="
                        "{\"type\": \"groundtruth/image-classification\"}");
    check_label("{\"label\": 18446744073709551616}", NULL, 0x1p64);
    assert_int_equal(parse_text("{\"label\": 18446744073709551615}"), SHEAF_ERR_CORRUPT);
    assert_string_equal(error.message, "the label 18446744073709551615 is beyond 2^53 and no "
                        "32-bit float equals it");
    assert_int_equal(parse_text("{\"kind\": 3, \"kind-metadata\": {\"type\": \"other\"}}"),
                     SHEAF_OK);
    assert_int_equal(a.label.label_count, 0);
    assert_int_equal(parse_text("{\"label\": [1, 2.5, -3]}"), SHEAF_OK);
    assert_int_equal(a.label.label_count, 3);
    assert_int_equal(parse_text("{\"label\": null, \"x\": 1}"), SHEAF_OK);
    assert_int_equal(a.label.label_count, 0);
}

static void test_malformed(void **state)
{
    static const char *const lines[] = {
        "{", "[]", "{}", "1", "{\"a-ref\": 1}", "{\"a-ref\": \"x\"}", "{\"a-ref\": \"s3://b\"}",
        "{\"a-ref\": \"s3://b/\"}", "{\"label\": {}}", "{\"label\": \"\"}", "{\"label\": [null]}",
        "{\"x\": 1, \"x\": 2}", "{\"x\": 1} y", "{\"label\": [1, \"a\"]}", "{\"label\": 1e300}",
        "{\"a-ref\": \"s3://b/x.y\", \"c-ref\": null}",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        assert_int_equal(parse(lines[i], strlen(lines[i]), 1), SHEAF_ERR_CORRUPT);
    assert_int_equal(parse_text("  "), SHEAF_END);
    assert_int_equal(parse_text(""), SHEAF_END);
}

static const char whole[] =
    "{\"source-ref\": \"s3://bucket/d/1.jpg\", \"mask-ref\": \"s3://bucket/2.jpg\", "
    "\"label\": [1, 2], "
    "\"boxes\": [[1, 2], {\"a\": \"}\\\"\"}], \"kind\": 3, \"kind-metadata\": {\"type\": \"x\"}}";

static void test_every_prefix(void **state)
{
    (void)state;
    for (size_t size = 1; size < sizeof(whole) - 1; size++)
        assert_int_equal(parse(whole, size, 1), SHEAF_ERR_CORRUPT);
    assert_int_equal(parse(whole, sizeof(whole) - 1, 1), SHEAF_OK);
}

/* Replaces every byte. Any result is fine, but nothing may be read or written outside of the
 * memory. */
static void test_every_byte(void **state)
{
    char text[sizeof(whole)];
    struct rng rng;

    (void)state;
    random_start(&rng);
    for (size_t i = 0; i < sizeof(whole) - 1; i++)
        for (int k = 0; k < 40; k++) {
            memcpy(text, whole, sizeof(whole));
            text[i] = (char)rng_below(&rng, 256);
            (void)parse(text, sizeof(whole) - 1, 1);
        }
}

static void test_json_text(void **state)
{
    static const struct { const char *text; size_t size; } values[] = {
        { "12,3", 2 }, { "-1e5 ", 4 }, { "true]", 4 }, { "\"a,\\\"b\"x", 7 },
        { "[1,[2],\"]\"]]", 11 },
        { "{\"a\":{}}}", 8 }, { "[1", 2 }, { "\"a", 2 }, { "\"\\", 2 }, { "", 0 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        const char *text = values[i].text, *end = text + strlen(text);

        assert_int_equal(json_text_value(text, end) - text, values[i].size);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_fields), TEST(test_suffixes), TEST(test_labels), TEST(test_malformed),
        TEST(test_every_prefix), TEST(test_every_byte), TEST(test_json_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
