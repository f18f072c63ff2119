/* SPDX-License-Identifier: MIT
 *
 * Tests sheaf_pack from end to end: bytes that depend only on the input, bad files, and memory. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "sheaf.h"
#include "tests/common_random.h"
#include "tests/common_tree.h"

static struct tree tree;
static struct sheaf_pack_options options;
static struct sheaf_pack_result result;
static struct sheaf_error err;

static int setup(void **state)
{
    (void)state;
    tree_make(&tree);
    sheaf_pack_options_init(&options, sizeof(options));
    options.shard_bytes = 3000000;
    options.jobs = 2;
    err = (struct sheaf_error){ 0 };
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tree_remove(&tree);
    return 0;
}

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

/* Makes some MB of JPEGs and of samples with several fields, in a few hundred files of all
 * sizes. */
static void make_source(void)
{
    uint8_t *data = malloc(300000);
    struct rng rng;

    rng_seed(&rng, RNG_LANE, 5, 0, 0);
    random_bytes(&rng, data, 300000);
    for (int i = 0; i < 300; i++) {
        char path[64];

        snprintf(path, sizeof(path), "src/c%d/%03d.jpg", i % 7, i);
        tree_write(&tree, path, tiny_jpeg, sizeof(tiny_jpeg));
        snprintf(path, sizeof(path), "src/c%d/%03d.bin", i % 7, i);
        tree_write(&tree, path, data + i, i % 50 == 0 ? 290000 : rng_below(&rng, 40000));
        snprintf(path, sizeof(path), "src/c%d/%03d.bin.txt", i % 7, i);
        if (i % 3 == 0)
            tree_text(&tree, path, "words");
    }
    free(data);
}

static const enum sheaf_container containers[] = {
    SHEAF_TFRECORD, SHEAF_RECORDIO, SHEAF_WEBDATASET,
};

/* ---- Bytes ----------------------------------------------------------------------------------- */

static void test_bytes_do_not_depend_on_jobs(void **state)
{
    static const unsigned jobs[] = { 1, 2, 8 };

    (void)state;
    make_source();
    for (size_t c = 0; c < 3; c++) {
        for (int codec = SHEAF_CODEC_NONE; codec <= SHEAF_CODEC_LZ4; codec++) {
            uint64_t hash = 0;

            options.container = containers[c];
            options.codec = (enum sheaf_codec)codec;
            for (size_t j = 0; j < 3; j++) {
                options.jobs = jobs[j];
                pack_well("out");
                assert_int_equal(result.samples, 300);
                assert_int_equal(result.files, 700);
                assert_true(result.shards > 1);
                assert_false(tree_has(&tree, "out/.sheaf-partial"));
                assert_true(j == 0 || tree_hash(&tree, "out") == hash);
                hash = tree_hash(&tree, "out");
                tree_delete(&tree, "out");
            }
        }
    }
}

static int read_all(const char *dest, uint64_t *samples)
{
    const char *sources[] = { tree_path(&tree, dest) };
    struct sheaf_verify_result verified;
    struct sheaf_dataset *dataset;
    int code = sheaf_dataset_open(sources, 1, &dataset, &err);

    if (code != SHEAF_OK)
        return code;
    code = sheaf_verify(dataset, NULL, &verified, &err);
    sheaf_dataset_free(dataset);
    *samples = verified.samples;
    return code == SHEAF_OK && verified.problems != 0 ? SHEAF_ERR_CORRUPT : code;
}

static void test_what_was_packed_is_sound(void **state)
{
    uint64_t samples;

    (void)state;
    make_source();
    for (size_t c = 0; c < 3; c++) {
        options.container = containers[c];
        options.codec = (enum sheaf_codec)c;
        options.index = c == 0 ? "dali" : NULL;
        options.overwrite = 1;
        pack_well("out");
        assert_int_equal(read_all("out", &samples), SHEAF_OK);
        assert_int_equal(samples, 300);
    }
}

static void test_splits_have_one_label_map(void **state)
{
    size_t size;
    char *train, *val;

    (void)state;
    make_source();
    options.split = "train=30/class,val=rest";
    pack_well("out");
    assert_int_equal(result.samples, 300);
    train = tree_read(&tree, "out/train/dataset.json", &size);
    val = tree_read(&tree, "out/val/dataset.json", &size);
    assert_non_null(strstr(train, "\"samples\": 210,"));
    assert_non_null(strstr(val, "\"samples\": 90,"));
    assert_non_null(strstr(train, "\"c6\""));
    assert_non_null(strstr(val, "\"c6\""));
    free(train);
    free(val);
    assert_false(tree_has(&tree, "out/dataset.json"));
}

