/* SPDX-License-Identifier: MIT
 *
 * Tests the document of a view: it is parsed, written in its canonical form, and refused if it is
 * invalid. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "formats/view.h"

static const char whole[] =
    "{\"sheaf_view\": 1, \"samples\": 4000, \"sources\": ["
    "{\"source\": \"s3://b/photos/\", \"weight\": 3, \"where\": {\"labels\": [0, 9],"
    " \"classes\": [\"cat\", \"dog\"], \"keys\": \"keep.txt\", \"not_keys\": \"bad.txt\","
    " \"key_glob\": \"2025/*\", \"range\": [0, 100000], \"every\": [10, 3]},"
    " \"fields\": [\"jpg\", \"cls\"]},"
    "{\"weight\": 1, \"source\": \"drawings/\"}],"
    " \"stages\": [{\"samples\": 1000000, \"weights\": [1, 1]}], \"classes\": \"by-name\"}";

static void test_whole(void **state)
{
    struct sheaf_error err;
    struct view v, again;
    char *text, *second;

    (void)state;
    assert_int_equal(view_parse(whole, strlen(whole), &v, &err), SHEAF_OK);
    assert_int_equal(v.source_count, 2);
    assert_int_equal(v.samples, 4000);
    assert_true(v.has_weights && !v.by_number);
    assert_string_equal(v.sources[0].where.classes[1], "dog");
    assert_int_equal(v.sources[0].where.labels[0].last, 9);
    assert_int_equal(v.sources[0].where.range_end, 100000);
    assert_int_equal(v.sources[0].where.every_at, 3);
    assert_string_equal(v.sources[0].fields[1], "cls");
    assert_string_equal(v.sources[1].where.text, "");
    assert_int_equal(v.stages[0].weights[1], 1);
    assert_int_equal(view_text(&v, NULL, 1, &text, &err), SHEAF_OK);
    assert_true(view_begins(text, strlen(text)));
    assert_int_equal(view_parse(text, strlen(text), &again, &err), SHEAF_OK);
    assert_int_equal(view_text(&again, NULL, 1, &second, &err), SHEAF_OK);
    assert_string_equal(text, second);
    view_free(&v);
    view_free(&again);
    free(text);
    free(second);
}

static void test_labels(void **state)
{
    static const char text[] = "{\"sheaf_view\":1,\"sources\":[{\"source\":\"a\",\"where\":"
                               "{\"label\":[3,[5,9]]}}]}";
    struct sheaf_error err;
    struct view v;

    (void)state;
    assert_int_equal(view_parse(text, strlen(text), &v, &err), SHEAF_OK);
    assert_int_equal(v.sources[0].where.label_count, 2);
    assert_int_equal(v.sources[0].where.labels[0].first, 3);
    assert_int_equal(v.sources[0].where.labels[0].last, 3);
    assert_int_equal(v.sources[0].where.labels[1].first, 5);
    assert_int_equal(v.sources[0].where.labels[1].last, 9);
    view_free(&v);
}

/* Tests the text for a fingerprint, with other names of the sources and fewer stages. */
static void test_text(void **state)
{
    static const char small[] = "{\"sheaf_view\":1,\"sources\":[{\"source\":\"a\",\"repeat\":0.1},"
                                "{\"source\":\"b\",\"repeat\":1}]}";
    static const char *const names[] = { "f1", "f2" };
    struct sheaf_error err;
    struct view v;
    char *text;

    (void)state;
    assert_int_equal(view_parse(small, strlen(small), &v, &err), SHEAF_OK);
    assert_int_equal(v.sources[0].repeat, 100000);
    assert_int_equal(view_text(&v, names, 9, &text, &err), SHEAF_OK);
    assert_string_equal(text, "{\n \"sheaf_view\": 1,\n \"sources\": [\n  {\n   \"source\": \"f1\","
                              "\n   \"repeat\": 0.1\n  },\n  {\n   \"source\": \"f2\"\n  }\n ]\n"
                              "}\n");
    view_free(&v);
    free(text);
}

static void test_begins(void **state)
{
    (void)state;
    assert_true(view_begins(" {\n\t\"sheaf_view\" : 1", 20));
    assert_false(view_begins("{\"sheaf_vie", 11));
    assert_false(view_begins("{\"samples\": 1, \"sheaf_view\": 1}", 31));
    assert_false(view_begins("", 0));
    assert_false(view_begins("\0\0{", 3));
}

