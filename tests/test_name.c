/* SPDX-License-Identifier: MIT
 *
 * Compares the key rule with the results of webdataset's regular expression, and tests names that
 * must be refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "formats/format.h"
#include "formats/name.h"

#define TEXT_15  "fifteen letters"
#define TEXT_60  TEXT_15 TEXT_15 TEXT_15 TEXT_15
#define TEXT_255 TEXT_60 TEXT_60 TEXT_60 TEXT_60 TEXT_15

static void splits_as_webdataset_does(void **state)
{
    /* The results of the regular expression ^((?:.*\/|)[^.]+)[.]([^\/]*)$. */
    static const struct {
        const char *path, *key, *suffix;
    } cases[] = {
        { "a.jpg", "a", "jpg" },
        { "001.ak47/001_0001.jpg", "001.ak47/001_0001", "jpg" },
        { "a/b.seg.png", "a/b", "seg.png" },
        { "a.b.c/d.e/f g.tar.gz", "a.b.c/d.e/f g", "tar.gz" },
        { "a..jpg", "a", ".jpg" },
        { "/abs/x.y", "/abs/x", "y" },
    };
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(cases); i++) {
        const char *suffix;
        size_t size;

        assert_true(name_split(cases[i].path, &size, &suffix));
        assert_int_equal(size, strlen(cases[i].key));
        assert_memory_equal(cases[i].path, cases[i].key, size);
        assert_string_equal(suffix, cases[i].suffix);
    }
}

static void does_not_split(void **state)
{
    static const char *const paths[] = { "", "README", "a.d/README", ".hidden", "a/.hidden.jpg",
                                         "a.", "a/b.", ".", "..", "/" };
    const char *suffix;
    size_t i, size;

    (void)state;
    for (i = 0; i < COUNT_OF(paths); i++)
        assert_false(name_split(paths[i], &size, &suffix));
}

static void has_a_stem(void **state)
{
    char longest[] = "a/" TEXT_255 ".tar", longer[] = "a/x" TEXT_255 ".tar";
    const struct {
        const char *name, *stem;
    } cases[] = {
        { "d.x/train.v2.tfrecord", "train.v2" },
        { "shard-000000.tar", "shard-000000" },
        { "train", "train" },
        { "c10.tfrecord-00000-of-00002", "c10.tfrecord-00000-of-00002" },
        { "c10.tfrecord-00000-of-00002.gz", "c10.tfrecord-00000-of-00002" },
        { "a/train.part1.tar.zst", "train.part1" },
        { "train.00", "train.00" },
        { "train.bin", "train" },
        { "train.v1.BIN", "train.v1" },
        { "s3://bucket/a\xc3\x84.tar.gz", "a\xc3\x84" },
        { longest, TEXT_255 },
        { longer, "shard" },
        { "", "shard" },
        { "a/", "shard" },
        { "a/.hidden", "shard" },
        { "a/\x01.tar", "shard" },
        { "a/\xc3.tar", "shard" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct text stem = name_stem(cases[i].name);

        assert_int_equal(stem.size, strlen(cases[i].stem));
        assert_memory_equal(stem.data, cases[i].stem, stem.size);
    }
}

static void lowers_ascii_only(void **state)
{
    char name[] = "SEG.Png\xc3\x84Z", lower[] = "a1.z\xc3\x84";

    (void)state;
    assert_true(name_lower(name));
    assert_string_equal(name, "seg.png\xc3\x84z");
    assert_false(name_lower(lower));
}

static void has_no_problem(void **state)
{
    static const char *const paths[] = {
        "a.jpg", "d e/f.g", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80.txt", "_x_.jpg", "__x.jpg",
        "a/__x__.jpg", "a/__x__/b.jpg", "a...b", "...a/b.c",
    };
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(paths); i++)
        assert_null(name_problem(paths[i]));
}

static void has_a_problem(void **state)
{
    static const struct {
        const char *path, *about;
    } cases[] = {
        { "", "empty" },
        { "/a.jpg", "absolute" },
        { "a//b.jpg", "empty component" },
        { "a/", "empty component" },
        { "./a.jpg", "\".\"" },
        { "a/../b.jpg", "\"..\"" },
        { "..", "\"..\"" },
        { "a\nb.jpg", "control" },
        { "a\x7f.jpg", "control" },
        { "__x__", "__this__" },
        { "__x__/a.jpg", "__this__" },
        { "__a.jpg__", "__this__" },
        { "README", "key.suffix" },
        { "a/.jpg", "key.suffix" },
        { "a.", "key.suffix" },
        { "a.__key__", "reserved" },
        /* Latin-1, overlong, surrogate, beyond Unicode, truncated, stray continuation byte */
        { "\xe4.jpg", "UTF-8" },
        { "\xc0\xaf.jpg", "UTF-8" },
        { "\xe0\x80\xaf.jpg", "UTF-8" },
        { "\xed\xa0\x80.jpg", "UTF-8" },
        { "\xf4\x90\x80\x80.jpg", "UTF-8" },
        { "\xf5\x80\x80\x80.jpg", "UTF-8" },
        { "a.jpg\xe2\x82", "UTF-8" },
        { "\x80.jpg", "UTF-8" },
    };
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(cases); i++) {
        const char *problem = name_problem(cases[i].path);

        assert_non_null(problem);
        if (strstr(problem, cases[i].about) == NULL)
            fail_msg("%s: \"%s\" found where \"%s\" is expected", cases[i].path, problem,
                     cases[i].about);
    }
}

static void has_a_longest_name(void **state)
{
    char path[KEY_LIMIT + 2];

    (void)state;
    memset(path, 'a', sizeof(path));
    path[1] = '.';
    path[KEY_LIMIT] = '\0';
    assert_null(name_problem(path));
    path[KEY_LIMIT] = 'a';
    path[KEY_LIMIT + 1] = '\0';
    assert_non_null(strstr(name_problem(path), "longer"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(splits_as_webdataset_does),
        cmocka_unit_test(does_not_split),
        cmocka_unit_test(has_a_stem),
        cmocka_unit_test(lowers_ascii_only),
        cmocka_unit_test(has_no_problem),
        cmocka_unit_test(has_a_problem),
        cmocka_unit_test(has_a_longest_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