/* ---- Bad files ------------------------------------------------------------------------------- */

static void make_bad_files(void)
{
    tree_write(&tree, "src/a/good.jpg", tiny_jpeg, sizeof(tiny_jpeg));
    tree_text(&tree, "src/a/good.txt", "words");
    tree_text(&tree, "src/a/empty.jpg", "");
    tree_write(&tree, "src/a/cut.jpg", tiny_jpeg, sizeof(tiny_jpeg) - 2);
    tree_text(&tree, "src/a/text.jpeg", "no picture");
    tree_write(&tree, "src/a/cmyk.x.JPG", tiny_cmyk_jpeg, sizeof(tiny_cmyk_jpeg));
    tree_text(&tree, "src/a/cmyk.json", "{}");
    tree_text(&tree, "src/a/empty.bin.gz", "");
    tree_text(&tree, "src/a/not_a_jpeg.jpg.bin", "");
}

static void test_bad_files_are_skipped_and_listed(void **state)
{
    char *report;
    size_t size;

    (void)state;
    make_bad_files();
    options.on_error = SHEAF_SKIP;
    pack_well("out");
    assert_int_equal(result.samples, 2);
    assert_int_equal(result.files, 9);
    assert_int_equal(result.skipped, 6);
    report = tree_read(&tree, "out/skipped.tsv", &size);
    assert_non_null(report);
    assert_non_null(strstr(report, "a/cut.jpg\ttruncated JPEG"));
    assert_non_null(strstr(report, "a/empty.jpg\tthe file is empty\n"));
    assert_non_null(strstr(report, "a/empty.bin.gz\tleft out with another file of its sample: "
                                   "a/empty.jpg\n"));
    assert_non_null(strstr(report, "a/text.jpeg\tnot a JPEG"));
    assert_non_null(strstr(report, "a/cmyk.x.JPG\ta JPEG of four components"));
    assert_true(strstr(report, "a/cmyk.json") < strstr(report, "a/cmyk.x.JPG"));
    free(report);
}

/* Tests a bad file whose path is longer than a message, and which is not the first file of its
 * sample. */
static void test_a_bad_file_is_named_however_long_its_path(void **state)
{
    char path[1300] = "src/", line[1400];
    size_t size = 4, report_size;
    char *report;

    (void)state;
    tree_text(&tree, "src/good.txt", "words");
    for (int i = 0; i < 6; i++) {
        memset(path + size, 'a' + i, 200);
        path[size + 200] = '/';
        size += 201;
    }
    snprintf(path + size, sizeof(path) - size, "x.aaa");
    tree_text(&tree, path, "words");
    snprintf(path + size, sizeof(path) - size, "x.jpg");
    tree_text(&tree, path, "no picture");
    options.on_error = SHEAF_SKIP;
    pack_well("out");
    assert_int_equal(result.skipped, 2);
    report = tree_read(&tree, "out/skipped.tsv", &report_size);
    assert_non_null(report);
    snprintf(line, sizeof(line), "%s\tnot a JPEG", path + 4);
    assert_non_null(strstr(report, line));
    free(report);
}

static void test_bad_files_fail(void **state)
{
    (void)state;
    make_bad_files();
    assert_int_equal(pack("out"), SHEAF_ERR_CORRUPT);
    assert_non_null(strstr(err.message, "a/"));
    /* Nothing is left that would prevent another attempt. */
    assert_false(tree_has(&tree, "out"));
}

static void test_nothing_to_pack(void **state)
{
    (void)state;
    assert_int_equal(mkdir(tree_path(&tree, "src"), 0777), 0);
    assert_int_equal(pack("out"), SHEAF_ERR_NOT_FOUND);
    tree_text(&tree, "src/README", "");
    options.on_error = SHEAF_SKIP;
    assert_int_equal(pack("out"), SHEAF_ERR_NOT_FOUND);
    assert_false(tree_has(&tree, "out"));
}

/* Makes two samples with one key. They must be found and reported after the scan and before any
 * file is read. */
static void make_doubles(void)
{
    tree_text(&tree, "src/z/double.bin", "");
    tree_text(&tree, "src/z/double.BIN", "");
    options.on_error = SHEAF_SKIP;
}

static void vanish(void *context, const char *where, const struct sheaf_error *error)
{
    (void)context;
    (void)error;
    if (strcmp(where, "z/double.bin") != 0)
        return;
    tree_delete(&tree, "src/x/700.bin");
    tree_text(&tree, "src/x/701.bin", "longer than before");
    tree_delete(&tree, "src/x/702.bin");
    mkfifo(tree_path(&tree, "src/x/702.bin"), 0666);
    tree_text(&tree, "src/x/703.bin", "ABC");
}

