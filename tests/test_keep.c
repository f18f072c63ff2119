/* SPDX-License-Identifier: MIT
 *
 * Samples kept beyond the call that gave them, and positions of samples handed out a while ago. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "tests/common_shards.h"

static const uint64_t counts[] = { 40, 1, 57, 13, 80, 0 };
static const struct format_ops *const containers[] = { &tfrecord_ops, &recordio_ops,
                                                       &webdataset_ops };

/* ---- Samples -------------------------------------------------------------------------------- */

struct batch {
    const struct sheaf_sample *samples;
    size_t count;
    struct sheaf_kept *kept;
};

/* Keeps a whole epoch in batches, ends the reader, and then looks at what was kept. */
static void keep_epoch(struct sheaf_dataset *dataset, uint64_t buffer, uint64_t samples)
{
    struct batch batches[64];
    struct sheaf_reader_options o;
    struct sheaf_reader *reader;
    struct sheaf_reader_stats stats;
    static bool seen[4096];
    uint64_t total = 0;
    size_t n = 0;
    int code;

    sheaf_reader_options_init(&o, sizeof(o));
    o.shuffle_buffer = buffer;
    o.lanes = 4;
    reader = shards_reader(dataset, &o);
    for (;; n++) {
        const struct sheaf_sample *given;
        size_t count;

        code = sheaf_reader_next_batch(reader, 1 + n % 20, &given, &count);
        if (code != SHEAF_OK)
            break;
        assert_true(n < COUNT_OF(batches));
        assert_int_equal(sheaf_reader_keep(reader, &batches[n].samples, &batches[n].count,
                                           &batches[n].kept), SHEAF_OK);
        assert_int_equal(batches[n].count, count);
    }
    assert_int_equal(code, SHEAF_END);
    sheaf_reader_get_stats(reader, &stats, sizeof(stats));
    assert_true(stats.memory_peak_bytes <= o.memory_bytes);
    sheaf_reader_free(reader);
    memset(seen, 0, sizeof(seen));
    for (size_t i = n; i-- > 0;) {
        for (size_t s = 0; s < batches[i].count; s++) {
            const uint64_t number = shards_number(&batches[i].samples[s]);

            assert_false(seen[number]);
            assert_int_equal(batches[i].samples[s].number, number);
            assert_string_equal(batches[i].samples[s].fields[0].name, "jpg");
            seen[number] = true;
        }
        total += batches[i].count;
        sheaf_kept_free(batches[i].kept);
    }
    assert_int_equal(total, samples);
}

static void kept_samples_outlive_the_reader(void **state)
{
    static const uint64_t buffers[] = { 0, 1, 30, 1000 };

    (void)state;
    for (size_t c = 0; c < COUNT_OF(containers); c++) {
        struct shard_set set;
        struct sheaf_dataset *dataset;

        shards_make(&set, containers[c], counts);
        dataset = shards_open(&set);
        for (size_t b = 0; b < COUNT_OF(buffers); b++)
            keep_epoch(dataset, buffers[b], set.samples);
        sheaf_dataset_free(dataset);
        shards_remove(&set);
    }
}

static void what_is_kept_is_taken_from_the_reader(void **state)
{
    struct shard_set set;
    struct sheaf_dataset *dataset;
    struct sheaf_reader *reader;
    const struct sheaf_sample *samples;
    struct sheaf_kept *kept;
    size_t count;

    (void)state;
    shards_make(&set, &webdataset_ops, counts);
    dataset = shards_open(&set);
    reader = shards_reader(dataset, NULL);
    assert_int_equal(sheaf_reader_keep(reader, &samples, &count, &kept), SHEAF_ERR_STATE);
    assert_int_equal(sheaf_reader_next_batch(reader, 100, &samples, &count), SHEAF_OK);
    assert_int_equal(sheaf_reader_keep(reader, &samples, &count, &kept), SHEAF_OK);
    sheaf_kept_free(kept);
    assert_int_equal(sheaf_reader_keep(reader, &samples, &count, &kept), SHEAF_ERR_STATE);
    assert_int_equal(sheaf_reader_next_batch(reader, 100, &samples, &count), SHEAF_OK);
    shards_number(samples);
    sheaf_reader_free(reader);
    sheaf_dataset_free(dataset);
    sheaf_kept_free(NULL);
    shards_remove(&set);
}

