/* SPDX-License-Identifier: MIT
 *
 * Tests the names of columns, the keys of their records, and the facts in a column's manifests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "formats/column_record.h"

static void test_names(void **state)
{
    static const char *const good[] = { "a", "cap-v2", "clip_l14", "0", "_x" };
    static const char *const bad[] = { "", "-a", "A", "a.b", "a/b", "a b", "\xc3\xa9", ".." };
    char name[COLUMN_NAME_MOST + 2];
    struct sheaf_error error;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(good); i++)
        assert_int_equal(column_check_name(good[i], &error), SHEAF_OK);
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_int_equal(column_check_name(bad[i], &error), SHEAF_ERR_ARGUMENT);
    memset(name, 'a', sizeof(name));
    name[COLUMN_NAME_MOST] = '\0';
    assert_int_equal(column_check_name(name, &error), SHEAF_OK);
    name[COLUMN_NAME_MOST] = 'a';
    name[COLUMN_NAME_MOST + 1] = '\0';
    assert_int_equal(column_check_name(name, &error), SHEAF_ERR_ARGUMENT);
}

static void test_keys(void **state)
{
    char key[COLUMN_KEY_BYTES];

    (void)state;
    column_key(0, 0, key);
    assert_string_equal(key, "0-00000000");
    column_key(UINT64_MAX, 0xfedcba98u, key);
    assert_string_equal(key, "18446744073709551615-fedcba98");
}

static void test_facts(void **state)
{
    const struct column_facts facts = { .name = "cap", .base = "0123456789abcdef0123456789abcdef",
                                        .first = 12, .missing = 3 };
    struct manifest manifest = { .options_json = column_facts_add("{\"source\":\"program\"}",
                                                                  &facts) };
    struct column_facts found;
    struct sheaf_error error;

    (void)state;
    assert_non_null(manifest.options_json);
    assert_string_equal(manifest.options_json,
                        "{\"base\":\"0123456789abcdef0123456789abcdef\",\"base_first\":12,"
                        "\"column\":\"cap\",\"missing\":3,\"source\":\"program\"}");
    assert_int_equal(column_facts_read(&manifest, &found, &error), SHEAF_OK);
    assert_string_equal(found.name, "cap");
    assert_string_equal(found.base, facts.base);
    assert_int_equal(found.first, 12);
    assert_int_equal(found.missing, 3);
    free(manifest.options_json);

    manifest.options_json = strdup("{\"column\":\"cap\"}");
    assert_int_equal(column_facts_read(&manifest, &found, &error), SHEAF_ERR_CORRUPT);
    assert_non_null(strstr(error.message, "option \"base\""));
    free(manifest.options_json);
}

static void test_key_is(void **state)
{
    static const struct { const char *text; uint64_t number; uint32_t crc; bool is; } cases[] = {
        { "0-00000000", 0, 0, true },
        { "12-000000ab", 12, 0xab, true },
        { "18446744073709551615-fedcba98", UINT64_MAX, 0xfedcba98u, true },
        { "12-000000ab", 13, 0xab, false }, { "12-000000ab", 12, 0xac, false },
        { "012-000000ab", 12, 0xab, false }, { "-000000ab", 0, 0xab, false },
        { "12-000000AB", 12, 0xab, false }, { "12000000ab", 12, 0xab, false },
        { "12-00000ab", 12, 0xab, false }, { "1x-000000ab", 12, 0xab, false },
        { "18446744073709551616-00000000", 0, 0, false },
        { "28446744073709551616-00000000", UINT64_C(10000000000000000000), 0, false },
        { "", 0, 0, false }, { "00000000", 0, 0, false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct text key = { cases[i].text, strlen(cases[i].text) };

        assert_int_equal(column_key_is(&key, cases[i].number, cases[i].crc), cases[i].is);
    }
}

/* Encodes a sample as the packer does, and parses the record. Also parses every prefix of the
 * record, in memory of exactly its size. */
static bool parse_sample(const struct sheaf_sample *sample)
{
    struct column_value values[COLUMN_VALUES_MOST];
    const struct encode_context context = { 0 };
    struct encoded encoded;
    struct buf out = BUF_INIT(1 << 20);
    struct text key;
    size_t count;
    bool found;

    assert_int_equal(tfrecord_ops.encode(sample, &context, &out, NULL, &encoded, NULL), SHEAF_OK);
    for (size_t size = 0; size < out.size; size++) {
        uint8_t *copy = malloc(size + 1);

        memcpy(copy + 1, out.data, size);
        assert_false(column_record_parse(copy + 1, size, &key, values, &count));
        free(copy);
    }
    found = column_record_parse(out.data, out.size, &key, values, &count);
    if (found) {
        assert_int_equal(key.size, strlen(sample->key));
        assert_memory_equal(key.data, sample->key, key.size);
        assert_int_equal(count, sample->field_count);
    }
    for (size_t i = 0; found && i < count; i++) {
        const struct sheaf_field *field = &sample->fields[i];

        assert_int_equal(values[i].extension_size, strlen(field->name));
        assert_memory_equal(values[i].extension, field->name, values[i].extension_size);
        assert_int_equal(values[i].size, field->size);
        assert_memory_equal(values[i].data, field->data, field->size);
    }
    buf_free(&out);
    return found;
}

static void test_parse(void **state)
{
    static const uint8_t data[40000];
    char names[COLUMN_VALUES_MOST + 1][8];
    struct sheaf_field fields[COLUMN_VALUES_MOST + 1];
    struct sheaf_sample sample = { .key = "1-00000002", .fields = fields };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        snprintf(names[i], sizeof(names[i]), "f%02zu", i);
        fields[i] = (struct sheaf_field){ .name = names[i], .data = data, .size = 97 * i };
    }
    for (sample.field_count = 0; sample.field_count <= COLUMN_VALUES_MOST; sample.field_count++)
        assert_true(parse_sample(&sample));
    assert_false(parse_sample(&sample));
    sample.field_count = 1;
    fields[0].size = sizeof(data);
    assert_true(parse_sample(&sample));
    fields[0].name = "jpg";                     /* becomes the feature image/encoded */
    assert_false(parse_sample(&sample));
    fields[0].name = "info";
    assert_false(parse_sample(&sample));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names), cmocka_unit_test(test_keys),
        cmocka_unit_test(test_key_is), cmocka_unit_test(test_parse), cmocka_unit_test(test_facts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
