/* SPDX-License-Identifier: MIT
 *
 * Tests sheaf_packer: it must make the same shards as sheaf_pack from the same samples, and its
 * refusals must be clear. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "sheaf.h"
#include "tests/common_random.h"
#include "tests/common_tree.h"

#define FILES 240
#define FILE_BYTES 60000

static struct tree tree;
static struct sheaf_pack_options options;
static struct sheaf_pack_result result;
static struct sheaf_packer *packer;
static struct sheaf_error err;
static uint8_t *data;

static int setup(void **state)
{
    struct rng rng;

    (void)state;
    tree_make(&tree);
    data = malloc(FILE_BYTES + FILES);
    rng_seed(&rng, RNG_LANE, 7, 0, 0);
    random_text(&rng, data, FILE_BYTES + FILES);
    sheaf_pack_options_init(&options, sizeof(options));
    options.no_shuffle = 1;
    options.jobs = 2;
    packer = NULL;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sheaf_packer_free(packer);
    free(data);
    tree_remove(&tree);
    return 0;
}

static void open_packer(const char *dest)
{
    const int code = sheaf_packer_open(tree_path(&tree, dest), &options, &packer, &err);

    if (code != SHEAF_OK)
        print_message("%s\n", err.message);
    assert_int_equal(code, SHEAF_OK);
}

static int append(const char *key, const char *name, const void *content, size_t size)
{
    const struct sheaf_field field = { .name = name, .data = content, .size = size };
    const struct sheaf_sample sample = { .key = key, .fields = &field, .field_count = 1 };

    return sheaf_packer_append(packer, &sample);
}

/* ---- The same as sheaf_pack ------------------------------------------------------------------ */

static const char *const classes[] = { "c0", "c1" };

static size_t size_of_file(int i) { return (size_t)(FILE_BYTES - i * 100); }

static void make_files(void)
{
    char path[40];

    for (int i = 0; i < FILES; i++) {
        snprintf(path, sizeof(path), "src/c%d/%03d.bin", i / (FILES / 2), i);
        tree_write(&tree, path, data + i, size_of_file(i));
        snprintf(path, sizeof(path), "src/c%d/%03d.JPG", i / (FILES / 2), i);
        tree_write(&tree, path, tiny_jpeg, sizeof(tiny_jpeg));
    }
}

/* The number of samples in each shard of sheaf_pack, from its plan. */
static uint64_t cuts[64];
static size_t cut_count;

static void take_cut(void *context, const struct sheaf_plan_shard *shard)
{
    (void)context;
    cuts[cut_count++] = shard->samples;
}

static void append_files(void)
{
    size_t shard = 0, in_shard = 0;

    for (int i = 0; i < FILES; i++) {
        const double label = i / (FILES / 2);
        const struct sheaf_field fields[2] = {
            { .name = "bin", .data = data + i, .size = size_of_file(i) },
            { .name = "jpg", .suffix = "JPG", .data = tiny_jpeg, .size = sizeof(tiny_jpeg) },
        };
        char key[40];
        const struct sheaf_sample sample = { .key = key, .fields = fields, .field_count = 2,
                                             .labels = &label, .label_count = 1 };

        snprintf(key, sizeof(key), "c%d/%03d", i / (FILES / 2), i);
        assert_int_equal(sheaf_packer_append(packer, &sample), SHEAF_OK);
        if (++in_shard == cuts[shard]) {
            assert_int_equal(sheaf_packer_cut(packer), SHEAF_OK);
            assert_int_equal(sheaf_packer_cut(packer), SHEAF_OK);
            shard++;
            in_shard = 0;
        }
    }
}

static void assert_same_file(const char *a, const char *b)
{
    size_t a_size, b_size;
    char *x = tree_read(&tree, a, &a_size), *y = tree_read(&tree, b, &b_size);

    assert_non_null(x);
    assert_non_null(y);
    assert_int_equal(a_size, b_size);
    assert_memory_equal(x, y, a_size);
    free(x);
    free(y);
}

