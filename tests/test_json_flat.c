/* SPDX-License-Identifier: MIT
 *
 * Tests the parser of flat JSON objects (base/json_flat.h). If it accepts a text, the library
 * jansson must accept it too and find the same members. The parser must accept the usual lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/json.h"
#include "base/json_flat.h"
#include "tests/common_random.h"

/* Lines that the parser must accept. */
static const char *const usual[] = {
    "{\"key\": \"a/b\", \"value\": \"a fish in a net\"}",
    " {\"key\":\"a\",\"value\":1,\"x\":-0.25 , \"y\" : true,\"z\":null, \"w\":false}\r",
    "{\"key\": \"\", \"value\": \"caf\\u00e9 \\ud83d\\ude00 \\\"q\\\" \\\\ \\/ \\b\\f\\n\\r\\t\"}",
    "{\"key\": \"k\", \"value\": \"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 and a longer text\"}",
    "{\"n\": 0, \"m\": -12.5, \"o\": 123456789012345678}",
};

/* Lines that the parser must refuse. They are parsed by jansson, which accepts some of them. */
static const char *const others[] = {
    "", "{}", "[]", "{", "{\"a\"}", "{\"a\":}", "{\"a\":1", "{\"a\":1,}", "{\"a\":1}}",
    "{\"a\":1} x", "{\"a\":01}", "{\"a\":1.}", "{\"a\":.5}", "{\"a\":-}", "{\"a\":1e5}",
    "{\"a\":1234567890123456789}", "{\"a\":[1]}", "{\"a\":{}}", "{\"a\":nul}", "{\"a\":nullx}",
    "{\"a\":\"\\x\"}", "{\"a\":\"\\u12\"}", "{\"a\":\"\\u0000\"}", "{\"a\":\"\\ud800\"}",
    "{\"a\":\"\\udc00\"}", "{\"a\":\"\\ud800\\u0041\"}", "{\"a\":\"\x01\"}", "{\"a\":\"\xff\"}",
    "{\"a\":\"\xc0\x80\"}", "{\"a\":\"\xed\xa0\x80\"}", "{\"a\":1,\"a\":2}",
    "{\"a\":1 \"b\":2}", "{a:1}", "{\"a\":\"x", "{\"a\":\"x\\", "{\"a\":\"x\\u\"}",
};

/* Checks that a member has the value that jansson has found. */
static void check_member(const struct json_flat_member *m, const json_t *value)
{
    if (m->kind == JSON_FLAT_STRING) {
        assert_true(json_is_string(value));
        assert_int_equal(m->size, json_string_length(value));
        assert_memory_equal(m->value, json_string_value(value), m->size + 1);
    } else if (m->kind == JSON_FLAT_NULL) {
        assert_true(json_is_null(value));
    } else {
        json_t *again = NULL;

        assert_int_equal(json_load_text(m->value, m->size, JSON_DECODE_ANY, &again, NULL, NULL),
                         SHEAF_OK);
        assert_true(json_equal(again, value));
        json_decref(again);
    }
}

/* Returns whether the parser accepts the text. Checks that jansson then finds the same members. */
static bool check_text(const char *text, size_t size)
{
    char *copy = malloc(size + 1), *room = malloc(size + JSON_FLAT_MORE);
    struct json_flat object;
    json_t *tree = NULL, *value;
    bool accepted;
    size_t i = 0;
    const char *name;

    memcpy(copy, text, size);   /* a copy of exact size: sanitizers find a read past it */
    accepted = json_flat_parse(copy, size, room, &object);
    if (accepted) {
        assert_int_equal(json_load_line(text, size, JSON_REJECT_DUPLICATES, &tree, NULL), SHEAF_OK);
        assert_int_equal(json_object_size(tree), object.count);
        json_object_foreach(tree, name, value) {
            assert_string_equal(object.members[i].name, name);
            check_member(&object.members[i++], value);
        }
        json_decref(tree);
    }
    free(room);
    free(copy);
    return accepted;
}

static void test_usual_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(usual); i++)
        assert_true(check_text(usual[i], strlen(usual[i])));
}

static void test_other_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(others); i++)
        assert_false(check_text(others[i], strlen(others[i])));
}

static void test_many_members(void **state)
{
    char text[1024] = "{";

    (void)state;
    for (unsigned i = 0; i <= JSON_FLAT_MOST; i++) {
        const size_t size = strlen(text);

        snprintf(text + size, sizeof(text) - size, "%s\"m%u\":%u}", i == 0 ? "" : ",", i, i);
        assert_int_equal(check_text(text, strlen(text)), i < JSON_FLAT_MOST);
        text[strlen(text) - 1] = '\0';
    }
}

/* Removes and changes a few bytes of the lines. */
static void test_changed_lines(void **state)
{
    static const char bytes[] = "{}[]\",:\\u0019aefd-.+ \t\n\x01\x7f\x80\xbf\xc3\xed\xf0";
    size_t accepted = 0;
    struct rng rng;

    (void)state;
    random_start(&rng);
    for (unsigned i = 0; i < 200000; i++) {
        const char *line = rng_below(&rng, 8) != 0 ? usual[rng_below(&rng, COUNT_OF(usual))]
                                                   : others[rng_below(&rng, COUNT_OF(others))];
        size_t size = strlen(line);
        char text[256];

        memcpy(text, line, size);
        for (uint64_t k = rng_below(&rng, 4); k > 0 && size != 0; k--) {
            const size_t at = (size_t)rng_below(&rng, size);

            if (rng_below(&rng, 4) == 0)
                memmove(text + at, text + at + 1, --size - at);
            else
                text[at] = bytes[rng_below(&rng, sizeof(bytes) - 1)];
        }
        accepted += check_text(text, size);
    }
    assert_in_range(accepted, 20000, 190000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_usual_lines),
        cmocka_unit_test(test_other_lines),
        cmocka_unit_test(test_many_members),
        cmocka_unit_test(test_changed_lines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
