/* SPDX-License-Identifier: MIT
 *
 * Tests the plan. It must contain every sample exactly once, and its order and shards must depend
 * only on the files and the options. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "tests/common_model_plan.h"
#include "tests/common_plan.h"
#include "tests/common_random.h"

static struct sheaf_pack_options options;
static struct sheaf_error err;

static int setup(void **state)
{
    (void)state;
    plan_start_again();
    sheaf_pack_options_init(&options, sizeof(options));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    plan_start_again();
    return 0;
}

static void add(const char *path, uint64_t bytes, const char *class)
{
    const struct catalog_stat stat = { .bytes = bytes };
    uint32_t label = LABEL_NONE;

    if (class != NULL)
        assert_int_equal(catalog_class(&catalog, class, strlen(class), NULL, &label, &err),
                         SHEAF_OK);
    assert_int_equal(catalog_add(&catalog, &problems, path, &stat, label, &err), SHEAF_OK);
}

static int make(void)
{
    return plan_catalog(&options, &err);
}

static const struct catalog_file *first_file(const struct plan_sample *s)
{
    return &plan.files[s->file];
}

/* ---- Samples --------------------------------------------------------------------------------- */

static void test_files_of_one_key_are_one_sample(void **state)
{
    (void)state;
    options.no_shuffle = 1;
    add("a-b.jpg", 1, "x");
    add("a.jpg", 2, "x");
    add("a.JSON", 3, "x");
    add("a.b.jpg", 4, "x");
    add("a/b.jpg", 5, "y");
    assert_int_equal(make(), SHEAF_OK);
    assert_int_equal(plan.sample_count, 3);
    assert_int_equal(plan.payload_bytes, 15);
    /* keys are in byte order, "a" < "a-b" < "a/b", which differs from the order of the whole
     * paths */
    assert_int_equal(plan.samples[0].file_count, 3);
    assert_int_equal(plan.samples[0].payload_bytes, 9);
    assert_string_equal(first_file(&plan.samples[0])[0].path, "a.JSON");
    assert_string_equal(first_file(&plan.samples[0])[1].path, "a.b.jpg");
    assert_string_equal(first_file(&plan.samples[1])->path, "a-b.jpg");
    assert_string_equal(first_file(&plan.samples[2])->path, "a/b.jpg");
}

static void test_samples_that_cannot_be(void **state)
{
    (void)state;
    add("a.jpg", 1, NULL);
    add("a.Jpg", 1, NULL);
    add("a.txt", 1, NULL);
    add("b.jpg", 1, "x");
    add("b.txt", 1, "y");
    assert_int_equal(catalog_add_bad(&catalog, &problems, "c.jpg", "c.jpg", SHEAF_ERR_IO, "bad",
                                     &err),
                     SHEAF_OK);
    add("c.txt", 1, NULL);
    add("d.jpg", 1, NULL);
    assert_int_equal(make(), SHEAF_OK);
    assert_int_equal(plan.sample_count, 1);
    assert_int_equal(problems.count, 7);
    assert_true(has_problem("a.txt", "two inputs with one key: a.Jpg and a.jpg"));
    assert_true(has_problem("b.jpg", "different labels"));
    assert_true(has_problem("c.txt", "c.jpg"));
}

static void test_too_many_files_of_one_key(void **state)
{
    char path[20];

    (void)state;
    for (int i = 0; i < 1025; i++) {
        snprintf(path, sizeof(path), "a.%04d", i);
        add(path, 1, NULL);
    }
    assert_int_equal(make(), SHEAF_OK);
    assert_int_equal(plan.sample_count, 0);
    assert_int_equal(problems.count, 1025);
}

static void test_label_map(void **state)
{
    const double vector[2] = { 1, 2.5 };
    const struct catalog_stat stat = { .bytes = 1 };
    uint32_t label;

    (void)state;
    options.label_base = 1;
    options.no_shuffle = 1;
    add("z/1.jpg", 1, "z");
    add("a/1.jpg", 1, "a");
    add("a-b/1.jpg", 1, "a-b");
    add("c/own.cls", 1, "c");
    add("c/own.jpg", 1, "c");
    assert_int_equal(catalog_numbers(&catalog, vector, 2, &label, &err), SHEAF_OK);
    assert_int_equal(catalog_add(&catalog, &problems, "v.jpg", &stat, label, &err), SHEAF_OK);
    assert_int_equal(make(), SHEAF_OK);
    /* A file .cls does not change the numbers of the other classes. */
    assert_int_equal(plan.class_count, 4);
    assert_string_equal(plan.classes[0], "a");
    assert_string_equal(plan.classes[1], "a-b");
    assert_string_equal(plan.classes[2], "c");
    assert_string_equal(plan.classes[3], "z");
    for (size_t i = 0; i < plan.sample_count; i++) {
        const struct plan_label *l = &plan.labels[plan.samples[i].label];
        const char *path = first_file(&plan.samples[i])->path;

        if (path[0] == 'z')
            assert_true(l->value_count == 1 && l->values[0] == 4);
        if (path[0] == 'c')     /* the sample also has its own file .cls */
            assert_true(l->value_count == 1 && l->values[0] == 3 && plan.samples[i].has_cls);
        if (path[0] == 'v')
            assert_true(l->value_count == 2 && l->values[1] == 2.5);
    }
    assert_false(plan.splits[0].cls_is_label);
}

