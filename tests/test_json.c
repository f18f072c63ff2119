/* SPDX-License-Identifier: MIT
 *
 * Tests JSON functions when memory is exhausted, at each allocation in turn. The result must be
 * SHEAF_ERR_MEMORY or the whole text, and never a shorter text or the error "not JSON". */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/json.h"
#include "formats/manifest.h"
#include "formats/object_list.h"
#include "packer/source/list.h"
#include "store/s3/credentials_sources.h"

static size_t calls, fails_at;

static void *take(size_t size)
{
    if (++calls < fails_at)
        return malloc(size);
    errno = ENOMEM;
    return NULL;
}

/* Makes the allocation with this number and all later ones fail. */
static void fail_at(size_t at)
{
    calls = 0;
    fails_at = at;
}

static int setup(void **state)
{
    (void)state;
    fail_at(SIZE_MAX);
    json_set_alloc_funcs(take, free);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    json_set_alloc_funcs(malloc, free);
    return 0;
}

/* A function that uses a text. Its result is compared with the result without failures. */
typedef int use_fn(const char *text, size_t size, char **out);

static int use_tree(const char *text, size_t size, char **out)
{
    json_error_t found;
    json_t *value;
    const int code = json_load_text(text, size, 0, &value, &found, NULL);

    fail_at(SIZE_MAX);
    *out = code == SHEAF_OK ? json_dumps(value, JSON_COMPACT) : NULL;
    json_decref(value);
    return code;
}

static int use_list(const char *text, size_t size, char **out)
{
    struct list_parser parser;
    struct list_entry entry = { 0 };
    int code;

    list_parser_init(&parser, LIST_JSONL);
    code = list_parse_jsonl(&parser, text, size, &entry, NULL);
    *out = code == SHEAF_OK ? strndup(entry.path, entry.path_size) : NULL;
    list_parser_free(&parser);
    return code;
}

static int use_object_list(const char *text, size_t size, char **out)
{
    struct object_list list;
    json_t *entry = NULL;
    int code;

    *out = NULL;
    object_list_begin(&list, "list", text, size);
    code = object_list_prefix(&list, out, NULL);
    if (code == SHEAF_OK)
        code = object_list_next(&list, &entry, NULL);
    free(*out);
    *out = code == SHEAF_OK ? strdup(json_string_value(entry)) : NULL;
    json_decref(entry);
    return code;
}

static int use_credentials(const char *text, size_t size, char **out)
{
    struct credentials *set = NULL;
    const int code = credentials_from_json(text, size, "here", 0, &set, NULL);

    *out = code == SHEAF_OK ? strdup(set->session_token) : NULL;
    credentials_release(set);
    return code;
}

static void check(use_fn *use, const char *text)
{
    const size_t size = strlen(text);
    char *whole, *out;
    size_t count;

    fail_at(SIZE_MAX);
    assert_int_equal(use(text, size, &whole), SHEAF_OK);
    fail_at(SIZE_MAX);
    assert_int_equal(use(text, size, &out), SHEAF_OK);
    free(out);
    count = calls;
    for (size_t at = 1; at <= count + 1; at++) {
        int code;

        fail_at(at);
        code = use(text, size, &out);
        if (code != SHEAF_OK)
            assert_int_equal(code, SHEAF_ERR_MEMORY);
        else
            assert_string_equal(out, whole);
        free(out);
    }
    free(whole);
}

#define LONG "0123456789abcdefghijklmnopqrstuvwxyz/0123456789abcdefghijklmnopqrstuvwxyz/01234567"

static void trees(void **state)
{
    (void)state;
    check(use_tree, "{\"a\": [1, 123456789012, 1.25, true],"
                    " \"" LONG "\": \"" LONG LONG LONG "\"}");
}

static void lists(void **state)
{
    (void)state;
    check(use_list, "{\"path\": \"" LONG LONG "\", \"label\": 7}");
    check(use_object_list, "[{\"prefix\": \"s3://bucket/" LONG "/\"}, \"" LONG LONG "\"]");
}

static void credentials(void **state)
{
    (void)state;
    check(use_credentials, "{\"AccessKeyId\": \"AKIA0123456789012345\", \"SecretAccessKey\": \""
                           LONG "\", \"SessionToken\": \"" LONG LONG LONG LONG LONG "\"}");
}

static void not_json(void **state)
{
    json_error_t found;
    json_t *value;

    (void)state;
    assert_int_equal(json_load_text("{\"a\": ", 6, 0, &value, &found, NULL), SHEAF_ERR_CORRUPT);
    assert_null(value);
    assert_int_not_equal(found.text[0], '\0');
}

static void *load_many(void *context)
{
    size_t *bad = context;

    for (int i = 0; i < 500; i++) {
        json_error_t found;
        json_t *value;

        *bad += json_load_text("[\"" LONG "\"]", strlen("[\"" LONG "\"]"), 0, &value, &found,
                               NULL) != SHEAF_OK;
        json_decref(value);
    }
    return NULL;
}

static void threads(void **state)
{
    pthread_t ids[4];
    size_t bad[4] = { 0 };

    (void)state;
    json_set_alloc_funcs(malloc, free);
    for (size_t i = 0; i < COUNT_OF(ids); i++)
        assert_int_equal(pthread_create(&ids[i], NULL, load_many, &bad[i]), 0);
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        assert_int_equal(pthread_join(ids[i], NULL), 0);
        assert_int_equal(bad[i], 0);
    }
    setup(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(trees, setup, teardown),
        cmocka_unit_test_setup_teardown(lists, setup, teardown),
        cmocka_unit_test_setup_teardown(credentials, setup, teardown),
        cmocka_unit_test_setup_teardown(not_json, setup, teardown),
        cmocka_unit_test_setup_teardown(threads, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
