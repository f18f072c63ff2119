/* SPDX-License-Identifier: MIT
 *
 * Tests the parsers of lists: the meaning of a line, and that a malformed line is reported and not
 * guessed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "packer/source/list.h"
#include "tests/common_random.h"

struct expected {
    const char *line;
    const char *path;           /* NULL if the line has no entry */
    const char *label;          /* a class name in quotes, or numbers, or "" */
};

/* Returns the path and label of an entry as text. */
static const char *describe(const struct list_entry *entry)
{
    static char text[400];
    int size = snprintf(text, sizeof(text), "%s|", entry->path);

    if (entry->class_name != NULL)
        snprintf(text + size, sizeof(text) - (size_t)size, "'%.*s'", (int)entry->class_size,
                 entry->class_name);
    for (size_t i = 0; i < entry->label_count; i++)
        size += snprintf(text + size, sizeof(text) - (size_t)size, i == 0 ? "%.9g" : " %.9g",
                         entry->labels[i]);
    return text;
}

static void check_lines(enum list_kind kind, const struct expected *lines, size_t count)
{
    struct list_parser parser;

    list_parser_init(&parser, kind);
    for (size_t i = 0; i < count; i++) {
        struct list_entry entry;
        struct sheaf_error err = { .message = "" };
        char wanted[400];
        const int code = list_parse(&parser, lines[i].line, strlen(lines[i].line), &entry, &err);

        if (lines[i].path == NULL) {
            assert_int_equal(code, SHEAF_END);
            continue;
        }
        if (code != SHEAF_OK)
            print_message("%s: %s\n", lines[i].line, err.message);
        assert_int_equal(code, SHEAF_OK);
        snprintf(wanted, sizeof(wanted), "%s|%s", lines[i].path, lines[i].label);
        assert_string_equal(describe(&entry), wanted);
        assert_int_equal(entry.path_size, strlen(entry.path));
    }
    list_parser_free(&parser);
}

/* Parses a list that consists of `before` and one malformed line. */
static void check_malformed(enum list_kind kind, const char *before, const char *const *lines)
{
    for (; *lines != NULL; lines++) {
        struct list_parser parser;
        struct list_entry entry;
        struct sheaf_error err = { .message = "" };

        list_parser_init(&parser, kind);
        if (before != NULL)
            assert_int_equal(list_parse(&parser, before, strlen(before), &entry, &err),
                             SHEAF_END);
        if (list_parse(&parser, *lines, strlen(*lines), &entry, &err) != SHEAF_ERR_CORRUPT)
            fail_msg("taken for good: %s", *lines);
        assert_string_not_equal(err.message, "");
        list_parser_free(&parser);
    }
}

static void test_plain(void **state)
{
    static const struct expected lines[] = {
        { "a/b.jpg", "a/b.jpg", "" },
        { "a b.jpg\r", "a b.jpg", "" },
        { "", NULL, NULL },
        { " \t", NULL, NULL },
        { "\xef\xbb\xbf" "c.jpg", "\xef\xbb\xbf" "c.jpg", "" },
        { "a,b\"c.jpg", "a,b\"c.jpg", "" },
    };

    (void)state;
    check_lines(LIST_PLAIN, lines, sizeof(lines) / sizeof(lines[0]));
}

static void test_lst(void **state)
{
    static const struct expected lines[] = {
        { "0\t3\ta/b c.jpg", "a/b c.jpg", "3" },
        { "17\t1.5\tx.jpg\r", "x.jpg", "1.5" },
        { "2.000000\t3.000000\tx.jpg", "x.jpg", "3" },
        { "1\t4\t0.25\t-2\tx.jpg", "x.jpg", "4 0.25 -2" },
        { "1\tcat\tx.jpg", "x.jpg", "'cat'" },
        { "1\t\tx.jpg", "x.jpg", "" },
    };
    static const char *const malformed[] = {
        "a.jpg", "1\ta.jpg", "x\t1\ta.jpg", "1\t2\tcat\ta.jpg", "\t1\ta.jpg", NULL,
    };

    (void)state;
    check_lines(LIST_LST, lines, sizeof(lines) / sizeof(lines[0]));
    check_malformed(LIST_LST, NULL, malformed);
}

