/* SPDX-License-Identifier: MIT
 *
 * Tests the inspection of a destination. Everything that can be there, alone and together, must be
 * found, and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "publish/destination.h"
#include "sheaf.h"
#include "tests/common_must.h"
#include "tests/common_tree.h"

#define ALL (INSPECT_CLAIM | INSPECT_DATASET | INSPECT_WHOLE | INSPECT_FILES)
#define OTHER_HASH "0123456789abcdef0123456789abcdef"
#define MANIFEST "out/" MANIFEST_NAME

static struct tree tree;
static struct sheaf_error error;
static struct output output;
static struct destination found;
static char dest[TREE_PATH];

/* ---- What is there --------------------------------------------------------------------------- */

/* Opens an output with the plan of the existing data set, if there is one. */
static void open_output(void)
{
    struct manifest m;
    char *hash = NULL;

    output_close(&output);
    must(output_open(&output, dest, format_of(SHEAF_WEBDATASET), NULL, "shard", &error));
    must(output_add_split(&output, "", 0, &error));
    if (destination_read_manifest(dest, &m, NULL) != SHEAF_OK)
        return;
    must(manifest_option(&m, "plan", &hash, &error));
    assert_non_null(hash);
    memcpy(output.plan_hash, hash, PLAN_HASH_SIZE);
    memcpy(output.journal.plan.hash, hash, PLAN_HASH_SIZE);
    free(hash);
    manifest_clear(&m);
}

static void pack(const char *split)
{
    struct sheaf_pack_options o;

    sheaf_pack_options_init(&o, sizeof(o));
    o.container = SHEAF_WEBDATASET;
    o.shard_bytes = 500;
    o.split = split;
    must(sheaf_pack(tree_path(&tree, "source"), dest, &o, NULL, &error));
    open_output();
}

static void claim(const char *hash)
{
    const struct store_seen nothing = { .is_there = false };
    char own[PLAN_HASH_SIZE];

    memcpy(own, output.journal.plan.hash, sizeof(own));
    if (hash != NULL)
        memcpy(output.journal.plan.hash, hash, PLAN_HASH_SIZE);
    must(journal_claim(&output.journal, &nothing, "", CLAIM_READY, &error));
    memcpy(output.journal.plan.hash, own, sizeof(own));
}

static void inspect(unsigned asked)
{
    destination_clear(&found);
    must(destination_inspect(&output, asked, &found, &error));
}

static int refuse(unsigned what)
{
    return destination_refuse(&output, &found, what, &error);
}