/* ---- Order ----------------------------------------------------------------------------------- */

/* Adds random files, up to 3 for each key, in a random order, which the seed determines. */
static void add_random(struct rng *rng, size_t keys, uint64_t order_seed)
{
    struct { char path[40]; uint64_t bytes; char class[8]; } *files =
        calloc(3 * keys, sizeof(*files));
    struct rng order = { { order_seed, 1, 2, 3 } };
    size_t count = 0;

    for (size_t k = 0; k < keys; k++) {
        const uint64_t class = rng_below(rng, 7), fields = 1 + rng_below(rng, 3);

        for (uint64_t f = 0; f < fields; f++) {
            snprintf(files[count].path, sizeof(files[count].path), "c%llu/k%zu.%c",
                     (unsigned long long)class, k, (char)('a' + f));
            snprintf(files[count].class, sizeof(files[count].class), "c%llu",
                     (unsigned long long)class);
            files[count++].bytes = rng_below(rng, 4) == 0 ? 0 : rng_below(rng, 100000);
        }
    }
    for (size_t i = count; i-- > 0;) {
        const size_t k = rng_below(&order, i + 1);

        add(files[k].path, files[k].bytes, files[k].class);
        memmove(&files[k], &files[i], sizeof(files[0]));
    }
    free(files);
}

static void test_order_of_finding_does_not_matter(void **state)
{
    static const char *const splits[] = { NULL, "train=0.7,val=0.2,test=0.1", "a=2/class,b=rest" };
    struct rng rng, again;
    char hash[PLAN_HASH_SIZE];

    (void)state;
    random_start(&rng);
    for (size_t i = 0; i < COUNT_OF(splits); i++) {
        options.split = splits[i];
        options.shard_bytes = 300000;
        again = rng;
        add_random(&again, 200, 1);
        assert_int_equal(make(), SHEAF_OK);
        memcpy(hash, plan.hash, sizeof(hash));
        plan_start_again();
        again = rng;
        add_random(&again, 200, 2);
        assert_int_equal(make(), SHEAF_OK);
        assert_string_equal(plan.hash, hash);
        plan_start_again();
        rng_next(&rng);
    }
}

static void test_every_option_that_counts_changes_the_hash(void **state)
{
    char hashes[12][PLAN_HASH_SIZE];
    struct rng fixed;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(hashes); i++) {
        sheaf_pack_options_init(&options, sizeof(options));
        options.container = i == 1 ? SHEAF_TFRECORD : SHEAF_WEBDATASET;
        options.codec = i == 2 ? SHEAF_CODEC_GZIP : i == 3 ? SHEAF_CODEC_LZ4 : SHEAF_CODEC_NONE;
        options.shard_count = i == 4 ? 3 : 2;
        options.prefix = i == 5 ? "x" : "shard";
        options.no_shuffle = i == 6;
        options.seed = i == 7;
        options.label_base = i == 8;
        options.split = i == 9 ? "a=1" : i == 10 ? "b=1" : NULL;
        options.index = i == 11 ? "wids" : NULL;
        rng_seed(&fixed, RNG_LANE, 1, 2, 3);
        add_random(&fixed, 50, 1);
        assert_int_equal(make(), SHEAF_OK);
        memcpy(hashes[i], plan.hash, PLAN_HASH_SIZE);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(hashes[i], hashes[k]);
        plan_start_again();
    }
}

/* Tests that the size and the name of a file change the hash. */
static void test_files_change_the_hash(void **state)
{
    char hashes[3][PLAN_HASH_SIZE];

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        add(i == 1 ? "a/x.png" : "a/x.jpg", i == 2 ? 6 : 5, "a");
        add("a/y.jpg", 5, "a");
        assert_int_equal(make(), SHEAF_OK);
        memcpy(hashes[i], plan.hash, PLAN_HASH_SIZE);
        plan_start_again();
    }
    assert_string_not_equal(hashes[0], hashes[1]);
    assert_string_not_equal(hashes[0], hashes[2]);
}