static void test_csv_without_header(void **state)
{
    static const struct expected lines[] = {
        { "a.jpg,3", "a.jpg", "3" },
        { "path,3", "path", "3" },
        { "\"a,\"\"b\"\".jpg\",cat", "a,\"b\".jpg", "'cat'" },
        { "a.jpg,\"a, b\"", "a.jpg", "'a, b'" },
        { "a.jpg,1,0,2.5", "a.jpg", "1 0 2.5" },
        { "a.jpg", "a.jpg", "" },
        { "a.jpg,", "a.jpg", "" },
        { "a.jpg,\"1 2\"", "a.jpg", "1 2" },
        { "\"a\nb\",1", "a\nb", "1" },
        { "", NULL, NULL },
    };
    static const char *const malformed[] = {
        "\"a.jpg,3", "\"a\"b,3", "a\"b\".jpg,3", "a.jpg,1,cat", "a.jpg,\"x", NULL,
    };

    (void)state;
    check_lines(LIST_CSV, lines, sizeof(lines) / sizeof(lines[0]));
    check_malformed(LIST_CSV, NULL, malformed);
}

static void test_csv_with_header(void **state)
{
    static const struct expected lines[] = {
        { "id,Label,FileName\r", NULL, NULL },
        { "7,cat,a.jpg\r", "a.jpg", "'cat'" },
        { "8,,b.jpg", "b.jpg", "" },
    };
    static const struct expected class_only[] = {
        { "path,class", NULL, NULL },
        { "a.jpg,cat", "a.jpg", "'cat'" },
    };
    static const struct expected both[] = {
        { "class,path,label", NULL, NULL },
        { "cat,a.jpg,5", "a.jpg", "5" },
    };
    static const struct expected no_label[] = {
        { "path", NULL, NULL },
        { "a.jpg", "a.jpg", "" },
    };
    static const struct expected large[] = {        /* also for JSON */
        { "path,label", NULL, NULL },
        { "a.jpg,1152921504606846976", "a.jpg", "1.1529215e+18" },
        { "a.jpg,1e+38", "a.jpg", "9.99999968e+37" },
    };
    static const char *const malformed[] = {
        "a.jpg", "a.jpg,1,2", "a.jpg,9007199254740993", "a.jpg,-9007199254740994", NULL,
    };

    (void)state;
    check_lines(LIST_CSV, lines, 3);
    check_lines(LIST_CSV, class_only, 2);
    check_lines(LIST_CSV, both, 2);
    check_lines(LIST_CSV, no_label, 2);
    check_lines(LIST_CSV, large, 3);
    check_malformed(LIST_CSV, "path,label", malformed);
}

