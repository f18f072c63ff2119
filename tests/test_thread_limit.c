/* SPDX-License-Identifier: MIT
 *
 * Tests that each call refuses too many threads or jobs when it checks its options. The error must
 * name the option, and nothing may be made. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sheaf.h"
#include "tests/common_must.h"
#include "tests/common_tree.h"

#define MANY (SHEAF_THREADS_MOST + 1)

static struct tree tree;
static struct sheaf_error error;
static struct sheaf_dataset *dataset;
static char source[TREE_PATH], set[TREE_PATH], out[TREE_PATH];

static void refused(int code, const char *option)
{
    char message[64];

    snprintf(message, sizeof(message), "%s is %u, expected at most %u", option, MANY,
             SHEAF_THREADS_MOST);
    assert_int_equal(code, SHEAF_ERR_ARGUMENT);
    assert_string_equal(error.message, message);
    assert_false(tree_has(&tree, "out"));
}

static void test_packing(void **state)
{
    const char *const sources[] = { source };
    struct sheaf_pack_options o;
    struct sheaf_reader_options reading;
    struct sheaf_packer *packer;

    (void)state;
    sheaf_pack_options_init(&o, sizeof(o));
    sheaf_reader_options_init(&reading, sizeof(reading));
    o.container = SHEAF_WEBDATASET;
    o.jobs = MANY;
    refused(sheaf_pack(source, out, &o, NULL, &error), "jobs");
    refused(sheaf_plan_make(sources, 1, out, tree_path(&tree, "out"), &o, NULL, &error), "jobs");
    refused(sheaf_packer_open(out, &o, &packer, &error), "jobs");
    refused(sheaf_convert(dataset, out, &o, &reading, NULL, NULL, &error), "jobs");
    refused(sheaf_append(sources, 1, set, &o, NULL, &error), "jobs");
}

static void test_changes(void **state)
{
    struct sheaf_edit_options edit;
    struct sheaf_repair_options repair;
    struct sheaf_column_options column;
    const char *const from[] = { source };

    (void)state;
    sheaf_edit_options_init(&edit, sizeof(edit));
    edit.purge = 1;
    edit.jobs = MANY;
    refused(sheaf_edit(set, &edit, NULL, 0, &error), "jobs");
    sheaf_repair_options_init(&repair, sizeof(repair));
    repair.jobs = MANY;
    refused(sheaf_repair(set, from, 1, &repair, NULL, 0, &error), "jobs");
    sheaf_column_options_init(&column, sizeof(column));
    column.jobs = MANY;
    refused(sheaf_column_add(set, "c", source, &column, NULL, &error), "jobs");
}

static void test_reading(void **state)
{
    struct sheaf_reader_options o;
    struct sheaf_reader *reader;
    struct sheaf_pixels_options pixels;
    struct sheaf_pixels_pool *pool;

    (void)state;
    sheaf_reader_options_init(&o, sizeof(o));
    o.threads = MANY;
    refused(sheaf_reader_open(dataset, &o, &reader, &error), "threads");
    refused(sheaf_unpack(dataset, out, NULL, &o, NULL, NULL, &error), "threads");
    sheaf_pixels_options_init(&pixels, sizeof(pixels));
    refused(sheaf_pixels_pool_open(&pixels, MANY, 1 << 28, &pool, &error), "threads");
}

static void test_checks_and_copies(void **state)
{
    struct sheaf_verify_options o;
    struct sheaf_verify_result result;
    struct sheaf_fetch_options fetch;
    struct sheaf_fetch_result fetched;
    struct sheaf_warm_result warmed;

    (void)state;
    sheaf_verify_options_init(&o, sizeof(o));
    o.threads = MANY;
    refused(sheaf_verify(dataset, &o, &result, &error), "threads");
    refused(sheaf_index(set, NULL, 0, &o, &result, &error), "threads");
    refused(sheaf_index_keys(set, &o, &result, &error), "threads");
    sheaf_fetch_options_init(&fetch, sizeof(fetch));
    fetch.threads = MANY;
    refused(sheaf_fetch(source, out, &fetch, &fetched, &error), "threads");
    refused(sheaf_warm(source, &fetch, &warmed, &error), "threads");
}

static int setup(void **state)
{
    struct sheaf_pack_options o;
    const char *const sources[] = { set };

    (void)state;
    tree_make(&tree);
    tree_text(&tree, "source/a/1.txt", "text");
    snprintf(source, sizeof(source), "%s", tree_path(&tree, "source"));
    snprintf(set, sizeof(set), "%s", tree_path(&tree, "set"));
    snprintf(out, sizeof(out), "%s", tree_path(&tree, "out"));
    sheaf_pack_options_init(&o, sizeof(o));
    o.container = SHEAF_WEBDATASET;
    must(sheaf_pack(source, set, &o, NULL, &error));
    must(sheaf_dataset_open(sources, 1, &dataset, &error));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sheaf_dataset_free(dataset);
    tree_remove(&tree);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_packing),
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_reading),
        cmocka_unit_test(test_checks_and_copies),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
