/* SPDX-License-Identifier: MIT
 *
 * Tests the sum of an epoch. Each expected sample must be returned or counted as corrupt, or the
 * epoch must end with an error, for any batch size and wherever in a batch a record fails. Also
 * tests the sums of verify and index. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "base/bytes.h"
#include "reader/reader_state.h"
#include "tests/common_shards.h"
#include "tests/common_tar.h"
#include "tests/common_tree.h"

#define SAMPLES     5u
#define FIELDS_MOST 1024u

static const uint64_t counts[] = { 12, 7, 3, 0 };

/* ---- A record that passes a limit ----------------------------------------------------------- */

/* A directory with one tar, plain or compressed, in which the sample number `large` has more fields
 * than a sample may have. */
struct large_set {
    char directory[32], path[64];
};

static void large_make(struct large_set *set, unsigned large, bool is_packed)
{
    struct buf out = { .limit = SIZE_MAX };

    snprintf(set->directory, sizeof(set->directory), "/tmp/sheaf-test-XXXXXX");
    assert_non_null(mkdtemp(set->directory));
    snprintf(set->path, sizeof(set->path), "%s/a.tar%s", set->directory, is_packed ? ".gz" : "");
    for (unsigned i = 0; i < SAMPLES; i++) {
        for (unsigned f = 0; f < (i == large ? FIELDS_MOST + 76 : 1); f++) {
            char name[32];

            snprintf(name, sizeof(name), "s%u.f%u", i, f);
            tar_put_file(&out, name, "text");
        }
    }
    tar_put_zeros(&out, 2);
    if (is_packed) {
        gzFile file = gzopen(set->path, "wb");

        assert_non_null(file);
        assert_int_equal(gzwrite(file, out.data, (unsigned)out.size), out.size);
        assert_int_equal(gzclose(file), Z_OK);
    } else {
        file_write(set->path, out.data, out.size);
    }
    buf_free(&out);
}

static struct sheaf_dataset *large_open(const struct large_set *set)
{
    const char *sources[] = { set->directory };
    struct sheaf_dataset *dataset;
    struct sheaf_error error;

    if (sheaf_dataset_open(sources, 1, &dataset, &error) != SHEAF_OK)
        fail_msg("%s", error.message);
    return dataset;
}

static void note_report(void *context, const char *where, const struct sheaf_error *error)
{
    assert_non_null(strstr(where, "a.tar"));
    assert_non_null(strstr(error->message, "more than 1024 fields"));
    ++*(unsigned *)context;
}

/* Reads to the end of the epoch. Returns the code that ended it. *total is the number of returned
 * samples. */
static int read_all(struct sheaf_reader *reader, size_t batch, uint64_t *total)
{
    const struct sheaf_sample *samples;
    size_t count;
    int code;

    *total = 0;
    while ((code = sheaf_reader_next_batch(reader, batch, &samples, &count)) == SHEAF_OK)
        *total += count;
    return code;
}

static void check_large(const struct sheaf_dataset *dataset, unsigned large, size_t batch)
{
    struct sheaf_reader_options o;
    struct sheaf_reader_stats stats;
    struct sheaf_reader *reader;
    unsigned reports = 0;
    uint64_t total;

    sheaf_reader_options_init(&o, sizeof(o));
    o.no_shuffle = 1;
    reader = shards_reader(dataset, &o);
    assert_int_equal(read_all(reader, batch, &total), SHEAF_ERR_LIMIT);
    assert_int_equal(total, large);
    assert_non_null(strstr(sheaf_reader_error(reader)->message, "a.tar"));
    assert_non_null(strstr(sheaf_reader_error(reader)->message, "record "));
    sheaf_reader_free(reader);
    o.on_corrupt = SHEAF_SKIP;
    o.report = note_report;
    o.report_context = &reports;
    reader = shards_reader(dataset, &o);
    assert_int_equal(read_all(reader, batch, &total), SHEAF_END);
    assert_int_equal(total, SAMPLES - 1);
    sheaf_reader_get_stats(reader, &stats, sizeof(stats));
    assert_int_equal(stats.corrupt, 1);
    assert_int_equal(reports, 1);
    sheaf_reader_free(reader);
}