static void check_same(enum sheaf_container container, enum sheaf_codec codec, const char *end)
{
    struct sheaf_pack_result packed;

    options.container = container;
    options.codec = codec;
    options.shard_bytes = 3100000;
    options.plan = take_cut;
    cut_count = 0;
    options.dry_run = 1;
    assert_int_equal(sheaf_pack(tree_path(&tree, "src"), "", &options, &packed, &err), SHEAF_OK);
    options.dry_run = 0;
    assert_int_equal(sheaf_pack(tree_path(&tree, "src"), tree_path(&tree, "a"), &options,
                                &packed, &err), SHEAF_OK);
    options.shard_bytes = UINT64_MAX;
    open_packer("b");
    assert_int_equal(sheaf_packer_set_classes(packer, classes, 2), SHEAF_OK);
    append_files();
    assert_int_equal(sheaf_packer_finish(packer, &result), SHEAF_OK);
    assert_int_equal(result.shards, packed.shards);
    assert_int_equal(result.samples, packed.samples);
    assert_int_equal(result.stored_bytes, packed.stored_bytes);
    assert_int_equal(result.payload_bytes, packed.payload_bytes);
    for (uint64_t i = 0; i < packed.shards; i++) {
        char a[40], b[40];

        snprintf(a, sizeof(a), "a/shard-%06d%s", (int)i, end);
        snprintf(b, sizeof(b), "b/shard-%06d%s", (int)i, end);
        assert_same_file(a, b);
    }
    assert_same_file("a/dataset.index", "b/dataset.index");
    sheaf_packer_free(packer);
    packer = NULL;
    tree_delete(&tree, "a");
    tree_delete(&tree, "b");
}

static void test_same_as_pack(void **state)
{
    (void)state;
    make_files();
    check_same(SHEAF_TFRECORD, SHEAF_CODEC_NONE, ".tfrecord");
    check_same(SHEAF_RECORDIO, SHEAF_CODEC_NONE, ".rec");
    check_same(SHEAF_RECORDIO, SHEAF_CODEC_NONE, ".lst");
    check_same(SHEAF_WEBDATASET, SHEAF_CODEC_NONE, ".tar");
    check_same(SHEAF_WEBDATASET, SHEAF_CODEC_GZIP, ".tar.gz");
    check_same(SHEAF_TFRECORD, SHEAF_CODEC_LZ4, ".tfrecord.lz4");
}

/* ---- Shards ---------------------------------------------------------------------------------- */

static void test_shards_end_at_their_size(void **state)
{
    char key[20];

    (void)state;
    options.shard_bytes = 1000;
    open_packer("out");
    for (int i = 0; i < 25; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        assert_int_equal(append(key, "bin", data, 100), SHEAF_OK);
    }
    assert_int_equal(sheaf_packer_finish(packer, &result), SHEAF_OK);
    assert_int_equal(result.shards, 3);
    assert_int_equal(result.samples, 25);
    assert_int_equal(result.files, 25);
}

static void test_no_samples(void **state)
{
    (void)state;
    open_packer("out");
    assert_int_equal(sheaf_packer_cut(packer), SHEAF_OK);
    assert_int_equal(sheaf_packer_finish(packer, &result), SHEAF_OK);
    assert_int_equal(result.shards, 0);
    assert_true(tree_has(&tree, "out/dataset.json"));
}

static void test_memory_is_bounded(void **state)
{
    uint8_t *large = calloc(1, 20 << 20);
    char key[20];

    (void)state;
    options.memory_bytes = 24 << 20;
    options.codec = SHEAF_CODEC_LZ4;
    open_packer("out");
    for (int i = 0; i < 1500; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        assert_int_equal(append(key, "bin", data, FILE_BYTES), SHEAF_OK);
    }
    assert_int_equal(append("large", "bin", large, 20 << 20), SHEAF_ERR_LIMIT);
    assert_int_equal(append("small", "bin", data, 10), SHEAF_OK);
    assert_int_equal(sheaf_packer_finish(packer, &result), SHEAF_OK);
    assert_int_equal(result.samples, 1501);
    assert_true(result.memory_peak_bytes <= options.memory_bytes);
    free(large);
}