static int setup(void **state)
{
    char path[64];

    (void)state;
    tree_make(&tree);
    for (int i = 0; i < 8; i++) {
        snprintf(path, sizeof(path), "source/x/%d.bin", i);
        tree_text(&tree, path, "some bytes that are packed");
    }
    snprintf(dest, sizeof(dest), "%s", tree_path(&tree, "out"));
    output.lock = -1;
    open_output();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    destination_clear(&found);
    output_close(&output);
    tree_remove(&tree);
    return 0;
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static void assert_empty(void)
{
    assert_int_equal(found.claim, CLAIM_ABSENT);
    assert_null(found.dataset);
    assert_false(found.is_finished);
    assert_int_equal(found.fault.code, SHEAF_OK);
    assert_false(found.has_leftovers);
    assert_null(found.unknown);
}

static void nothing_is_nothing(void **state)
{
    (void)state;
    inspect(ALL);
    assert_empty();
    tree_text(&tree, "out/notes.txt", "");
    tree_text(&tree, "out/shard-1.tar", "");            /* this name is not the name of a shard */
    tree_text(&tree, "out/below/shard-000000.tar", "");
    tree_text(&tree, "out/.sheaf-partial/killed.tmp", "");
    inspect(ALL);
    assert_empty();
}

static void claims_are_told_apart(void **state)
{
    (void)state;
    claim(NULL);
    inspect(INSPECT_CLAIM);
    assert_int_equal(found.claim, CLAIM_OF_PLAN);
    assert_string_equal(found.holder.run, output.journal.plan.run);
    assert_true(found.claim_seen.is_there);
    inspect(ALL);
    assert_true(found.has_leftovers);
    assert_null(found.dataset);
    assert_int_equal(destination_refuse_no_run(&output, &found, &error), SHEAF_OK);

    tree_delete(&tree, "out/.sheaf-partial/plan");
    claim(OTHER_HASH);
    inspect(INSPECT_CLAIM);
    assert_int_equal(found.claim, CLAIM_OF_OTHER_PLAN);
    assert_int_equal(destination_refuse_no_run(&output, &found, &error), SHEAF_ERR_CHANGED);
    assert_non_null(strstr(error.message, found.holder.holder));

    tree_text(&tree, "out/.sheaf-partial/plan", "no claim");
    inspect(INSPECT_CLAIM);
    assert_int_equal(found.claim, CLAIM_DAMAGED);
    assert_int_equal(destination_refuse_no_run(&output, &found, &error), SHEAF_ERR_CORRUPT);
}

static void a_data_set_is_of_its_plan(void **state)
{
    (void)state;
    pack(NULL);
    inspect(ALL);
    assert_string_equal(found.dataset, dest);
    assert_true(found.is_finished);
    assert_false(found.has_leftovers);
    assert_null(found.unknown);
    assert_int_equal(refuse(REFUSE_FAULT | REFUSE_OTHER_DATASET), SHEAF_OK);
    assert_int_equal(refuse(REFUSE_DATASET), SHEAF_ERR_EXISTS);

    memcpy(output.plan_hash, OTHER_HASH, PLAN_HASH_SIZE);
    inspect(ALL);
    assert_string_equal(found.dataset, dest);
    assert_false(found.is_finished);
    assert_null(found.unknown);
    assert_int_equal(refuse(REFUSE_FAULT | REFUSE_OTHER_DATASET), SHEAF_ERR_EXISTS);
}

static void what_is_missing_is_a_fault(void **state)
{
    (void)state;
    pack(NULL);
    tree_text(&tree, "out/shard-000000.tar", "short");
    inspect(INSPECT_DATASET);
    assert_true(found.is_finished);
    inspect(ALL);
    assert_false(found.is_finished);
    assert_int_equal(found.fault.code, SHEAF_ERR_CHANGED);
    tree_delete(&tree, "out/shard-000000.tar");
    inspect(ALL);
    assert_false(found.is_finished);
    assert_int_equal(found.fault.code, SHEAF_ERR_CHANGED);
    assert_non_null(strstr(found.fault.message, "shard-000000.tar (missing)"));
    assert_int_equal(refuse(REFUSE_FAULT | REFUSE_OTHER_DATASET), SHEAF_ERR_CHANGED);
}

static void an_unreadable_manifest_is_a_fault(void **state)
{
    (void)state;
    tree_text(&tree, MANIFEST, "{");
    inspect(ALL);
    assert_string_equal(found.dataset, dest);
    assert_false(found.is_finished);
    assert_int_equal(found.fault.code, SHEAF_ERR_CORRUPT);
    assert_non_null(strstr(found.fault.message, MANIFEST));
}

static void a_run_at_work_is_no_data_set(void **state)
{
    (void)state;
    tree_text(&tree, MANIFEST, "{\"unfinished\": \"0123456789abcdef0123456789abcdef\"}\n");
    inspect(ALL);
    assert_empty();
}

static void files_of_nobody_are_found(void **state)
{
    (void)state;
    tree_text(&tree, "out/shard-000123.txt", "the user's");
    inspect(ALL);
    assert_string_equal(found.unknown, tree_path(&tree, "out/shard-000123.txt"));
    assert_int_equal(refuse(REFUSE_UNKNOWN), SHEAF_ERR_EXISTS);
    tree_delete(&tree, "out/shard-000123.txt");
    pack(NULL);
    inspect(ALL);
    assert_null(found.unknown);
    tree_text(&tree, "out/shard-000123.txt", "the user's");
    inspect(ALL);
    assert_non_null(found.unknown);
    /* Packed shards of another run, and files that it is removing, are not unknown files. */
    tree_text(&tree, "out/.sheaf-partial/shard-000123.tar." OTHER_HASH ".done", "");
    inspect(ALL);
    assert_null(found.unknown);
    assert_int_equal(rename(tree_path(&tree, MANIFEST),
                            tree_path(&tree, "out/.sheaf-partial/" REPLACED_NAME)), 0);
    inspect(ALL);
    assert_null(found.dataset);
    assert_null(found.unknown);
}

/* Tests that a split which this run does not have is found, because it belongs to the existing data
 * set. */
static void splits_are_found(void **state)
{
    (void)state;
    pack("train=0.5,val=0.5");
    inspect(INSPECT_DATASET);
    assert_null(found.dataset);
    inspect(ALL);
    assert_non_null(found.dataset);
    assert_int_equal(strncmp(found.dataset, dest, strlen(dest)), 0);
    assert_false(found.is_finished);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_nothing),
        TEST(claims_are_told_apart),
        TEST(a_data_set_is_of_its_plan),
        TEST(what_is_missing_is_a_fault),
        TEST(an_unreadable_manifest_is_a_fault),
        TEST(a_run_at_work_is_no_data_set),
        TEST(files_of_nobody_are_found),
        TEST(splits_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