static void a_sample_over_a_limit_is_an_error_or_counted(void **state)
{
    (void)state;
    for (int is_packed = 0; is_packed <= 1; is_packed++) {
        for (unsigned large = 0; large < SAMPLES; large++) {
            struct large_set set;
            struct sheaf_dataset *dataset;

            large_make(&set, large, is_packed);
            dataset = large_open(&set);
            for (size_t batch = 1; batch <= 8; batch++)
                check_large(dataset, large, batch);
            sheaf_dataset_free(dataset);
            unlink(set.path);
            rmdir(set.directory);
        }
    }
}

/* ---- The end of an epoch -------------------------------------------------------------------- */

/* Tests a reader that was made to believe that it has returned one sample more or less. */
static void check_difference(const struct sheaf_dataset *dataset, bool more, size_t batch)
{
    struct sheaf_reader_options o;
    struct sheaf_reader *reader;
    const struct sheaf_sample *sample;
    uint64_t total;

    sheaf_reader_options_init(&o, sizeof(o));
    o.shuffle_buffer = 4;
    reader = shards_reader(dataset, &o);
    assert_int_equal(sheaf_reader_next(reader, &sample), SHEAF_OK);
    assert_int_equal(sheaf_reader_next(reader, &sample), SHEAF_OK);
    reader->handed += more ? 1 : -1;
    assert_int_equal(read_all(reader, batch, &total), SHEAF_ERR_MISMATCH);
    assert_non_null(strstr(sheaf_reader_error(reader)->message, "samples and 0 corrupt records"));
    assert_int_equal(sheaf_reader_next(reader, &sample), SHEAF_ERR_STATE);
    sheaf_reader_free(reader);
}

static void a_difference_is_no_quiet_end(void **state)
{
    struct shard_set set;
    struct sheaf_dataset *dataset;
    struct large_set packed;

    (void)state;
    shards_make(&set, &recordio_ops, counts);
    dataset = shards_open(&set);
    for (size_t batch = 1; batch <= 30; batch += 7) {
        check_difference(dataset, false, batch);
        check_difference(dataset, true, batch);
    }
    sheaf_dataset_free(dataset);
    shards_remove(&set);
    large_make(&packed, SAMPLES, true);
    dataset = large_open(&packed);
    check_difference(dataset, false, 3);
    check_difference(dataset, true, 3);
    sheaf_dataset_free(dataset);
    unlink(packed.path);
    rmdir(packed.directory);
}

/* Tests whole epochs, and epochs that begin at any sample. */
static void epochs_add_up_from_anywhere(void **state)
{
    struct shard_set set;
    struct sheaf_dataset *dataset;
    struct sheaf_reader *reader;
    uint64_t total;

    (void)state;
    shards_make(&set, &tfrecord_ops, counts);
    dataset = shards_open(&set);
    reader = shards_reader(dataset, NULL);
    for (uint64_t at = 0; at <= set.samples; at++) {
        assert_int_equal(sheaf_reader_seek(reader, 0, at), SHEAF_OK);
        assert_int_equal(read_all(reader, 5, &total), SHEAF_END);
        assert_int_equal(total, set.samples - at);
        assert_int_equal(read_all(reader, 5, &total), SHEAF_END);
        assert_int_equal(total, 0);
    }
    sheaf_reader_free(reader);
    sheaf_dataset_free(dataset);
    shards_remove(&set);
}

static void a_batch_of_none_is_refused(void **state)
{
    struct shard_set set;
    struct sheaf_dataset *dataset;
    struct sheaf_reader *reader;
    const struct sheaf_sample *samples;
    size_t count = 7;
    uint64_t total;

    (void)state;
    shards_make(&set, &tfrecord_ops, counts);
    dataset = shards_open(&set);
    reader = shards_reader(dataset, NULL);
    assert_int_equal(sheaf_reader_next_batch(reader, 0, &samples, &count), SHEAF_ERR_ARGUMENT);
    assert_int_equal(count, 0);
    assert_int_equal(read_all(reader, 5, &total), SHEAF_END);
    assert_int_equal(total, set.samples);
    assert_int_equal(sheaf_reader_next_batch(reader, 0, &samples, &count), SHEAF_ERR_ARGUMENT);
    sheaf_reader_free(reader);
    sheaf_dataset_free(dataset);
    shards_remove(&set);
}