static void test_files_that_change_after_the_scan(void **state)
{
    char path[32], *report;
    size_t size;

    (void)state;
    for (int i = 0; i < 800; i++) {
        snprintf(path, sizeof(path), "src/x/%03d.bin", i);
        tree_text(&tree, path, "abc");
    }
    make_doubles();
    usleep(20000);      /* so that the modification time differs on any file system */
    options.report = vanish;
    options.on_change = SHEAF_SKIP;
    pack_well("out");
    report = tree_read(&tree, "out/skipped.tsv", &size);
    assert_non_null(report);
    assert_non_null(strstr(report, "x/700.bin\tvanished since the scan"));
    assert_non_null(strstr(report, "x/701.bin\tchanged since the scan: 3 bytes then, 18 now"));
    assert_non_null(strstr(report, "x/702.bin\tchanged since the scan"));
    assert_non_null(strstr(report, "x/703.bin\tchanged since the scan: it was written to"));
    free(report);
    assert_int_equal(result.samples, 796);
}

/* ---- Limits ---------------------------------------------------------------------------------- */

static void make_large(const char *path, size_t size)
{
    tree_text(&tree, path, "x");
    assert_int_equal(truncate(tree_path(&tree, path), (off_t)size), 0);
}

static void test_memory_is_bounded(void **state)
{
    (void)state;
    make_source();
    options.memory_bytes = 24 << 20;
    options.jobs = 8;
    pack_well("out");
    assert_true(result.memory_peak_bytes <= options.memory_bytes);
    assert_true(result.memory_peak_bytes >= 4 << 20);
    tree_delete(&tree, "out");
    make_large("src/c0/large.bin", 20 << 20);
    assert_int_equal(pack("out"), SHEAF_ERR_LIMIT);
    assert_non_null(strstr(err.message, "c0/large.bin"));
    assert_non_null(strstr(err.message, "the limit is 25165824"));
    assert_false(tree_has(&tree, "out"));
}

/* Tests that the content of a data set does not depend on the available memory. */
static void test_nothing_is_skipped_for_want_of_memory(void **state)
{
    unsigned long long needed = 0;

    (void)state;
    make_source();
    make_large("src/c0/large.bin", 20 << 20);
    tree_text(&tree, "src/empty.jpg", "");
    options.on_error = SHEAF_SKIP;
    options.memory_bytes = 24 << 20;
    assert_int_equal(pack("out"), SHEAF_ERR_LIMIT);
    assert_non_null(strstr(err.message, "c0/large.bin"));
    assert_int_equal(sscanf(strstr(err.message, "needs "), "needs %llu", &needed), 1);
    options.memory_bytes = needed;          /* this much memory is enough */
    pack_well("out");
    assert_int_equal(result.samples, 301);
    assert_int_equal(result.skipped, 1);
    assert_int_equal(result.files, result.files_packed + result.skipped);
    assert_true(result.memory_peak_bytes <= options.memory_bytes);
}

static void test_nothing_packed_is_an_error(void **state)
{
    (void)state;
    tree_text(&tree, "src/a.jpg", "no image");
    tree_text(&tree, "src/b.jpg", "none either");
    options.on_error = SHEAF_SKIP;
    assert_int_equal(pack("out"), SHEAF_ERR_CORRUPT);
    assert_non_null(strstr(err.message, "no sample could be packed: 2 bad files, the first a.jpg"));
    assert_false(tree_has(&tree, "out/dataset.json"));
}

/* Tests data with so many of RecordIO's magic numbers that a record becomes twice as large. */
static void test_records_that_swell(void **state)
{
    uint32_t *magic = malloc(3 << 20);
    char path[32];

    (void)state;
    for (size_t i = 0; i < (3 << 20) / 4; i++)
        store32(&magic[i], 0xced7230a);
    for (int i = 0; i < 10; i++) {
        snprintf(path, sizeof(path), "src/%d.bin", i);
        tree_write(&tree, path, magic, i % 2 ? 3 << 20 : 100);
    }
    free(magic);
    options.container = SHEAF_RECORDIO;
    options.memory_bytes = 64 << 20;
    pack_well("out");
    assert_int_equal(result.multipart_records, 10);
    assert_true(result.memory_peak_bytes <= options.memory_bytes);
    options.jobs = 1;
    options.overwrite = 1;
    options.memory_bytes = 512 << 20;
    pack_well("out");
}

