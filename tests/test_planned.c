/* SPDX-License-Identifier: MIT
 *
 * Tests the functions for programs that change the samples of a stored plan and pack the results:
 * reading the samples, and a packer that resumes after its last finished shard. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sheaf.h"
#include "tests/common_tree.h"

#define FILES 90
#define BYTES 200000

static struct tree tree;
static struct sheaf_pack_options options;
static struct sheaf_pack_result result;
static struct sheaf_planned *planned;
static struct sheaf_planned_info info;
static struct sheaf_error err;
static char *data;

static int setup(void **state)
{
    char path[40];

    (void)state;
    tree_make(&tree);
    data = malloc(BYTES + FILES);
    for (size_t i = 0; i < BYTES + FILES; i++)
        data[i] = (char)(i * 7919 >> 5);
    for (int i = 0; i < FILES; i++) {
        snprintf(path, sizeof(path), "src/c%d/%03d.BIN", i % 3, i);
        tree_write(&tree, path, data + i, BYTES);
        snprintf(path, sizeof(path), "src/c%d/%03d.txt", i % 3, i);
        tree_text(&tree, path, "t");
    }
    sheaf_pack_options_init(&options, sizeof(options));
    options.no_shuffle = 1;
    options.shard_bytes = 50 * BYTES;
    planned = NULL;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sheaf_planned_free(planned);
    free(data);
    tree_remove(&tree);
    return 0;
}

static void make_plan(const char *dest)
{
    const char *source = tree_path(&tree, "src");

    options.dry_run = 1;
    if (sheaf_plan_make(&source, 1, tree_path(&tree, dest), tree_path(&tree, "plan"), &options,
                        &result, &err) != SHEAF_OK)
        fail_msg("%s", err.message);
    if (sheaf_planned_open(tree_path(&tree, "plan"), &planned, &info, sizeof(info), &err) !=
        SHEAF_OK)
        fail_msg("%s", err.message);
}

static void assert_sample(const struct sheaf_sample *s, uint64_t number)
{
    const int i = (int)(number % (FILES / 3) * 3 + number / (FILES / 3));
    char key[40];

    snprintf(key, sizeof(key), "c%d/%03d", i % 3, i);
    assert_string_equal(s->key, key);
    assert_int_equal(s->number, number);
    assert_int_equal(s->field_count, 2);
    assert_string_equal(s->fields[0].name, "bin");
    assert_string_equal(s->fields[0].suffix, "BIN");
    assert_int_equal(s->fields[0].size, BYTES);
    assert_memory_equal(s->fields[0].data, data + i, BYTES);
    assert_memory_equal(s->fields[1].data, "t", 1);
    assert_int_equal(s->label_count, 1);
    assert_true((int)s->labels[0] == i % 3);
    assert_string_equal(s->class_name, i % 3 == 0 ? "c0" : i % 3 == 1 ? "c1" : "c2");
}

/* Tests that ranges of samples end at the same numbers whether they are read or skipped, and at the
 * ends of shards. */
static void test_all_samples_in_order(void **state)
{
    const struct sheaf_sample *samples;
    uint64_t at = 0, end;
    size_t count;

    (void)state;
    make_plan("dest");
    assert_false(tree_has(&tree, "dest"));
    assert_int_equal(info.samples, FILES);
    assert_int_equal(info.shards, 2);
    assert_int_equal(info.class_count, 3);
    assert_string_equal(sheaf_planned_class(planned, 2), "c2");
    assert_null(sheaf_planned_class(planned, 3));
    assert_int_equal(strlen(info.identity), 32);
    while (at < FILES) {
        const uint64_t first = end = at;

        assert_int_equal(sheaf_planned_read(planned, &end, NULL, NULL, NULL, NULL, &err), SHEAF_OK);
        assert_int_equal(sheaf_planned_read(planned, &at, &samples, &count, NULL, NULL, &err),
                         SHEAF_OK);
        assert_int_equal(at, end);
        assert_int_equal(at - first, count);
        assert_true(count < 30);
        for (size_t i = 0; i < count; i++) {
            assert_sample(&samples[i], first + i);
            assert_int_equal(samples[i].shard, samples[0].shard);
        }
    }
    at = 17;                    /* reading may begin at any sample */
    assert_int_equal(sheaf_planned_read(planned, &at, &samples, &count, NULL, NULL, &err),
                     SHEAF_OK);
    assert_sample(&samples[0], 17);
    at = FILES;
    assert_int_equal(sheaf_planned_read(planned, &at, &samples, &count, NULL, NULL, &err),
                     SHEAF_ERR_ARGUMENT);
}

static int told;

static void tell(void *context, const char *where, const struct sheaf_error *error)
{
    (void)context;
    (void)error;
    assert_non_null(strstr(where, "c0/003."));
    told++;
}

