/* SPDX-License-Identifier: MIT
 *
 * Tests that a destination which contains the source is refused, under whatever name, before
 * anything is removed there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "publish/own_source.h"
#include "sheaf.h"
#include "tests/common_must.h"
#include "tests/common_tree.h"

static struct tree tree;
static struct sheaf_error error;
static struct sheaf_pack_options options;
static struct sheaf_pack_result result;
static char here[TREE_PATH];

static void pack(const char *dest)
{
    must(sheaf_pack(tree_path(&tree, "files"), tree_path(&tree, dest), &options, &result,
                    &error));
}

/* Makes a data set d, a data set s with splits, and a link to d. The tree becomes the working
 * directory. */
static int setup(void **state)
{
    (void)state;
    tree_make(&tree);
    tree_text(&tree, "files/a/1.txt", "one");
    tree_text(&tree, "files/b/2.txt", "two");
    sheaf_pack_options_init(&options, sizeof(options));
    options.shard_count = 2;
    pack("d");
    options.shard_count = 1;
    options.split = "train=0.5,val=rest";
    pack("s");
    options.split = NULL;
    options.shard_count = 0;
    assert_int_equal(symlink("d", tree_path(&tree, "link")), 0);
    assert_non_null(getcwd(here, sizeof(here)));
    assert_int_equal(chdir(tree.root), 0);
    options.overwrite = 1;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    assert_int_equal(chdir(here), 0);
    tree_remove(&tree);
    return 0;
}

static const char *const names_of_d[] = { "d", "d/", "./d", "none/../d", "link", "d/../link//" };

static void a_data_set_is_not_planned_onto_itself(void **state)
{
    const uint64_t before = tree_hash(&tree, "d"), split = tree_hash(&tree, "s");
    const char *source = "d";

    (void)state;
    for (size_t i = 0; i < COUNT_OF(names_of_d); i++) {
        assert_int_equal(sheaf_plan_make(&source, 1, names_of_d[i], "plan", &options, &result,
                                         &error), SHEAF_ERR_ARGUMENT);
        assert_non_null(strstr(error.message, "holds the source"));
    }
    source = "s/train";
    assert_int_equal(sheaf_plan_make(&source, 1, "s", "plan", &options, &result, &error),
                     SHEAF_ERR_ARGUMENT);
    assert_true(tree_hash(&tree, "d") == before);
    assert_true(tree_hash(&tree, "s") == split);
    assert_false(tree_has(&tree, "plan"));
}

static void what_a_program_reads_is_not_replaced(void **state)
{
    const uint64_t before = tree_hash(&tree, "d");
    const char *const sources[] = { "d", "d/dataset.json", "d/shard-000000.tar" };
    struct sheaf_packer *packer;

    (void)state;
    options.source_count = 1;
    for (size_t i = 0; i < COUNT_OF(names_of_d); i++) {
        for (size_t k = 0; k < COUNT_OF(sources); k++) {
            options.sources = &sources[k];
            assert_int_equal(sheaf_packer_open(names_of_d[i], &options, &packer, &error),
                             SHEAF_ERR_ARGUMENT);
        }
    }
    options.sources = sources;
    assert_int_equal(sheaf_packer_open("s", &options, &packer, &error), SHEAF_OK);
    sheaf_packer_free(packer);
    assert_true(tree_hash(&tree, "d") == before);
}

static void files_are_not_packed_into_themselves(void **state)
{
    static const char *const names[] = { "files/out", "files", "x/../files/a", "d/y/../../files" };
    const char *source = "files";

    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        assert_int_equal(sheaf_pack("files", names[i], &options, &result, &error),
                         SHEAF_ERR_ARGUMENT);
        assert_int_equal(sheaf_plan_make(&source, 1, names[i], "plan", &options, &result, &error),
                         SHEAF_ERR_ARGUMENT);
        assert_non_null(strstr(error.message, "into itself"));
    }
    assert_int_equal(tree_count(&tree, "files"), 2);
}

/* The common directory of several sources is not a source itself. */
static void a_place_beside_several_sources_is_none_of_them(void **state)
{
    const char *const sources[] = { "files/a", "files/b" };

    (void)state;
    must(sheaf_plan_make(sources, 2, "files/out", "plan", &options, &result, &error));
    assert_int_equal(sheaf_plan_make(sources, 2, "none/../files/b", "other", &options, &result,
                                     &error), SHEAF_ERR_ARGUMENT);
}

static void objects_are_compared_by_bucket_and_key(void **state)
{
    static const struct { const char *source, *dest; bool is; } cases[] = {
        { "s3://b/d", "s3://b/d", true }, { "s3://b/d", "s3://b/d/", true },
        { "s3://b/d/dataset.json", "s3://b/d", true }, { "s3://b/d/t/x.tar", "s3://b/d", true },
        { "s3://b/d/train", "s3://b/d/", true }, { "s3://b/d", "s3://b/e", false },
        { "s3://b/dd", "s3://b/d", false }, { "s3://b/d", "s3://c/d", false },
        { "s3://b/d/e/f", "s3://b/d", false }, { "d", "s3://b/d", false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_int_equal(refuse_own_source(cases[i].dest, &cases[i].source, 1, &error),
                         cases[i].is ? SHEAF_ERR_ARGUMENT : SHEAF_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_data_set_is_not_planned_onto_itself),
        TEST(what_a_program_reads_is_not_replaced),
        TEST(files_are_not_packed_into_themselves),
        TEST(a_place_beside_several_sources_is_none_of_them),
        TEST(objects_are_compared_by_bucket_and_key),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