static void test_columns(void **state)
{
    static const char text[] = "{\"sheaf_view\":1,\"sources\":[{\"source\":\"a\",\"where\":"
                               "{\"columns\":[[\"q-1.a.b\",\">=\",0.25],[\"q-1.a.b\",\"!=\",3]],"
                               "\"keys\":\"k\"}}]}";
    char first[] = "12,34", second[] = "56", *ids[] = { first, second };
    struct view v;
    struct view_where *w;

    (void)state;
    assert_int_equal(view_parse(text, sizeof(text) - 1, &v, NULL), SHEAF_OK);
    w = &v.sources[0].where;
    assert_int_equal(w->column_count, 2);
    assert_string_equal(w->columns[0].field, "q-1.a.b");
    assert_int_equal(w->columns[0].name_size, 3);
    assert_int_equal(w->columns[0].compare, VIEW_MORE_EQUAL);
    assert_true(w->columns[0].number == 0.25);
    assert_int_equal(w->columns[1].compare, VIEW_NOT_EQUAL);
    assert_int_equal(view_where_text(w, "h", NULL, ids, NULL), SHEAF_OK);
    assert_string_equal(w->text, "{\"columns\":[[\"q-1.a.b\",\">=\",0.25,\"12,34\"],"
                                 "[\"q-1.a.b\",\"!=\",3,\"56\"]],\"keys\":\"h\"}");
    assert_int_equal(view_where_text(w, "k", NULL, NULL, NULL), SHEAF_OK);
    assert_string_equal(w->text, "{\"columns\":[[\"q-1.a.b\",\">=\",0.25],"
                                 "[\"q-1.a.b\",\"!=\",3]],\"keys\":\"k\"}");
    view_free(&v);
}

#define SOURCES(text) "{\"sheaf_view\": 1, \"sources\": [" text "]}"

