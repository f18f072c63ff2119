/* SPDX-License-Identifier: MIT
 *
 * Tests sheaf_pack with a destination that is not empty. The call resumes, replaces or refuses, and
 * never removes files that belong to no data set. */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "sheaf.h"
#include "tests/common_random.h"
#include "tests/common_tree.h"

static struct tree tree;
static struct sheaf_pack_options options;
static struct sheaf_pack_result result;
static struct sheaf_error err;

static int pack(const char *dest)
{
    return sheaf_pack(tree_path(&tree, "src"), tree_path(&tree, dest), &options, &result, &err);
}

static void pack_well(const char *dest)
{
    const int code = pack(dest);

    if (code != SHEAF_OK)
        print_message("%s\n", err.message);
    assert_int_equal(code, SHEAF_OK);
}

/* Makes a source for about twenty shards. A file in the last shard can be made bad. */
static int setup(void **state)
{
    uint8_t *data = malloc(100000);
    char path[64];
    struct rng rng;

    (void)state;
    tree_make(&tree);
    rng_seed(&rng, RNG_LANE, 6, 0, 0);
    random_bytes(&rng, data, 100000);
    for (int i = 0; i < 200; i++) {
        snprintf(path, sizeof(path), "src/c%d/%03d.bin", i / 20, i);
        tree_write(&tree, path, data + i, 90000);
    }
    free(data);
    tree_write(&tree, "src/z/last.jpg", tiny_jpeg, sizeof(tiny_jpeg));
    sheaf_pack_options_init(&options, sizeof(options));
    options.container = SHEAF_RECORDIO;
    options.shard_bytes = 1000000;
    options.no_shuffle = 1;
    options.jobs = 1;
    err = (struct sheaf_error){ 0 };
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tree_remove(&tree);
    return 0;
}

/* Packs until the last shard, which fails. */
static void pack_most(const char *dest)
{
    uint8_t bad[sizeof(tiny_jpeg)];

    memcpy(bad, tiny_jpeg, sizeof(bad));
    bad[sizeof(bad) - 1] = 0;
    tree_write(&tree, "src/z/last.jpg", bad, sizeof(bad));
    assert_int_equal(pack(dest), SHEAF_ERR_CORRUPT);
    tree_write(&tree, "src/z/last.jpg", tiny_jpeg, sizeof(tiny_jpeg));
    assert_true(tree_has(&tree, "out/.sheaf-partial/plan"));
    assert_false(tree_has(&tree, "out/dataset.json"));
}

static uint64_t hash_of_whole(void)
{
    const int resume = options.resume, overwrite = options.overwrite;
    uint64_t hash;

    options.resume = options.overwrite = 0;
    pack_well("whole");
    hash = tree_hash(&tree, "whole");
    tree_delete(&tree, "whole");
    options.resume = resume;
    options.overwrite = overwrite;
    return hash;
}

static void test_resume(void **state)
{
    const uint64_t whole = hash_of_whole();

    (void)state;
    pack_most("out");
    assert_int_equal(pack("out"), SHEAF_ERR_EXISTS);
    assert_non_null(strstr(err.message, "an unfinished run (process "));
    options.resume = 1;
    pack_well("out");
    assert_true(result.shards_kept >= result.shards - 4 && result.shards_kept < result.shards);
    assert_true(tree_hash(&tree, "out") == whole);
    assert_false(tree_has(&tree, "out/.sheaf-partial"));
}

/* Returns the path of the only file that matches the pattern, because a part of its name is
 * unknown. */
static const char *find(const char *pattern)
{
    static char found[TREE_PATH];
    glob_t matches;

    assert_int_equal(glob(tree_path(&tree, pattern), 0, NULL, &matches), 0);
    assert_int_equal(matches.gl_pathc, 1);
    snprintf(found, sizeof(found), "%s", matches.gl_pathv[0] + strlen(tree.root) + 1);
    globfree(&matches);
    return found;
}

