/* SPDX-License-Identifier: MIT
 *
 * Tests the classes of several data sets: they are merged by name, continue each other's numbers,
 * or are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "reader/dataset/classes.h"

#define LISTS_MOST 4

static const char *const cat_dog[] = { "cat", "dog" };
static const char *const dog_bird[] = { "dog", "bird" };
static const char *const cat_dog_fish[] = { "cat", "dog", "fish" };
static const char *const cat_cat[] = { "cat", "cat" };

struct merged {
    char **names;
    size_t count;
    uint32_t *maps[LISTS_MOST];
};

static int merge(struct merged *m, const struct named_classes *lists, size_t count,
                 struct sheaf_error *err)
{
    memset(m, 0, sizeof(*m));
    return classes_merge(lists, count, &m->names, &m->count, m->maps, err);
}

static void clear(struct merged *m)
{
    for (size_t i = 0; i < m->count; i++)
        free(m->names[i]);
    free(m->names);
    for (size_t i = 0; i < LISTS_MOST; i++)
        free(m->maps[i]);
}

static void names_are(const struct merged *m, const char *const *names, size_t count)
{
    assert_int_equal(m->count, count);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(m->names[i], names[i]);
}

static void test_new_names_come_last(void **state)
{
    static const char *const all[] = { "cat", "dog", "bird", "fish" };
    const struct named_classes lists[] = {
        { "a", cat_dog, 2, 0 }, { "b", dog_bird, 2, 0 }, { "c", cat_dog_fish, 3, 0 },
    };
    struct merged m;

    (void)state;
    assert_int_equal(merge(&m, lists, 3, NULL), SHEAF_OK);
    names_are(&m, all, 4);
    assert_null(m.maps[0]);
    assert_int_equal(m.maps[1][0], 1);
    assert_int_equal(m.maps[1][1], 2);
    assert_int_equal(m.maps[2][0], 0);
    assert_int_equal(m.maps[2][1], 1);
    assert_int_equal(m.maps[2][2], 3);
    clear(&m);
}

/* Tests that all numbers stay if the lists of classes agree as far as both go, even if a name
 * occurs twice. */
static void test_same_lists_stay(void **state)
{
    const struct named_classes same[] = { { "a", cat_dog, 2, 1 }, { "b", cat_dog_fish, 3, 1 },
                                       { "c", cat_dog, 2, 1 } };
    const struct named_classes twice[] = { { "a", cat_cat, 2, 0 }, { "b", cat_cat, 2, 0 } };
    struct merged m;

    (void)state;
    assert_int_equal(merge(&m, same, 3, NULL), SHEAF_OK);
    names_are(&m, cat_dog_fish, 3);
    assert_true(m.maps[0] == NULL && m.maps[1] == NULL && m.maps[2] == NULL);
    clear(&m);
    assert_int_equal(merge(&m, twice, 2, NULL), SHEAF_OK);
    names_are(&m, cat_cat, 2);
    assert_true(m.maps[0] == NULL && m.maps[1] == NULL);
    clear(&m);
}

static void test_another_base_is_another_number(void **state)
{
    const struct named_classes lists[] = { { "a", cat_dog, 2, 0 }, { "b", cat_dog, 2, 1 } };
    struct merged m;

    (void)state;
    assert_int_equal(merge(&m, lists, 2, NULL), SHEAF_OK);
    names_are(&m, cat_dog, 2);
    assert_int_equal(m.maps[1][0], 0);
    assert_int_equal(m.maps[1][1], 1);
    clear(&m);
}

static void test_without_names(void **state)
{
    const struct named_classes none[] = { { "a", NULL, 0, 0 }, { "b", NULL, 0, 1 } };
    const struct named_classes some[] = { { "a", NULL, 0, 0 }, { "b", cat_dog, 2, 0 },
                                       { "c", NULL, 0, 0 } };
    struct sheaf_error error;
    struct merged m;

    (void)state;
    assert_int_equal(merge(&m, none, 2, NULL), SHEAF_OK);
    assert_int_equal(m.count, 0);
    assert_true(m.maps[0] == NULL && m.maps[1] == NULL);
    clear(&m);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(merge(&m, some + i, 2, &error), SHEAF_ERR_UNSUPPORTED);
        assert_non_null(strstr(error.message, i == 0 ? "a: its classes have no names, but those of "
                                                       "b have" : "c: its classes have no names, "
                                                                  "but those of b have"));
        clear(&m);
    }
}

static void test_a_name_twice(void **state)
{
    const struct named_classes lists[] = { { "a", cat_dog, 2, 0 }, { "b", cat_cat, 2, 0 },
                                        { "c", cat_dog, 2, 0 } };
    struct sheaf_error error;
    struct merged m;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(merge(&m, lists + i, 2, &error), SHEAF_ERR_UNSUPPORTED);
        assert_non_null(strstr(error.message, "two are named \"cat\""));
        clear(&m);
    }
}

static void test_many(void **state)
{
    enum { COUNT = 5000 };
    static char text[2 * COUNT][8];
    static const char *names[2 * COUNT];
    const struct named_classes lists[] = { { "a", names, COUNT, 0 },
                                        { "b", names + COUNT / 2, COUNT, 0 } };
    struct merged m;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        snprintf(text[i], sizeof(text[i]), "c%zu", i);
        names[i] = text[i];
    }
    assert_int_equal(merge(&m, lists, 2, NULL), SHEAF_OK);
    names_are(&m, names, COUNT + COUNT / 2);
    for (uint32_t i = 0; i < COUNT; i++)
        assert_int_equal(m.maps[1][i], i + COUNT / 2);
    clear(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new_names_come_last),
        cmocka_unit_test(test_same_lists_stay),
        cmocka_unit_test(test_another_base_is_another_number),
        cmocka_unit_test(test_without_names),
        cmocka_unit_test(test_a_name_twice),
        cmocka_unit_test(test_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