/* Tests that a call with too little memory removes nothing. */
static void test_too_little_memory_is_refused_first(void **state)
{
    (void)state;
    open_packer("out");
    assert_int_equal(append("k", "bin", data, 10), SHEAF_OK);
    assert_int_equal(sheaf_packer_finish(packer, &result), SHEAF_OK);
    sheaf_packer_free(packer);
    packer = NULL;
    options.overwrite = 1;
    for (options.memory_bytes = 1; options.memory_bytes < 4 << 20; options.memory_bytes *= 2) {
        assert_int_equal(sheaf_packer_open(tree_path(&tree, "out"), &options, &packer, &err),
                         SHEAF_ERR_LIMIT);
        assert_true(tree_has(&tree, "out/dataset.json"));
        assert_false(tree_has(&tree, "out/.sheaf-partial"));
        /* the packer must not close a lock that it never took */
        assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0);
    }
    options.memory_bytes = strtoull(strstr(err.message, "at least ") + 9, NULL, 10);
    open_packer("out");
    assert_int_equal(append("k", "bin", data, 10), SHEAF_OK);
    assert_int_equal(sheaf_packer_finish(packer, &result), SHEAF_OK);
    assert_true(result.memory_peak_bytes <= options.memory_bytes);
}

/* ---- Refusals -------------------------------------------------------------------------------- */

/* Tests that a packer which has ended does not block another one, even before it is freed. */
static void test_the_end_lets_go(void **state)
{
    struct sheaf_packer *ended[4];

    (void)state;
    options.overwrite = 1;
    for (int i = 0; i < 4; i++) {
        open_packer("out");
        assert_int_equal(append("k", "txt", "1", 1), SHEAF_OK);
        if (i == 0)                     /* the run has lost its claim, so it fails */
            tree_delete(&tree, "out/.sheaf-partial/plan");
        if (i == 1)
            sheaf_packer_abort(packer);
        else
            assert_int_equal(sheaf_packer_finish(packer, &result) == SHEAF_OK, i != 0);
        ended[i] = packer;
    }
    for (int i = 0; i < 4; i++)
        sheaf_packer_free(ended[i]);
    packer = NULL;
    assert_true(tree_has(&tree, "out/dataset.json"));
}

static void test_samples_that_are_refused(void **state)
{
    const struct sheaf_field twice[2] = { { "a", NULL, "", 0 }, { "A", NULL, "", 0 } };
    struct sheaf_sample sample = { .key = "twice", .fields = twice, .field_count = 2 };

    (void)state;
    open_packer("out");
    assert_int_equal(append("k", "txt", "1", 1), SHEAF_OK);
    assert_int_equal(append("k", "bin", "1", 1), SHEAF_ERR_EXISTS);
    assert_int_equal(sheaf_packer_append(packer, &sample), SHEAF_ERR_ARGUMENT);
    assert_int_equal(append("/abs", "txt", "1", 1), SHEAF_ERR_ARGUMENT);
    assert_int_equal(append("a/../b", "txt", "1", 1), SHEAF_ERR_ARGUMENT);
    assert_int_equal(append("\xff", "txt", "1", 1), SHEAF_ERR_ARGUMENT);
    assert_int_equal(append("x", "a/b", "1", 1), SHEAF_ERR_ARGUMENT);
    assert_int_equal(append(NULL, "txt", "1", 1), SHEAF_ERR_ARGUMENT);
    assert_int_equal(append("x", NULL, "1", 1), SHEAF_ERR_ARGUMENT);
    assert_int_equal(append("x", "txt", NULL, 1), SHEAF_ERR_ARGUMENT);
    assert_int_equal(append("x", "jpg", "1", 1), SHEAF_ERR_CORRUPT);
    assert_non_null(strstr(sheaf_packer_error(packer)->message, "x.jpg: not a JPEG"));
    /* The refused samples had no effect, and their keys are still free. */
    assert_int_equal(append("x", "txt", NULL, 0), SHEAF_OK);
    assert_int_equal(sheaf_packer_finish(packer, &result), SHEAF_OK);
    assert_int_equal(result.samples, 2);
    assert_int_equal(append("y", "txt", "1", 1), SHEAF_ERR_STATE);
    assert_int_equal(sheaf_packer_finish(packer, &result), SHEAF_ERR_STATE);
}

/* Tests that a fraction is rounded to a 32-bit float, and that a whole number is never changed. */
static void test_labels_are_rounded_as_in_lists(void **state)
{
    const double labels[] = { 0.1, 3, -2.5 }, large = 0x1p53 + 2;
    const struct sheaf_field field = { .name = "txt", .data = "1", .size = 1 };
    struct sheaf_sample sample = { .key = "a", .fields = &field, .field_count = 1,
                                   .labels = labels, .label_count = 3 };
    char *shard;
    size_t size;

    (void)state;
    open_packer("out");
    assert_int_equal(sheaf_packer_append(packer, &sample), SHEAF_OK);
    assert_true(labels[0] == 0.1);
    sample = (struct sheaf_sample){ .key = "b", .fields = &field, .field_count = 1,
                                    .labels = &large, .label_count = 1 };
    assert_int_equal(sheaf_packer_append(packer, &sample), SHEAF_ERR_ARGUMENT);
    assert_int_equal(sheaf_packer_finish(packer, &result), SHEAF_OK);
    assert_int_equal(result.samples, 1);
    shard = tree_read(&tree, "out/shard-000000.tar", &size);
    assert_non_null(memmem(shard, size, "0.1 3 -2.5\0", 11));
    free(shard);
}