/* Damages each file of a finished shard in turn. A resumed run must make the file again. */
static void test_damage_is_made_good(void **state)
{
    static const char *const files[] = {
        "out/shard-000000.rec", "out/shard-000000.lst", "out/shard-000000.idx",
        "out/.sheaf-partial/shard-000000.rec.*.done",
    };
    const uint64_t whole = hash_of_whole();

    (void)state;
    for (int i = 0; i < 12; i++) {
        const char *file;
        size_t size;
        char *data;

        options.resume = 0;
        pack_most("out");
        file = find(files[i % 4]);
        data = tree_read(&tree, file, &size);
        assert_non_null(data);
        data[size / 2] ^= 1;
        if (i < 4)
            tree_write(&tree, file, data, size);
        else if (i < 8)
            tree_write(&tree, file, data, size - 1);
        else
            tree_delete(&tree, file);
        free(data);
        tree_text(&tree, "out/.sheaf-partial/shard-000001.rec.0123456789abcdef.tmp", "half");
        options.resume = 1;
        pack_well("out");
        assert_true(result.shards_kept > 0 && result.shards_kept < result.shards);
        assert_true(tree_hash(&tree, "out") == whole);
        tree_delete(&tree, "out");
    }
}

static void test_resume_of_another_plan(void **state)
{
    (void)state;
    pack_most("out");
    options.resume = 1;
    options.seed = 1;
    options.no_shuffle = 0;
    assert_int_equal(pack("out"), SHEAF_ERR_CHANGED);
    options.seed = 0;
    options.no_shuffle = 1;
    tree_text(&tree, "src/c0/000.bin", "shorter");
    assert_int_equal(pack("out"), SHEAF_ERR_CHANGED);
    options.resume = 0;
    options.overwrite = 1;
    pack_well("out");
    assert_true(tree_hash(&tree, "out") == hash_of_whole());
}

/* Changes a source file without changing its size. Only its shard must be packed again. */
static void test_a_source_that_changed_is_packed_again(void **state)
{
    uint64_t whole;
    size_t size;
    char *data;

    (void)state;
    pack_most("out");
    data = tree_read(&tree, "src/c0/003.bin", &size);
    data[100] ^= 1;
    tree_write(&tree, "src/c0/003.bin", data, size);
    free(data);
    whole = hash_of_whole();
    options.resume = 1;
    pack_well("out");
    assert_true(result.shards_kept > 0 && result.shards_kept < result.shards);
    assert_true(tree_hash(&tree, "out") == whole);
}

/* Tests that a copy of the source does not count as the same source. */
static void test_resume_from_elsewhere(void **state)
{
    char command[4096];

    (void)state;
    pack_most("out");
    snprintf(command, sizeof(command), "cp -a %s/src %s/src2", tree_path(&tree, "."),
             tree_path(&tree, "."));
    assert_int_equal(system(command), 0);
    options.resume = 1;
    assert_int_equal(sheaf_pack(tree_path(&tree, "src2"), tree_path(&tree, "out"), &options,
                                &result, &err), SHEAF_ERR_CHANGED);
    pack_well("out");
}

static void test_resume_of_nothing_and_of_all(void **state)
{
    uint64_t whole;

    (void)state;
    options.resume = 1;
    pack_well("out");
    assert_int_equal(result.shards_kept, 0);
    whole = tree_hash(&tree, "out");
    pack_well("out");
    assert_int_equal(result.shards_kept, result.shards);
    assert_int_equal(result.samples, 201);
    assert_true(tree_hash(&tree, "out") == whole);
    options.seed = 1;
    options.no_shuffle = 0;
    assert_int_equal(pack("out"), SHEAF_ERR_EXISTS);
    assert_true(tree_hash(&tree, "out") == whole);
}

/* Resumes a run that was killed after it had published the manifest, before its journal was
 * removed. */
static void test_resume_of_a_published_run(void **state)
{
    const uint64_t whole = hash_of_whole();
    size_t size;
    char *manifest;

    (void)state;
    pack_well("whole");
    manifest = tree_read(&tree, "whole/dataset.json", &size);
    pack_most("out");
    tree_write(&tree, "out/dataset.json", manifest, size);
    free(manifest);
    options.resume = 1;
    pack_well("out");
    assert_true(tree_hash(&tree, "out") == whole);
}