/* Returns the number of samples before this one in byte order of their keys. */
static size_t rank_of(const struct plan_sample *s)
{
    size_t rank = 0;

    for (size_t i = 0; i < plan.sample_count; i++)
        rank += strcmp(first_file(&plan.samples[i])->path, first_file(s)->path) < 0;
    return rank;
}

static void test_shuffle_is_one(void **state)
{
    struct rng rng;
    size_t in_place = 0, ascending = 0;

    (void)state;
    random_start(&rng);
    options.seed = rng_next(&rng);
    add_random(&rng, 3000, 1);
    assert_int_equal(make(), SHEAF_OK);
    for (size_t i = 0; i + 1 < plan.sample_count; i++) {
        in_place += rank_of(&plan.samples[i]) == i;
        ascending += strcmp(first_file(&plan.samples[i])->path,
                            first_file(&plan.samples[i + 1])->path) < 0;
    }
    assert_true(in_place < 20);
    assert_true(ascending > 1300 && ascending < 1700);
}

/* Compares plans with the model. The hash covers everything in a plan. */
static void test_it_is_the_model_s(void **state)
{
    static const char *const splits[] = { NULL, "a=0.5,b=0.3,c=0.2", "a=2/class,b=rest" };
    struct rng rng;

    (void)state;
    random_start(&rng);
    for (int round = 0; round < 24; round++) {
        struct plan expected;

        options.split = splits[round % 3];
        options.no_shuffle = round % 2;
        options.seed = rng_next(&rng);
        options.shard_bytes = 1 + rng_below(&rng, 2000000);
        add_random(&rng, 100 + rng_below(&rng, 300), rng_next(&rng));
        assert_int_equal(make(), SHEAF_OK);
        assert_int_equal(model_plan(&catalog, &options, &problems, &expected, &err), SHEAF_OK);
        assert_string_equal(plan.hash, expected.hash);
        assert_int_equal(plan.shard_count, expected.shard_count);
        for (size_t i = 0; i < plan.shard_count; i++) {
            assert_int_equal(plan.shards[i].payload_bytes, expected.shards[i].payload_bytes);
            assert_int_equal(plan.shards[i].source, expected.shards[i].source);
        }
        plan_free(&expected);
        plan_start_again();
    }
}

/* ---- Shards ---------------------------------------------------------------------------------- */

static uint64_t size_at(void *context, uint64_t i) { return ((const uint64_t *)context)[i]; }

static void check_cut(uint64_t *sizes, uint64_t count, uint64_t shards)
{
    uint64_t starts[64], total = 0, largest = 0;

    for (uint64_t i = 0; i < count; i++) {
        total += sizes[i];
        largest = MAX(largest, sizes[i]);
    }
    plan_cut(size_at, sizes, count, total, shards, starts);
    assert_int_equal(starts[0], 0);
    assert_int_equal(starts[shards], count);
    for (uint64_t k = 0; k < shards; k++) {
        uint64_t bytes = 0;

        assert_true(starts[k] < starts[k + 1]);
        for (uint64_t i = starts[k]; i < starts[k + 1]; i++)
            bytes += sizes[i];
        /* If every shard has room for the largest sample, each cut is at most half a sample off. */
        if (largest * shards < total)
            assert_true(fabs((double)bytes - (double)total / (double)shards) <=
                        (double)largest + 1);
    }
}

static void test_shards_are_equal_and_never_empty(void **state)
{
    uint64_t sizes[200];
    struct rng rng;

    (void)state;
    random_start(&rng);
    for (int round = 0; round < 3000; round++) {
        const uint64_t count = 1 + rng_below(&rng, COUNT_OF(sizes));
        const uint64_t most = (uint64_t)1 << rng_below(&rng, 40);

        for (uint64_t i = 0; i < count; i++)
            sizes[i] = rng_below(&rng, 3) == 0 ? 0 : rng_below(&rng, most);
        if (rng_below(&rng, 3) == 0)
            sizes[rng_below(&rng, count)] = (uint64_t)1 << 50;
        check_cut(sizes, count, 1 + rng_below(&rng, MIN(count, (uint64_t)63)));
    }
}

static void test_number_of_shards(void **state)
{
    (void)state;
    assert_int_equal(plan_shard_count(0, 5, 100, 0), 1);
    assert_int_equal(plan_shard_count(149, 5, 100, 0), 1);
    assert_int_equal(plan_shard_count(150, 5, 100, 0), 2);
    assert_int_equal(plan_shard_count(1000, 5, 100, 0), 5);     /* never more shards than samples */
    assert_int_equal(plan_shard_count(1000, 50, 100, 0), 10);
    assert_int_equal(plan_shard_count(1000, 50, 100, 3), 3);
    assert_int_equal(plan_shard_count(1000, 50, 100, 51), 50);
    assert_int_equal(plan_shard_count(UINT64_MAX, 50, UINT64_MAX, 0), 1);
}