/* ---- verify and index ----------------------------------------------------------------------- */

/* Writes four samples, or three in a file of the same size. */
static void write_members(const struct tree *tree, const char *name, bool fewer)
{
    struct buf out = { .limit = SIZE_MAX };

    tar_put_file(&out, "s0.a", "text");
    tar_put_file(&out, "s1.a", "text");
    tar_put_file(&out, "s2.a", "text");
    if (!fewer)
        tar_put_file(&out, "s3.a", "text");
    tar_put_zeros(&out, fewer ? 4 : 2);
    tree_write(tree, name, out.data, out.size);
    buf_free(&out);
}

static void note_difference(void *context, const char *where, const struct sheaf_error *error)
{
    assert_non_null(strstr(where, "set/b.tar"));
    assert_non_null(strstr(error->message, "has 3 samples when read through, but 4 when it was"));
    ++*(unsigned *)context;
}

/* Tests a shard that changes after its scan, and then has another number of samples. */
static void verify_keeps_a_sum(void **state)
{
    struct sheaf_verify_options o;
    struct sheaf_verify_result result;
    struct sheaf_dataset *dataset;
    struct sheaf_error error;
    struct tree tree;
    unsigned reports = 0;
    const char *url;

    (void)state;
    tree_make(&tree);
    write_members(&tree, "set/a.tar", false);
    write_members(&tree, "set/b.tar", false);
    url = tree_path(&tree, "set");
    assert_int_equal(sheaf_dataset_open(&url, 1, &dataset, &error), SHEAF_OK);
    sheaf_verify_options_init(&o, sizeof(o));
    o.report = note_difference;
    o.context = &reports;
    assert_int_equal(sheaf_verify(dataset, &o, &result, &error), SHEAF_OK);
    assert_int_equal(result.problems, 0);
    write_members(&tree, "set/b.tar", true);
    assert_int_equal(sheaf_verify(dataset, &o, &result, &error), SHEAF_OK);
    assert_int_equal(result.problems, 1);
    assert_int_equal(reports, 1);
    sheaf_dataset_free(dataset);
    tree_remove(&tree);
}

/* Called after the first shard; changes the second one. */
static void change_second(void *context, const struct sheaf_progress *progress)
{
    (void)progress;
    write_members(context, "set/b.tar", true);
}

static void index_keeps_a_sum(void **state)
{
    struct sheaf_verify_options o;
    struct sheaf_verify_result result;
    struct sheaf_error error;
    struct tree tree;

    (void)state;
    tree_make(&tree);
    write_members(&tree, "set/a.tar", false);
    write_members(&tree, "set/b.tar", false);
    sheaf_verify_options_init(&o, sizeof(o));
    o.progress = change_second;
    o.context = &tree;
    assert_int_equal(sheaf_index(tree_path(&tree, "set"), NULL, 0, &o, &result, &error),
                     SHEAF_ERR_CHANGED);
    assert_non_null(strstr(error.message, "b.tar: has 3 samples when read through, but 4"));
    assert_false(tree_has(&tree, "set/dataset.json"));
    o.progress = NULL;
    assert_int_equal(sheaf_index(tree_path(&tree, "set"), NULL, 0, &o, &result, &error), SHEAF_OK);
    assert_int_equal(result.samples, 7);
    tree_remove(&tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sample_over_a_limit_is_an_error_or_counted),
        cmocka_unit_test(a_difference_is_no_quiet_end),
        cmocka_unit_test(epochs_add_up_from_anywhere),
        cmocka_unit_test(a_batch_of_none_is_refused),
        cmocka_unit_test(verify_keeps_a_sum),
        cmocka_unit_test(index_keeps_a_sum),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