/* ---- Ends before the end --------------------------------------------------------------------- */

static volatile int raised;

static void interrupt(void *context, const char *where, const struct sheaf_error *error)
{
    (void)context;
    (void)where;
    (void)error;
    raised = 1;
}

static void test_interrupt(void **state)
{
    (void)state;
    make_source();
    make_doubles();
    raised = 0;
    options.interrupt = &raised;
    options.report = interrupt;
    assert_int_equal(pack("out"), SHEAF_ERR_INTERRUPTED);
    assert_int_not_equal(access(tree_path(&tree, "out"), F_OK), 0);
}

/* Limits the size of files, which has the same effect as a full disk. */
static void test_full_disk(void **state)
{
    struct rlimit before, small;
    int code;

    (void)state;
    make_source();
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){ 2000000, before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    code = pack("out");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(code, SHEAF_ERR_IO);
    assert_non_null(strstr(err.message, "shard-000000.tar"));
    assert_false(tree_has(&tree, "out"));
}

static void count_shard(void *context, const struct sheaf_plan_shard *shard)
{
    uint64_t *sums = context;

    sums[0]++;
    sums[1] += shard->samples;
    sums[2] += shard->payload_bytes;
}

/* Tests that an append refuses other classes than those of the data set, and changes nothing. */
static void test_append_has_its_classes(void **state)
{
    const char *source = tree_path(&tree, "src");
    uint64_t samples;

    (void)state;
    make_source();
    options.container = SHEAF_WEBDATASET;
    pack_well("out");
    options.classes = tree_path(&tree, "out");
    assert_int_equal(sheaf_append(&source, 1, tree_path(&tree, "out"), &options, &result, &err),
                     SHEAF_ERR_ARGUMENT);
    assert_non_null(strstr(err.message, "classes: "));
    assert_int_equal(read_all("out", &samples), SHEAF_OK);
    assert_int_equal(samples, 300);
}

static void test_dry_run(void **state)
{
    uint64_t sums[3] = { 0 };

    (void)state;
    make_source();
    options.dry_run = 1;
    options.plan = count_shard;
    options.context = sums;
    pack_well("out");
    assert_false(tree_has(&tree, "out"));
    assert_int_equal(sums[0], result.shards);
    assert_int_equal(sums[1], 300);
    assert_int_equal(sums[2], result.payload_bytes);
    options.dry_run = 0;
    pack_well("out");
    assert_int_equal(sums[0], result.shards);
    assert_int_equal(sums[2], result.payload_bytes);
    options.dry_run = 1;        /* a dry run also prints the plan if the destination is refused */
    pack_well("out");
    assert_int_equal(err.code, SHEAF_ERR_EXISTS);
    assert_int_equal(sums[0], 2 * result.shards);
    options.overwrite = 1;
    pack_well("out");
    assert_int_equal(err.code, SHEAF_OK);
}

static void test_wrong_options(void **state)
{
    (void)state;
    make_source();
    options.prefix = "a/b";
    assert_int_equal(pack("out"), SHEAF_ERR_ARGUMENT);
    options.prefix = "shard";
    options.label_base = 2;
    assert_int_equal(pack("out"), SHEAF_ERR_ARGUMENT);
    options.label_base = 0;
    options.index = "nobody";
    assert_int_equal(pack("out"), SHEAF_ERR_ARGUMENT);
    options.index = NULL;
    options.split = "a=2";
    assert_int_equal(pack("out"), SHEAF_ERR_ARGUMENT);
    options.split = NULL;
    assert_int_equal(pack("src"), SHEAF_ERR_ARGUMENT);
    assert_int_equal(pack("src/c0/out"), SHEAF_ERR_ARGUMENT);
    assert_false(tree_has(&tree, "out"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_bytes_do_not_depend_on_jobs),
        TEST(test_what_was_packed_is_sound),
        TEST(test_splits_have_one_label_map),
        TEST(test_bad_files_are_skipped_and_listed),
        TEST(test_a_bad_file_is_named_however_long_its_path),
        TEST(test_bad_files_fail),
        TEST(test_nothing_to_pack),
        TEST(test_files_that_change_after_the_scan),
        TEST(test_memory_is_bounded),
        TEST(test_nothing_is_skipped_for_want_of_memory),
        TEST(test_nothing_packed_is_an_error),
        TEST(test_records_that_swell),
        TEST(test_interrupt),
        TEST(test_full_disk),
        TEST(test_append_has_its_classes),
        TEST(test_dry_run),
        TEST(test_wrong_options),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