static void test_bad_samples_are_skipped(void **state)
{
    char *report;
    size_t size;

    (void)state;
    options.on_error = SHEAF_SKIP;
    open_packer("out");
    assert_int_equal(append("x", "jpg", "1", 1), SHEAF_OK);
    assert_int_equal(append("y", "jpg", tiny_jpeg, sizeof(tiny_jpeg)), SHEAF_OK);
    assert_int_equal(append("x", "txt", "", 0), SHEAF_ERR_EXISTS);
    assert_int_equal(sheaf_packer_finish(packer, &result), SHEAF_OK);
    assert_int_equal(result.samples, 1);
    assert_int_equal(result.skipped, 1);
    report = tree_read(&tree, "out/skipped.tsv", &size);
    assert_non_null(strstr(report, "not a JPEG"));
    free(report);
}

/* Packs one good sample and `bad` bad samples. Returns the code of sheaf_packer_finish(), or of the
 * first call that fails. */
static int pack_with_bad(const char *limit, int bad)
{
    char key[20];
    int code;

    options.on_error = SHEAF_SKIP;
    options.overwrite = 1;
    options.max_skipped = limit;
    open_packer("out");
    code = append("good", "jpg", tiny_jpeg, sizeof(tiny_jpeg));
    for (int i = 0; i < bad && code == SHEAF_OK; i++) {
        snprintf(key, sizeof(key), "bad%d", i);
        code = append(key, "jpg", "1", 1);
    }
    if (code == SHEAF_OK)
        code = sheaf_packer_finish(packer, &result);
    if (code != SHEAF_OK)
        assert_int_equal(sheaf_packer_error(packer)->reason, SHEAF_REASON_TOO_MANY_SKIPPED);
    sheaf_packer_free(packer);
    packer = NULL;
    return code;
}

static void test_skipped_samples_are_limited(void **state)
{
    (void)state;
    assert_int_equal(pack_with_bad("0", 0), SHEAF_OK);
    assert_int_not_equal(pack_with_bad("0", 1), SHEAF_OK);
    assert_int_equal(pack_with_bad("3", 3), SHEAF_OK);
    assert_int_not_equal(pack_with_bad("2", 3), SHEAF_OK);
    assert_int_equal(pack_with_bad("75%", 3), SHEAF_OK);
    assert_int_not_equal(pack_with_bad("74%", 3), SHEAF_OK);
    assert_int_equal(pack_with_bad("100%", 3), SHEAF_OK);
}

static void test_classes_come_first(void **state)
{
    const char *const bad[] = { "a", "b\n" };

    (void)state;
    open_packer("out");
    assert_int_equal(sheaf_packer_set_classes(packer, bad, 2), SHEAF_ERR_ARGUMENT);
    assert_int_equal(sheaf_packer_set_classes(packer, classes, 2), SHEAF_OK);
    assert_int_equal(sheaf_packer_set_classes(packer, classes, 2), SHEAF_ERR_STATE);
}

static void append_class(void *context, const struct sheaf_class_count *found)
{
    char *text = context;
    const size_t size = strlen(text);

    snprintf(text + size, 100 - size, "%s %d %d, ", found->name, (int)found->number,
             (int)found->samples);
}

static void assert_classes(const char *path, int label_base, int code, const char *expected)
{
    char text[100] = "";

    assert_int_equal(sheaf_class_list(tree_path(&tree, path), label_base, append_class, text,
                                      &err), code);
    assert_string_equal(text, expected);
}