static void test_a_bad_file(void **state)
{
    const struct sheaf_sample *samples;
    uint64_t at = 0;
    size_t count;

    (void)state;
    make_plan("dest");
    tree_text(&tree, "src/c0/003.txt", "longer");
    assert_int_equal(sheaf_planned_read(planned, &at, &samples, &count, NULL, NULL, &err),
                     SHEAF_ERR_CHANGED);
    assert_non_null(strstr(err.message, "c0/003.txt"));
    assert_int_equal(sheaf_planned_read(planned, &at, &samples, &count, tell, NULL, &err),
                     SHEAF_OK);
    assert_int_equal(told, 2);          /* both files of the sample are reported */
    assert_int_equal(at, count + 1);
    assert_int_equal(samples[0].number, 0);
    assert_int_equal(samples[1].number, 2);
}

/* ---- The packer's places --------------------------------------------------------------------- */

static struct sheaf_packer *open_packer(const char *dest, int resume)
{
    struct sheaf_packer *packer;

    options.identity = "numbers";
    options.resume = resume;
    if (sheaf_packer_open(tree_path(&tree, dest), &options, &packer, &err) != SHEAF_OK)
        fail_msg("%s", err.message);
    return packer;
}

static int append(struct sheaf_packer *packer, int i)
{
    const struct sheaf_field field = { .name = "bin", .data = data + i, .size = 1000 };
    char key[40];
    const struct sheaf_sample sample = { .key = key, .fields = &field, .field_count = 1 };

    snprintf(key, sizeof(key), "%d", i);
    return sheaf_packer_append(packer, &sample);
}

/* Appends the samples `first` up to, but not including, `end`, ten per shard. The place of a shard
 * is ten times the number of the next sample. */
static void append_some(struct sheaf_packer *packer, int first, int end)
{
    for (int i = first; i < end; i++) {
        assert_int_equal(append(packer, i), SHEAF_OK);
        if (i % 10 == 9)
            assert_int_equal(sheaf_packer_cut_at(packer, (uint64_t)(i + 1) * 10), SHEAF_OK);
    }
}

static void test_a_run_goes_on_at_its_place(void **state)
{
    struct sheaf_packer *packer = open_packer("dest", 0);
    uint64_t place;

    (void)state;
    assert_int_equal(sheaf_packer_skip(packer, &place), SHEAF_OK);
    assert_int_equal(place, 0);
    append_some(packer, 0, 45);
    sheaf_packer_abort(packer);         /* finishes the shards that have all their samples */
    sheaf_packer_free(packer);

    packer = open_packer("dest", 1);
    assert_int_equal(sheaf_packer_skip(packer, &place), SHEAF_OK);
    assert_int_equal(place, 400);
    assert_int_equal(append(packer, 7), SHEAF_ERR_EXISTS);
    append_some(packer, 40, 60);
    assert_int_equal(sheaf_packer_skip(packer, &place), SHEAF_ERR_STATE);
    assert_int_equal(sheaf_packer_finish(packer, &result), SHEAF_OK);
    assert_int_equal(result.samples, 60);
    assert_int_equal(result.files, 60);
    assert_int_equal(result.shards, 6);
    assert_int_equal(result.shards_kept, 4);
    sheaf_packer_free(packer);

    packer = open_packer("whole", 0);
    append_some(packer, 0, 60);
    assert_int_equal(sheaf_packer_finish(packer, NULL), SHEAF_OK);
    sheaf_packer_free(packer);
    assert_true(tree_hash(&tree, "dest") == tree_hash(&tree, "whole"));
}

/* Tests a run whose shards have no places: all samples must be appended again. */
static void test_no_place(void **state)
{
    struct sheaf_packer *packer = open_packer("dest", 0);
    uint64_t place;

    (void)state;
    for (int i = 0; i < 20; i++) {
        assert_int_equal(append(packer, i), SHEAF_OK);
        assert_int_equal(sheaf_packer_cut(packer), SHEAF_OK);
    }
    sheaf_packer_abort(packer);
    sheaf_packer_free(packer);
    packer = open_packer("dest", 1);
    assert_int_equal(sheaf_packer_skip(packer, &place), SHEAF_OK);
    assert_int_equal(place, 0);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(append(packer, i), SHEAF_OK);
        assert_int_equal(sheaf_packer_cut(packer), SHEAF_OK);
    }
    assert_int_equal(sheaf_packer_finish(packer, &result), SHEAF_OK);
    assert_int_equal(result.shards_kept, 20);
    sheaf_packer_free(packer);
}

/* Tests that a dry run stores the plan of a conversion, and leaves the destination as it is. */
static void test_dry_run_of_a_conversion(void **state)
{
    const char *source = tree_path(&tree, "src"), *set = tree_path(&tree, "set");
    const char *dest = tree_path(&tree, "converted"), *plan = tree_path(&tree, "plan");

    (void)state;
    if (sheaf_pack(source, set, &options, &result, &err) != SHEAF_OK)
        fail_msg("%s", err.message);
    sheaf_pack_options_init(&options, sizeof(options));
    options.container = SHEAF_TFRECORD;
    options.dry_run = 1;
    if (sheaf_plan_make(&set, 1, dest, plan, &options, &result, &err) != SHEAF_OK)
        fail_msg("%s", err.message);
    assert_true(tree_has(&tree, "plan"));
    assert_false(tree_has(&tree, "converted"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_all_samples_in_order, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_bad_file, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_run_goes_on_at_its_place, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_place, setup, teardown),
        cmocka_unit_test_setup_teardown(test_dry_run_of_a_conversion, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
