/* SPDX-License-Identifier: MIT
 *
 * Tests lists of objects: directories, manifests, augmented manifests, and malformed lists. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "modes/objects.h"
#include "tests/common_tree.h"

static struct tree tree;
static struct objects objects;
static struct sheaf_error error;

static int setup(void **state)
{
    (void)state;
    tree_make(&tree);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    objects_free(&objects);
    tree_remove(&tree);
    return 0;
}

static int list(const char *path, const char *attributes)
{
    struct watch watch = { .interrupt = NULL };

    objects_free(&objects);
    return objects_list(tree_path(&tree, path), attributes, &watch, &objects, &error);
}

static int list_text(const char *path, const char *text, const char *attributes)
{
    tree_text(&tree, path, text);
    return list(path, attributes);
}

static void is(size_t i, const char *name, const char *text)
{
    assert_true(i < objects.count);
    assert_string_equal(objects.items[i].name, name);
    if (text == NULL) {
        assert_null(objects.items[i].text);
        return;
    }
    assert_int_equal(objects.items[i].bytes, strlen(text));
    assert_memory_equal(objects.items[i].text, text, strlen(text));
}

static void directories_in_byte_order(void **state)
{
    (void)state;
    tree_text(&tree, "d/b/2", "22");
    tree_text(&tree, "d/b.x", "333");
    tree_text(&tree, "d/README", "");
    tree_text(&tree, "d/.sheaf-partial/1", "no object");
    tree_text(&tree, "d/x/.sheaf-partial/1", "nor this");
    assert_int_equal(list("d", NULL), SHEAF_OK);
    assert_int_equal(objects.count, 3);
    assert_int_equal(objects.unit_count, 3);
    is(0, "README", NULL);
    is(1, "b.x", NULL);
    is(2, "b/2", NULL);
    assert_int_equal(objects.items[2].bytes, 2);
}

static void one_object(void **state)
{
    char *url;

    (void)state;
    assert_int_equal(list_text("a/train.rec", "x", NULL), SHEAF_OK);
    assert_int_equal(objects.count, 1);
    is(0, "train.rec", NULL);
    url = object_url(&objects, &objects.items[0]);
    assert_string_equal(url, tree_path(&tree, "a/train.rec"));
    free(url);
}

static void nothing(void **state)
{
    (void)state;
    tree_text(&tree, "d/.sheaf-partial/1", "no object");
    assert_int_equal(list("d", NULL), SHEAF_ERR_NOT_FOUND);
    assert_int_equal(list_text("m.manifest", "[{\"prefix\": \"s3://b/\"}]", NULL),
                     SHEAF_ERR_NOT_FOUND);
    assert_int_equal(list_text("a.manifest", "{}\n", "x-ref"), SHEAF_ERR_CORRUPT);
}

static void manifests_as_given(void **state)
{
    char *url;

    (void)state;
    assert_int_equal(list_text("m.manifest", "[{\"prefix\": \"s3://b/p/\"}, \"z/2.tar\",\n\"a\"]",
                               NULL), SHEAF_OK);
    assert_int_equal(objects.count, 2);
    is(0, "z/2.tar", NULL);
    is(1, "a", NULL);
    assert_true(objects.items[0].bytes == OBJECT_UNKNOWN);
    url = object_url(&objects, &objects.items[0]);
    assert_string_equal(url, "s3://b/p/z/2.tar");
    free(url);
    assert_int_equal(list("m.manifest", "a"), SHEAF_ERR_ARGUMENT);
}

static void malformed_manifests(void **state)
{
    static const char *const texts[] = {
        "[]", "[", "[{}]", "[{\"prefix\": 1}]", "[{\"prefix\": \"b\"}]",
        "[{\"prefix\": \"s3://b/\"}, 1]", "[{\"prefix\": \"s3://b/\"}, \"\"]",
        "[{\"prefix\": \"s3://b/\"}, \"a\"", "[{\"prefix\": \"s3://b/\"} \"a\"]",
        "[{\"prefix\": \"s3://b/\"}, \"a\"] x", "[{\"prefix\": \"s3://b/\"}, \"a\\u0000b\"]",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_int_equal(list_text("m.manifest", texts[i], NULL), SHEAF_ERR_CORRUPT);
        assert_non_null(strstr(error.message, "m.manifest: entry "));
    }
}

#define LINES                                                                                   \
    "{\"a-ref\": \"s3://b/k/1.jpg\", \"n\":1.50, \"s\": \"c\\u0061t\", \"o\": {\"x\": [1, 2]}}\n" \
    "\n{\"s\": \"\", \"o\":  null , \"n\": -1, \"a-ref\": \"s3://c/2\"}"

static void augmented_attributes_in_order(void **state)
{
    (void)state;
    assert_int_equal(list_text("x.manifest", LINES, "n,a-ref,s,o"), SHEAF_OK);
    assert_int_equal(objects.count, 8);
    assert_int_equal(objects.unit_count, 2);
    assert_int_equal(objects_unit(&objects, 1), 4);
    assert_int_equal(objects_unit(&objects, 2), 8);
    is(0, "n", "1.50");
    is(1, "k/1.jpg", NULL);
    assert_string_equal(objects.items[1].url, "s3://b/k/1.jpg");
    is(2, "s", "cat");
    is(3, "o", "{\"x\": [1, 2]}");
    is(4, "n", "-1");
    is(5, "2", NULL);
    is(6, "s", "");
    is(7, "o", "null");
}

static void augmented_objects_alone(void **state)
{
    (void)state;
    assert_int_equal(list_text("x.manifest", LINES, NULL), SHEAF_OK);
    assert_int_equal(objects.count, 2);
    assert_int_equal(objects.unit_count, 2);
    is(0, "k/1.jpg", NULL);
    is(1, "2", NULL);
}

static void malformed_augmented(void **state)
{
    static const struct { const char *text, *says; } cases[] = {
        { "{\"a-ref\": \"s3://b/1\"}\n{\"a-ref\": 1}", "line 2: \"a-ref\" is not the URL" },
        { "{\"a-ref\": \"s3://b\"}", "line 1: \"a-ref\" is not the URL" },
        { "{\"a-ref\": \"s3://b/\"}", "is not the URL" },
        { "{\"b-ref\": \"s3://b/1\"}", "\"a-ref\" is missing" },
        { "{\"a-ref\": \"s3://b/1\"", "not JSON" },
        { "{\"a-ref\": \"s3://b/1\", \"a-ref\": \"s3://b/2\"}", "not JSON" },
        { "{\"a-ref\": \"s3://b/1\"}\n[]", "line 2: expected a JSON object" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(list_text("x.manifest", cases[i].text, "a-ref"), SHEAF_ERR_CORRUPT);
        assert_non_null(strstr(error.message, cases[i].says));
    }
}

static void wrong_attributes(void **state)
{
    (void)state;
    assert_int_equal(list_text("x.manifest", LINES, ""), SHEAF_ERR_ARGUMENT);
    assert_int_equal(list("x.manifest", "n,,s"), SHEAF_ERR_ARGUMENT);
    assert_int_equal(list("x.manifest", "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17"),
                     SHEAF_ERR_ARGUMENT);
}

/* Tests requests for the sizes of local objects. An object that does not exist is named. */
static void asking(void **state)
{
    struct watch watch = { .interrupt = NULL };
    char text[600];
    const uint32_t units[] = { 0, 1 };

    (void)state;
    tree_text(&tree, "one", "12345");
    snprintf(text, sizeof(text), "{\"a-ref\": \"file://%s\"}\n{\"a-ref\": \"file://%s\"}",
             tree_path(&tree, "one"), tree_path(&tree, "none"));
    assert_int_equal(list_text("x.manifest", text, "a-ref"), SHEAF_OK);
    assert_int_equal(objects_ask(&objects, units, 1, &watch, &error), SHEAF_OK);
    assert_int_equal(objects.items[0].bytes, 5);
    assert_true(objects.items[1].bytes == OBJECT_UNKNOWN);
    assert_int_equal(objects_ask(&objects, units, 2, &watch, &error), SHEAF_ERR_NOT_FOUND);
    assert_non_null(strstr(error.message, "none"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(directories_in_byte_order, setup, teardown),
        cmocka_unit_test_setup_teardown(one_object, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(manifests_as_given, setup, teardown),
        cmocka_unit_test_setup_teardown(malformed_manifests, setup, teardown),
        cmocka_unit_test_setup_teardown(augmented_attributes_in_order, setup, teardown),
        cmocka_unit_test_setup_teardown(augmented_objects_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(malformed_augmented, setup, teardown),
        cmocka_unit_test_setup_teardown(wrong_attributes, setup, teardown),
        cmocka_unit_test_setup_teardown(asking, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