static void test_classes_are_read(void **state)
{
    (void)state;
    tree_text(&tree, "lines", "\xef\xbb\xbf" "cat\r\n[UNK]\r\n\n");
    assert_classes("lines", 1, SHEAF_OK, "cat 1 0, [UNK] 2 0, ");
    tree_text(&tree, "json", "{\"dog\": 4, \"cat\": 3}");
    assert_classes("json", 3, SHEAF_OK, "cat 3 0, dog 4 0, ");
    assert_classes("json", 0, SHEAF_ERR_CORRUPT, "");
    tree_text(&tree, "page", "<html>\n<meta charset=\"x\">");
    assert_classes("page", 0, SHEAF_ERR_CORRUPT, "");
    assert_classes("none", 0, SHEAF_ERR_NOT_FOUND, "");
    assert_classes("lines", -1, SHEAF_ERR_ARGUMENT, "");
    assert_int_equal(sheaf_class_list(NULL, 0, append_class, NULL, &err), SHEAF_ERR_ARGUMENT);
    options.label_base = 1;
    open_packer("out");
    assert_int_equal(sheaf_packer_set_classes(packer, classes, 2), SHEAF_OK);
    assert_int_equal(append("a", "txt", "1", 1), SHEAF_OK);
    assert_int_equal(sheaf_packer_finish(packer, NULL), SHEAF_OK);
    assert_classes("out", 0, SHEAF_OK, "c0 1 0, c1 2 0, ");
    assert_classes("out", 2, SHEAF_ERR_ARGUMENT, "");
}

static void test_abort_leaves_nothing(void **state)
{
    char key[20];

    (void)state;
    options.shard_bytes = 1;
    open_packer("out");
    for (int i = 0; i < 20; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        assert_int_equal(append(key, "bin", data, 100), SHEAF_OK);
    }
    sheaf_packer_abort(packer);
    assert_false(tree_has(&tree, "out"));
    assert_int_equal(append("y", "txt", "1", 1), SHEAF_ERR_STATE);
    sheaf_packer_free(packer);
    open_packer("out");
    assert_int_equal(append("y", "txt", "1", 1), SHEAF_OK);
    sheaf_packer_free(packer);      /* aborts */
    packer = NULL;
    assert_false(tree_has(&tree, "out"));
}

/* Another program writes a file under the name of the table of keys while the packer is open. The
 * packer fails, and does not remove that file with its own files. */
static void test_stray_files_stay(void **state)
{
    static const char *const names[] = { "out/dataset.keys", "out/skipped.tsv" };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        open_packer("out");
        assert_int_equal(append("a", "txt", "1", 1), SHEAF_OK);
        tree_text(&tree, names[i], "mine");
        assert_int_equal(sheaf_packer_finish(packer, NULL), SHEAF_ERR_EXISTS);
        sheaf_packer_free(packer);
        packer = NULL;
        assert_int_equal(tree_count(&tree, "out"), 1);
        assert_true(tree_has(&tree, names[i]));
        assert_int_equal(unlink(tree_path(&tree, names[i])), 0);
    }
}

static void test_existing_data_sets(void **state)
{
    (void)state;
    open_packer("out");
    assert_int_equal(append("a", "txt", "1", 1), SHEAF_OK);
    assert_int_equal(sheaf_packer_finish(packer, NULL), SHEAF_OK);
    sheaf_packer_free(packer);
    packer = NULL;
    assert_int_equal(sheaf_packer_open(tree_path(&tree, "out"), &options, &packer, &err),
                     SHEAF_ERR_EXISTS);
    assert_null(packer);
    assert_int_equal(tree_count(&tree, "out"), 4);
    options.overwrite = 1;
    options.container = SHEAF_TFRECORD;
    open_packer("out");
    assert_int_equal(append("b", "txt", "1", 1), SHEAF_OK);
    assert_int_equal(sheaf_packer_finish(packer, NULL), SHEAF_OK);
    assert_int_equal(tree_count(&tree, "out"), 4);
    assert_true(tree_has(&tree, "out/shard-000000.tfrecord"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_same_as_pack),
        TEST(test_shards_end_at_their_size),
        TEST(test_no_samples),
        TEST(test_memory_is_bounded),
        TEST(test_too_little_memory_is_refused_first),
        TEST(test_the_end_lets_go),
        TEST(test_samples_that_are_refused),
        TEST(test_labels_are_rounded_as_in_lists),
        TEST(test_bad_samples_are_skipped),
        TEST(test_skipped_samples_are_limited),
        TEST(test_classes_come_first),
        TEST(test_classes_are_read),
        TEST(test_abort_leaves_nothing),
        TEST(test_stray_files_stay),
        TEST(test_existing_data_sets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