static void test_every_sample_is_in_one_shard(void **state)
{
    static const char *const splits[] = { NULL, "train=0.8,val=0.2" };
    struct rng rng;

    (void)state;
    random_start(&rng);
    for (int round = 0; round < 20; round++) {
        bool *seen;
        uint64_t samples = 0, payload = 0, at = 0;

        options.split = splits[round % 2];
        options.shard_bytes = 1 + rng_below(&rng, 2000000);
        add_random(&rng, 30 + rng_below(&rng, 300), rng_next(&rng));
        assert_int_equal(make(), SHEAF_OK);
        seen = calloc(plan.file_count, sizeof(*seen));
        for (size_t i = 0; i < plan.shard_count; i++) {
            const struct plan_shard *shard = &plan.shards[i];

            assert_int_equal(shard->sample, at);
            at += shard->sample_count;
            payload += shard->payload_bytes;
            for (uint64_t k = shard->sample; k < at; k++) {
                const struct plan_sample *s = &plan.samples[k];

                assert_int_equal(s->split, shard->split);
                for (uint32_t f = 0; f < s->file_count; f++) {
                    assert_false(seen[s->file + f]);
                    seen[s->file + f] = true;
                    samples++;
                }
            }
        }
        assert_int_equal(samples, plan.file_count);
        assert_int_equal(samples, catalog.file_count);
        assert_int_equal(at, plan.sample_count);
        assert_int_equal(payload, plan.payload_bytes);
        free(seen);
        plan_start_again();
    }
}

/* Tests that each class is split by itself, and that a split is not a range of the shuffled
 * order. */
static void test_splits_are_stratified(void **state)
{
    uint64_t of_class[10] = { 0 }, train[10] = { 0 }, sum = 0;
    char path[32], class[8];

    (void)state;
    options.split = "train=0.8,val=0.2";
    for (int i = 0; i < 1003; i++) {
        const int c = i % 7 + i % 3;

        snprintf(class, sizeof(class), "c%d", c);
        snprintf(path, sizeof(path), "c%d/%d.bin", c, i);
        add(path, 100, class);
        of_class[c]++;
    }
    assert_int_equal(make(), SHEAF_OK);
    for (size_t i = 0; i < plan.sample_count; i++)
        train[first_file(&plan.samples[i])->path[1] - '0'] += plan.samples[i].split == 0;
    for (int c = 0; c < 10; c++) {
        assert_true(10 * train[c] + 10 > 8 * of_class[c] && 10 * train[c] < 8 * of_class[c] + 10);
        sum += train[c];
    }
    assert_int_equal(sum, 802);
    assert_int_equal(plan.splits[0].sample_count, 802);
}

static void test_an_empty_split_is_refused(void **state)
{
    (void)state;
    add("a/1.bin", 1, "a");
    add("a/2.bin", 1, "a");
    options.split = "train=5/class,val=rest";
    assert_int_equal(make(), SHEAF_ERR_ARGUMENT);
    assert_non_null(strstr(err.message, "val"));
}

static void test_blocks(void **state)
{
    char path[32];
    uint64_t at = 0;

    (void)state;
    options.no_shuffle = 1;
    for (int i = 0; i < 100; i++) {
        snprintf(path, sizeof(path), "%03d.bin", i);
        add(path, i == 50 ? 10 * BLOCK_BYTES : BLOCK_BYTES / 4 - BLOCK_FILE_BYTES, NULL);
    }
    assert_int_equal(make(), SHEAF_OK);
    for (int block = 0; block < 12; block++, at += 4)
        assert_int_equal(plan_block_end(&plan, at, 100), at + 4);
    assert_int_equal(plan_block_end(&plan, 48, 100), 51);
    assert_int_equal(plan_block_end(&plan, 48, 49), 49);
    assert_int_equal(plan_block_end(&plan, 98, 100), 100);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_files_of_one_key_are_one_sample),
        TEST(test_samples_that_cannot_be),
        TEST(test_too_many_files_of_one_key),
        TEST(test_label_map),
        TEST(test_order_of_finding_does_not_matter),
        TEST(test_every_option_that_counts_changes_the_hash),
        TEST(test_files_change_the_hash),
        TEST(test_shuffle_is_one),
        TEST(test_it_is_the_model_s),
        TEST(test_shards_are_equal_and_never_empty),
        TEST(test_number_of_shards),
        TEST(test_every_sample_is_in_one_shard),
        TEST(test_splits_are_stratified),
        TEST(test_an_empty_split_is_refused),
        TEST(test_blocks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
