/* SPDX-License-Identifier: MIT
 *
 * Names of columns, keys of their records, and the facts in a layer's manifest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names), cmocka_unit_test(test_keys), cmocka_unit_test(test_facts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