/* ---- Positions ------------------------------------------------------------------------------ */

/* Reads to the end in uneven batches; what was said of every place at the time is said again from
 * later ones, also across bad records and lanes that have ended. */
static void check_back(const struct sheaf_dataset *dataset, const struct sheaf_reader_options *o,
                       const char *from)
{
    static char said[4096][SHEAF_POSITION_SIZE];
    struct sheaf_reader *reader = shards_reader(dataset, o);
    uint64_t handed = 0;
    int code;

    if (from != NULL)
        assert_int_equal(sheaf_reader_resume(reader, from), SHEAF_OK);
    assert_int_equal(sheaf_reader_position(reader, said[0]), SHEAF_OK);
    for (;;) {
        const struct sheaf_sample *sample;

        code = sheaf_reader_next(reader, &sample);
        if (code != SHEAF_OK)
            break;
        assert_true(++handed < COUNT_OF(said));
        assert_int_equal(sheaf_reader_position(reader, said[handed]), SHEAF_OK);
        for (uint64_t back = 1; back <= handed; back += 1 + back / 3) {
            char text[SHEAF_POSITION_SIZE];

            assert_int_equal(sheaf_reader_position_back(reader, back, text), SHEAF_OK);
            assert_string_equal(text, said[handed - back]);
        }
    }
    assert_int_equal(code, SHEAF_END);
    assert_int_equal(sheaf_reader_position_back(reader, handed + 1, said[0]),
                     SHEAF_ERR_ARGUMENT);
    assert_int_equal(sheaf_reader_begin_epoch(reader, 1), SHEAF_OK);
    assert_int_equal(sheaf_reader_position_back(reader, 1, said[0]), SHEAF_ERR_ARGUMENT);
    sheaf_reader_free(reader);
}

static void positions_of_a_while_ago(void **state)
{
    struct shard_set set;
    struct sheaf_dataset *dataset;
    struct sheaf_reader_options o;
    char middle[SHEAF_POSITION_SIZE];
    struct sheaf_reader *reader;
    const struct sheaf_sample *samples;
    uint8_t *data;
    size_t size, count;

    (void)state;
    shards_make(&set, &tfrecord_ops, counts);
    data = file_read(set.paths[2], &size);
    data[size / 2] ^= 1;
    data[size / 3] ^= 1;
    file_write(set.paths[2], data, size);
    free(data);
    dataset = shards_open(&set);
    sheaf_reader_options_init(&o, sizeof(o));
    o.on_corrupt = SHEAF_SKIP;
    for (uint32_t lanes = 1; lanes <= 7; lanes += 3) {
        o.lanes = lanes;
        o.shuffle_buffer = lanes * 5;
        check_back(dataset, &o, NULL);
        reader = shards_reader(dataset, &o);
        assert_int_equal(sheaf_reader_next_batch(reader, 50, &samples, &count), SHEAF_OK);
        assert_int_equal(sheaf_reader_position_back(reader, 3, middle), SHEAF_OK);
        sheaf_reader_free(reader);
        check_back(dataset, &o, middle);
    }
    sheaf_dataset_free(dataset);
    shards_remove(&set);
}

/* From 16 KiB on, samples are read when they are drawn. */
static int make_samples_large(void **state)
{
    (void)state;
    shards_least = (size_t)20 << 10;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_samples_outlive_the_reader),
        cmocka_unit_test(what_is_kept_is_taken_from_the_reader),
        cmocka_unit_test(positions_of_a_while_ago),
    };

    return cmocka_run_group_tests(tests, NULL, NULL)
           + cmocka_run_group_tests_name("large samples", tests, make_samples_large, NULL);
}