/* Tests that a shard from which files were left out is not kept as a complete one. */
static void test_skipped_files_are_remembered(void **state)
{
    char *report;
    size_t size;

    (void)state;
    tree_text(&tree, "src/a/bad.jpg", "");
    options.on_error = SHEAF_SKIP;
    options.container = SHEAF_WEBDATASET;
    options.index = "energon";
    tree_text(&tree, "src/z/last.jpg", "x");
    pack_well("whole");
    /* A file where energon's directory belongs makes publishing fail. So there is a complete
     * journal and no manifest. */
    tree_text(&tree, "out/.nv-meta", "in the way");
    assert_int_not_equal(pack("out"), SHEAF_OK);
    tree_delete(&tree, "out/.nv-meta");
    options.resume = 1;
    pack_well("out");
    assert_int_equal(result.shards_kept, result.shards);
    assert_int_equal(result.skipped, 2);
    report = tree_read(&tree, "out/skipped.tsv", &size);
    assert_non_null(strstr(report, "a/bad.jpg\tthe file is empty\n"));
    free(report);
    assert_true(tree_hash(&tree, "out") == tree_hash(&tree, "whole"));
    pack_well("out");
    assert_int_equal(result.skipped, 2);
}

static void test_overwrite_removes_its_own_only(void **state)
{
    uint64_t whole;

    (void)state;
    options.container = SHEAF_WEBDATASET;
    options.index = "wids,dali,energon";
    options.shard_bytes = 500000;
    pack_well("out");
    tree_text(&tree, "out/notes.txt", "mine");
    tree_text(&tree, "out/shard-notes.txt", "mine");
    assert_int_equal(pack("out"), SHEAF_ERR_EXISTS);
    options.overwrite = 1;
    options.container = SHEAF_RECORDIO;
    options.index = NULL;
    options.shard_bytes = 5000000;
    whole = hash_of_whole();
    pack_well("out");
    assert_true(tree_has(&tree, "out/notes.txt") && tree_has(&tree, "out/shard-notes.txt"));
    tree_delete(&tree, "out/notes.txt");
    tree_delete(&tree, "out/shard-notes.txt");
    assert_true(tree_hash(&tree, "out") == whole);
}

static void test_overwrite_of_an_unfinished_run(void **state)
{
    uint64_t whole;

    (void)state;
    pack_most("out");
    options.overwrite = 1;
    options.container = SHEAF_TFRECORD;
    options.prefix = "other";
    whole = hash_of_whole();
    pack_well("out");
    assert_true(tree_hash(&tree, "out") == whole);
}

static void test_strangers_are_never_replaced(void **state)
{
    (void)state;
    tree_text(&tree, "out/shard-000123.tar", "mine");
    assert_int_equal(pack("out"), SHEAF_ERR_EXISTS);
    assert_non_null(strstr(err.message, "shard-000123.tar"));
    options.overwrite = 1;
    assert_int_equal(pack("out"), SHEAF_ERR_EXISTS);
    options.overwrite = 0;
    options.resume = 1;
    assert_int_equal(pack("out"), SHEAF_ERR_EXISTS);
    assert_int_equal(tree_count(&tree, "out"), 1);
    options.resume = 0;
    options.prefix = "other";
    pack_well("out");
    assert_true(tree_has(&tree, "out/shard-000123.tar"));
}

static void test_a_damaged_manifest_is_not_overwritten(void **state)
{
    (void)state;
    tree_text(&tree, "out/dataset.json", "{}");
    options.overwrite = 1;
    assert_int_equal(pack("out"), SHEAF_ERR_CORRUPT);
    assert_int_equal(tree_count(&tree, "out"), 1);
}

static void test_places_that_are_none(void **state)
{
    (void)state;
    tree_text(&tree, "file", "mine");
    assert_int_not_equal(pack("file"), SHEAF_OK);
    assert_int_not_equal(pack("file/below"), SHEAF_OK);
    options.overwrite = 1;
    assert_int_not_equal(pack("file"), SHEAF_OK);
    assert_int_equal(tree_count(&tree, "file"), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_resume),
        TEST(test_damage_is_made_good),
        TEST(test_resume_of_another_plan),
        TEST(test_a_source_that_changed_is_packed_again),
        TEST(test_resume_from_elsewhere),
        TEST(test_resume_of_nothing_and_of_all),
        TEST(test_resume_of_a_published_run),
        TEST(test_skipped_files_are_remembered),
        TEST(test_overwrite_removes_its_own_only),
        TEST(test_overwrite_of_an_unfinished_run),
        TEST(test_strangers_are_never_replaced),
        TEST(test_a_damaged_manifest_is_not_overwritten),
        TEST(test_places_that_are_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