static void test_jsonl(void **state)
{
    static const struct expected lines[] = {
        { "{\"path\": \"a.jpg\", \"label\": 3}", "a.jpg", "3" },
        { "{\"label\": [1, 0.5, -2], \"path\": \"\\u00e9.jpg\", \"x\": {}}", "\xc3\xa9.jpg",
          "1 0.5 -2" },
        { "{\"path\": \"a.jpg\", \"label\": \"17\"}", "a.jpg", "'17'" },
        { "{\"path\": \"a.jpg\", \"label\": null}", "a.jpg", "" },
        { "{\"path\": \"a.jpg\"}", "a.jpg", "" },
        { "{\"path\": \"a.jpg\", \"label\": 0.1}", "a.jpg", "0.100000001" },
        { "{\"path\": \"a.jpg\", \"label\": 9007199254740992}", "a.jpg", "9.00719925e+15" },
        { "{\"path\": \"a.jpg\", \"label\": 1152921504606846976}", "a.jpg", "1.1529215e+18" },
        { "{\"path\": \"a.jpg\", \"label\": 1e+38}", "a.jpg", "9.99999968e+37" },
        { "{\"path\": \"a.jpg\", \"label\": -9223372036854775808}", "a.jpg", "-9.22337204e+18" },
        { "{\"path\": \"a.jpg\", \"label\": 9223372036854775808}", "a.jpg", "9.22337204e+18" },
        { "{\"label\":[ 3 ,1180591620717411303424 , true,-0.5],\"path\": \"a.jpg\"}", "a.jpg",
          "3 1.18059162e+21 1 -0.5" },
        { "{\"x\": 18446744073709551615, \"path\": \"a.jpg\", \"label\": 3}", "a.jpg", "3" },
        { "{\"path\": \"a.jpg\", \"label\": true}", "a.jpg", "1" },
        { "{\"path\": \"a.jpg\", \"label\": [false, 2, true]}", "a.jpg", "0 2 1" },
    };
    static const char *const malformed[] = {
        "a.jpg", "{", "[]", "{}", "{\"path\": 3}", "{\"path\": \"a\"} x",
        "{\"path\": \"a\", \"label\": [null]}", "{\"path\": \"a\", \"label\": [\"x\"]}",
        "{\"path\": \"a\", \"label\": {}}", "{\"path\": \"a\", \"label\": \"\"}",
        "{\"path\": \"a\", \"path\": \"b\"}", "{\"path\": \"a\", \"label\": 9007199254740993}",
        "{\"path\": \"a\", \"label\": 9223372036854775807}",
        "{\"path\": \"a\", \"label\": 9223372036854775809}",
        "{\"path\": \"a\", \"label\": -9223372036854775809}",
        "{\"path\": \"a\", \"label\": [1, 18446744073709551615]}",
        "{\"path\": \"a\", \"label\": 1000000000000000000000000000000000000000}",
        /* The integer x makes jansson round the label. */
        "{\"path\": \"a\", \"x\": 9223372036854775808, \"label\": 9007199254740993}",
        "{\"path\": \"a\", \"label\": 1e300}", "{\"path\": \"\xff\"}", "{\"path\": \"\"}",
        "{\"path\": \"a\\u0000b\"}", NULL,
    };

    (void)state;
    check_lines(LIST_JSONL, lines, sizeof(lines) / sizeof(lines[0]));
    check_malformed(LIST_JSONL, NULL, malformed);
}

/* Tests that the parser returns the texts that the test's CSV writer has quoted. */
static void test_csv_round_trip(void **state)
{
    static const char letters[] = "ab,\"\n\r .\xc3\xa9";
    struct list_parser parser;
    struct rng rng;

    (void)state;
    random_start(&rng);
    for (int round = 0; round < 4000; round++) {
        char path[20], line[64];
        struct list_entry entry;
        struct sheaf_error err;
        size_t size = 1 + rng_below(&rng, sizeof(path) - 2), used = 0;

        for (size_t i = 0; i < size; i++)
            path[i] = letters[rng_below(&rng, sizeof(letters) - 1)];
        path[size] = '\0';
        line[used++] = '"';
        for (size_t i = 0; i < size; i++) {
            if (path[i] == '"')
                line[used++] = '"';
            line[used++] = path[i];
        }
        used += (size_t)snprintf(line + used, sizeof(line) - used, "\",%d", round);
        if (round % 2 == 0)     /* The line is the first one of a list or the second one. */
            list_parser_init(&parser, LIST_CSV);
        assert_int_equal(list_parse(&parser, line, used, &entry, &err), SHEAF_OK);
        assert_string_equal(entry.path, path);
        assert_int_equal(entry.label_count, 1);
        assert_int_equal((int)entry.labels[0], round);
        if (round % 2 != 0)
            list_parser_free(&parser);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_lst),
        cmocka_unit_test(test_csv_without_header),
        cmocka_unit_test(test_csv_with_header),
        cmocka_unit_test(test_jsonl),
        cmocka_unit_test(test_csv_round_trip),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