static void test_refused(void **state)
{
    static const struct { const char *text, *reason; int code; } cases[] = {
        { "{", "line 1", SHEAF_ERR_CORRUPT },
        { "[]", "not an object", SHEAF_ERR_ARGUMENT },
        { "{\"sheaf_view\": 2}", "version 2", SHEAF_ERR_UNSUPPORTED },
        { "{\"sheaf_view\": 1}", "\"sources\"", SHEAF_ERR_ARGUMENT },
        { "{\"sheaf_view\": 1, \"sources\": []}", "1 to 65535", SHEAF_ERR_ARGUMENT },
        { "{\"sheaf_view\": 1, \"sheaf_view\": 1}", "duplicate", SHEAF_ERR_CORRUPT },
        { SOURCES("3"), "source 1: a source is not an object", SHEAF_ERR_ARGUMENT },
        { SOURCES("{}"), "source 1: a source has no \"source\"", SHEAF_ERR_ARGUMENT },
        { SOURCES("{\"source\": \"\"}"), "\"source\" is not a name", SHEAF_ERR_ARGUMENT },
        { SOURCES("{\"source\": \"a\", \"wieght\": 1}"), "unknown name \"wieght\"",
          SHEAF_ERR_ARGUMENT },
        { SOURCES("{\"source\": \"a\", \"weight\": 1}"), "no length", SHEAF_ERR_ARGUMENT },
        { SOURCES("{\"source\": \"a\", \"weight\": -1}"), "\"weight\"", SHEAF_ERR_ARGUMENT },
        { SOURCES("{\"source\": \"a\", \"weight\": 1, \"repeat\": 1}"), "beside",
          SHEAF_ERR_ARGUMENT },
        { SOURCES("{\"source\": \"a\", \"weight\": 1}, {\"source\": \"b\"}"), "1 of 2",
          SHEAF_ERR_ARGUMENT },
        { SOURCES("{\"source\": \"a\", \"repeat\": 0}"), "all repeats are 0", SHEAF_ERR_ARGUMENT },
        { SOURCES("{\"source\": \"a\", \"repeat\": 0.1234567}"), "decimals", SHEAF_ERR_ARGUMENT },
        { SOURCES("{\"source\": \"a\", \"where\": {\"class\": [\"x\"]}}"),
          "\"where\" has the unknown name \"class\": expected one of \"classes\", \"label\"",
          SHEAF_ERR_ARGUMENT },
        { SOURCES("{\"source\": \"a\", \"where\": {\"label\": [1, [5, 4]]}}"),
          "\"label\" that no sample", SHEAF_ERR_ARGUMENT },
        { SOURCES("{\"source\": \"a\", \"where\": {\"label\": []}}"),
          "not a list of labels", SHEAF_ERR_ARGUMENT },
        { SOURCES("{\"source\": \"a\", \"where\": {\"label\": [\"cat\"]}}"),
          "not a whole number", SHEAF_ERR_ARGUMENT },
        { SOURCES("{\"source\": \"a\", \"where\": {\"label\": [1], \"labels\": [1, 2]}}"),
          "both", SHEAF_ERR_ARGUMENT },
        { SOURCES("{\"source\": \"a\", \"where\": {\"columns\": []}}"), "list of conditions",
          SHEAF_ERR_ARGUMENT },
        { SOURCES("{\"source\": \"a\", \"where\": {\"columns\": [[\"q.s\", \">\"]]}}"),
          "a field, a comparison and a number", SHEAF_ERR_ARGUMENT },
        { SOURCES("{\"source\": \"a\", \"where\": {\"columns\": [[\"q.s\", \">\", true]]}}"),
          "a field, a comparison and a number", SHEAF_ERR_ARGUMENT },
        { SOURCES("{\"source\": \"a\", \"where\": {\"columns\": [[\"q.s\", \"=\", 1]]}}"),
          "expected <, <=, >, >=, == or !=", SHEAF_ERR_ARGUMENT },
        { SOURCES("{\"source\": \"a\", \"where\": {\"columns\": [[\"score\", \">\", 1]]}}"),
          "a column, a dot and a field", SHEAF_ERR_ARGUMENT },
        { SOURCES("{\"source\": \"a\", \"where\": {\"columns\": [[\"Q.s\", \">\", 1]]}}"),
          "a column, a dot and a field", SHEAF_ERR_ARGUMENT },
        { SOURCES("{\"source\": \"a\", \"where\": {\"classes\": []}}"), "list of names",
          SHEAF_ERR_ARGUMENT },
        { SOURCES("{\"source\": \"a\", \"where\": {\"labels\": [3, 2]}}"), "no sample",
          SHEAF_ERR_ARGUMENT },
        { SOURCES("{\"source\": \"a\", \"where\": {\"range\": [3, 3]}}"), "no sample",
          SHEAF_ERR_ARGUMENT },
        { SOURCES("{\"source\": \"a\", \"where\": {\"every\": [3, 3]}}"), "no sample",
          SHEAF_ERR_ARGUMENT },
        { SOURCES("{\"source\": \"a\", \"where\": {\"every\": [0, 0]}}"), "no sample",
          SHEAF_ERR_ARGUMENT },
        { "{\"sheaf_view\": 1, \"samples\": 3, \"sources\": [{\"source\": \"a\"}]}",
          "as long as its sources", SHEAF_ERR_ARGUMENT },
        { "{\"sheaf_view\": 1, \"samples\": 0, \"sources\": [{\"source\": \"a\", \"weight\": 1}]}",
          "\"samples\"", SHEAF_ERR_ARGUMENT },
        { "{\"sheaf_view\": 1, \"until\": \"any\","
          " \"sources\": [{\"source\": \"a\", \"weight\": 1}]}",
          "neither", SHEAF_ERR_ARGUMENT },
        { "{\"sheaf_view\": 1, \"sources\": [{\"source\": \"a\"}], \"stages\": [{}]}", "stages",
          SHEAF_ERR_ARGUMENT },
        { "{\"sheaf_view\": 1, \"samples\": 9, \"sources\": [{\"source\": \"a\", \"weight\": 1}],"
          " \"stages\": [{\"samples\": 5, \"weights\": [1]}, {\"samples\": 5, \"weights\": [1]}]}",
          "stage 2", SHEAF_ERR_ARGUMENT },
        { "{\"sheaf_view\": 1, \"samples\": 9, \"sources\": [{\"source\": \"a\", \"weight\": 1}],"
          " \"stages\": [{\"samples\": 5, \"weights\": [1, 2]}]}", "stage 1: \"weights\"",
          SHEAF_ERR_ARGUMENT },
        { "{\"sheaf_view\": 1, \"classes\": \"so\", \"sources\": [{\"source\": \"a\"}]}", "by-name",
          SHEAF_ERR_ARGUMENT },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct sheaf_error err = { 0 };
        struct view v;

        assert_int_equal(view_parse(cases[i].text, strlen(cases[i].text), &v, &err),
                         cases[i].code);
        assert_non_null(strstr(err.message, cases[i].reason));
    }
}

/* Tests that every prefix of a document is refused. */
static void test_prefixes(void **state)
{
    (void)state;
    for (size_t size = 0; size + 1 < sizeof(whole); size++) {
        struct sheaf_error err;
        struct view v;

        assert_int_equal(view_parse(whole, size, &v, &err), SHEAF_ERR_CORRUPT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),    cmocka_unit_test(test_text),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_begins),   cmocka_unit_test(test_refused),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_prefixes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
