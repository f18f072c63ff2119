/* SPDX-License-Identifier: MIT
 *
 * Tests the reader over foreign shards of every container. Its order must be that of order.h on
 * numbers, with any threads, memory, batches and ranks. Positions must resume exactly, and damage
 * must be found before a sample is returned. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "tests/common_order.h"
#include "tests/common_shards.h"

static const uint64_t counts[] = { 40, 1, 57, 13, 80, 0 };
static const struct format_ops *const containers[] = { &tfrecord_ops, &recordio_ops,
                                                       &webdataset_ops };

struct numbers {
    uint64_t list[4096];
    size_t count;
};

/* Reads to the end in batches of `batch` samples. */
static void read_rest(struct sheaf_reader *reader, size_t batch, struct numbers *out)
{
    for (;;) {
        const struct sheaf_sample *samples;
        size_t count;
        int code = sheaf_reader_next_batch(reader, batch, &samples, &count);

        if (code == SHEAF_END)
            return;
        if (code != SHEAF_OK)
            fail_msg("%s", sheaf_reader_error(reader)->message);
        assert_true(count >= 1 && count <= batch);
        for (size_t i = 0; i < count; i++) {
            out->list[out->count++] = shards_number(&samples[i]);
            assert_int_equal(samples[i].number, out->list[out->count - 1]);
        }
    }
}

static void assert_numbers(const struct numbers *a, const struct numbers *b)
{
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++)
        assert_int_equal(a->list[i], b->list[i]);
}

static struct order order_of(const struct sheaf_reader_options *o)
{
    return (struct order){
        .seed = o->seed, .epoch = o->epoch, .shuffle = !o->no_shuffle,
        .buffer = o->shuffle_buffer,
        .lanes = o->lanes != 0 ? o->lanes : o->world_size * o->workers,
        .remainder = o->remainder != SHEAF_REMAINDER_AUTO ? o->remainder
                   : o->world_size > 1 ? SHEAF_PAD : SHEAF_KEEP,
    };
}

/* Reads with these options, and compares the order with that of order.h. */
static void check_epoch(const struct shard_set *set, const struct sheaf_reader_options *options,
                        size_t batch)
{
    static struct numbers expected, got;
    struct sheaf_dataset *dataset = shards_open(set);
    struct sheaf_reader *reader = shards_reader(dataset, options);
    const struct order order = order_of(options);
    const struct order_member member = { options->rank, options->world_size, options->worker,
                                         options->workers };
    const struct order_set numbered = { set->counts, set->count, set->samples };
    struct sheaf_reader_stats stats;

    expected.count = order_play(&order, &member, &numbered, 0, expected.list,
                                COUNT_OF(expected.list));
    assert_int_equal(sheaf_reader_epoch_samples(reader), expected.count);
    got.count = 0;
    read_rest(reader, batch, &got);
    assert_numbers(&got, &expected);
    sheaf_reader_get_stats(reader, &stats, sizeof(stats));
    assert_int_equal(stats.samples, expected.count);
    assert_true(stats.memory_bytes <= stats.memory_peak_bytes);
    assert_true(stats.memory_peak_bytes <= options->memory_bytes);
    sheaf_reader_free(reader);
    sheaf_dataset_free(dataset);
}

static void order_is_that_of_numbers(void **state)
{
    (void)state;
    for (size_t f = 0; f < COUNT_OF(containers); f++) {
        struct shard_set set;
        struct sheaf_reader_options o;

        shards_make(&set, containers[f], counts);
        sheaf_reader_options_init(&o, sizeof(o));
        o.no_shuffle = 1;
        check_epoch(&set, &o, 1);
        o.lanes = 7;
        check_epoch(&set, &o, 5);
        o.no_shuffle = 0;
        for (uint64_t buffer = 0; buffer < 300; buffer = buffer * 3 + 1) {
            o.shuffle_buffer = buffer;
            for (o.lanes = 1; o.lanes <= 12; o.lanes += 3) {
                for (int m = SHEAF_KEEP; m <= SHEAF_PAD; m++) {
                    o.remainder = (enum sheaf_remainder)m;
                    o.epoch = buffer + o.lanes;
                    o.threads = 1 + (unsigned)buffer % 4;
                    check_epoch(&set, &o, 1 + (size_t)buffer);
                }
            }
        }
        shards_remove(&set);
    }
}

static void every_member_has_its_lanes(void **state)
{
    struct shard_set set;
    struct sheaf_reader_options o;

    (void)state;
    shards_make(&set, &tfrecord_ops, counts);
    sheaf_reader_options_init(&o, sizeof(o));
    o.seed = 5;
    o.shuffle_buffer = 24;
    o.lanes = 24;
    o.world_size = 3;
    o.workers = 2;
    for (o.rank = 0; o.rank < 3; o.rank++)
        for (o.worker = 0; o.worker < 2; o.worker++)
            check_epoch(&set, &o, 3);
    shards_remove(&set);
}

static void little_memory_gives_the_same(void **state)
{
    struct shard_set set;
    struct sheaf_reader_options o;

    (void)state;
    shards_make(&set, &webdataset_ops, counts);
    sheaf_reader_options_init(&o, sizeof(o));
    o.shuffle_buffer = 10;
    o.memory_bytes = 600 << 10;
    check_epoch(&set, &o, 1);
    o.memory_bytes = 64 << 20;
    check_epoch(&set, &o, 1);
    shards_remove(&set);
}

static void too_little_memory_is_refused_with_the_numbers(void **state)
{
    struct shard_set set;
    struct sheaf_reader_options o;
    struct sheaf_dataset *dataset;
    struct sheaf_reader *reader;
    struct sheaf_error error = { 0 };

    (void)state;
    shards_make(&set, &webdataset_ops, counts);
    dataset = shards_open(&set);
    sheaf_reader_options_init(&o, sizeof(o));
    o.memory_bytes = 10000;
    assert_int_equal(sheaf_reader_open(dataset, &o, &reader, &error), SHEAF_ERR_LIMIT);
    assert_non_null(strstr(error.message, "191 samples"));
    assert_non_null(strstr(error.message, "10000"));
    sheaf_dataset_free(dataset);
    shards_remove(&set);
}

static void positions_go_on_exactly(void **state)
{
    static struct numbers whole, part;
    struct shard_set set;
    struct sheaf_reader_options o;
    struct sheaf_dataset *dataset;

    (void)state;
    shards_make(&set, &recordio_ops, counts);
    dataset = shards_open(&set);
    sheaf_reader_options_init(&o, sizeof(o));
    o.seed = 9;
    o.shuffle_buffer = 50;
    o.lanes = 3;
    for (size_t stop = 0; stop <= set.samples; stop += 1 + stop / 9) {
        struct sheaf_reader *reader = shards_reader(dataset, &o);
        struct sheaf_reader *other;
        struct sheaf_reader_options plain;
        char text[SHEAF_POSITION_SIZE];

        whole.count = part.count = 0;
        for (size_t i = 0; i < stop; i++) {
            const struct sheaf_sample *sample;

            assert_int_equal(sheaf_reader_next(reader, &sample), SHEAF_OK);
        }
        assert_int_equal(sheaf_reader_position(reader, text), SHEAF_OK);
        assert_true(strlen(text) <= 256);
        read_rest(reader, 1, &whole);
        sheaf_reader_options_init(&plain, sizeof(plain));
        other = shards_reader(dataset, &plain);
        assert_int_equal(sheaf_reader_resume(other, text), SHEAF_OK);
        read_rest(other, 1, &part);
        assert_numbers(&part, &whole);
        assert_int_equal(sheaf_reader_begin_epoch(reader, 7), SHEAF_OK);
        assert_int_equal(sheaf_reader_begin_epoch(other, 7), SHEAF_OK);
        whole.count = part.count = 0;
        read_rest(reader, 9, &whole);
        read_rest(other, 4, &part);
        assert_numbers(&part, &whole);
        sheaf_reader_free(reader);
        sheaf_reader_free(other);
    }
    sheaf_dataset_free(dataset);
    shards_remove(&set);
}

static void bad_positions_are_refused(void **state)
{
    static const char *const bad[] = {
        "", "sheaf1", "sheaf2 0 seed=1",
        "sheaf1 00000000000000000000000000000000 seed=0 epoch=0 shuffle=1 buffer=10 lanes=1 "
        "remainder=keep rounds=0 extra=0 of=0/1/0/1",
        "sheaf1 00000000000000000000000000000000 seed=0 epoch=0 shuffle=1 buffer=10 lanes=0 "
        "remainder=keep rounds=0 extra=0 of=0/1/0/1",
    };
    struct shard_set set;
    struct sheaf_dataset *dataset;
    struct sheaf_reader *reader;
    const struct sheaf_sample *sample;

    (void)state;
    shards_make(&set, &tfrecord_ops, counts);
    dataset = shards_open(&set);
    reader = shards_reader(dataset, NULL);
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_true(sheaf_reader_resume(reader, bad[i]) < 0);
    assert_int_equal(sheaf_reader_next(reader, &sample), SHEAF_OK);   /* nothing was changed */
    sheaf_reader_free(reader);
    sheaf_dataset_free(dataset);
    shards_remove(&set);
}

static void an_interrupt_comes_once(void **state)
{
    struct shard_set set;
    struct sheaf_dataset *dataset;
    struct sheaf_reader *reader;
    const struct sheaf_sample *sample;
    static struct numbers got;

    (void)state;
    shards_make(&set, &tfrecord_ops, counts);
    dataset = shards_open(&set);
    reader = shards_reader(dataset, NULL);
    sheaf_reader_interrupt(reader);
    assert_int_equal(sheaf_reader_next(reader, &sample), SHEAF_ERR_INTERRUPTED);
    got.count = 0;
    read_rest(reader, 1, &got);
    assert_int_equal(got.count, set.samples);
    sheaf_reader_free(reader);
    sheaf_dataset_free(dataset);
    shards_remove(&set);
}

/* Flips a byte of a payload in foreign TFRecords. The record's own checksum must show the
 * damage. */
static void a_bad_record_fails_or_is_skipped_and_counted(void **state)
{
    struct shard_set set;
    struct sheaf_dataset *dataset;
    struct sheaf_reader *reader;
    struct sheaf_reader_options o;
    struct sheaf_reader_stats stats;
    const struct sheaf_sample *sample;
    static struct numbers got;
    uint8_t *data;
    size_t size;
    int code;

    (void)state;
    shards_make(&set, &tfrecord_ops, counts);
    data = file_read(set.paths[2], &size);
    data[size / 2] ^= 1;
    file_write(set.paths[2], data, size);
    free(data);
    dataset = shards_open(&set);
    sheaf_reader_options_init(&o, sizeof(o));
    o.no_shuffle = 1;
    reader = shards_reader(dataset, &o);
    while ((code = sheaf_reader_next(reader, &sample)) == SHEAF_OK)
        ;
    assert_int_equal(code, SHEAF_ERR_CORRUPT);
    assert_non_null(strstr(sheaf_reader_error(reader)->message, set.paths[2]));
    assert_non_null(strstr(sheaf_reader_error(reader)->message, "record "));
    sheaf_reader_free(reader);
    o.on_corrupt = SHEAF_SKIP;
    reader = shards_reader(dataset, &o);
    got.count = 0;
    read_rest(reader, 7, &got);
    assert_int_equal(got.count, set.samples - 1);
    sheaf_reader_get_stats(reader, &stats, sizeof(stats));
    assert_int_equal(stats.corrupt, 1);
    sheaf_reader_free(reader);
    o.max_corrupt = 0;
    reader = shards_reader(dataset, &o);
    while ((code = sheaf_reader_next(reader, &sample)) == SHEAF_OK)
        ;
    assert_int_equal(code, SHEAF_ERR_CORRUPT);
    sheaf_reader_free(reader);
    sheaf_dataset_free(dataset);
    shards_remove(&set);
}

/* Begins at every sample of a member's part, with any number of lanes. The following samples and
 * their ordinals must be the same. */
static void an_epoch_begins_at_any_sample(void **state)
{
    static const uint32_t lanes[] = { 1, 2, 6 };
    static struct numbers whole, rest;
    struct shard_set set;
    struct sheaf_dataset *dataset;

    (void)state;
    shards_make(&set, &webdataset_ops, counts);
    dataset = shards_open(&set);
    for (size_t l = 0; l < COUNT_OF(lanes); l++) {
        for (int m = SHEAF_KEEP; m <= SHEAF_PAD; m++) {
            struct sheaf_reader_options o;
            struct sheaf_reader *reader;

            sheaf_reader_options_init(&o, sizeof(o));
            o.shuffle_buffer = 30;
            o.lanes = lanes[l];
            o.world_size = lanes[l] == 1 ? 1 : 2;
            o.rank = o.world_size - 1;
            o.remainder = (enum sheaf_remainder)m;
            o.epoch = 3;
            reader = shards_reader(dataset, &o);
            whole.count = 0;
            read_rest(reader, 7, &whole);
            for (uint64_t at = 0; at <= whole.count; at += 1 + at / 9) {
                const struct sheaf_sample *sample;

                assert_int_equal(sheaf_reader_seek(reader, 3, at), SHEAF_OK);
                rest.count = at;
                memcpy(rest.list, whole.list, at * sizeof(rest.list[0]));
                read_rest(reader, 7, &rest);
                assert_numbers(&rest, &whole);
                if (at == whole.count)
                    continue;
                assert_int_equal(sheaf_reader_seek(reader, 3, at), SHEAF_OK);
                assert_int_equal(sheaf_reader_next(reader, &sample), SHEAF_OK);
                assert_int_equal(sample->ordinal, at);
            }
            assert_int_equal(sheaf_reader_seek(reader, 3, whole.count + 1), SHEAF_ERR_ARGUMENT);
            sheaf_reader_free(reader);
        }
    }
    sheaf_dataset_free(dataset);
    shards_remove(&set);
}

int main(void)
{
    const struct CMUnitTest large[] = {
        cmocka_unit_test(order_is_that_of_numbers),
        cmocka_unit_test(an_epoch_begins_at_any_sample),
        cmocka_unit_test(every_member_has_its_lanes),
        cmocka_unit_test(little_memory_gives_the_same),
        cmocka_unit_test(positions_go_on_exactly),
        cmocka_unit_test(an_interrupt_comes_once),
        cmocka_unit_test(a_bad_record_fails_or_is_skipped_and_counted),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_is_that_of_numbers),
        cmocka_unit_test(an_epoch_begins_at_any_sample),
        cmocka_unit_test(every_member_has_its_lanes),
        cmocka_unit_test(little_memory_gives_the_same),
        cmocka_unit_test(too_little_memory_is_refused_with_the_numbers),
        cmocka_unit_test(positions_go_on_exactly),
        cmocka_unit_test(bad_positions_are_refused),
        cmocka_unit_test(an_interrupt_comes_once),
        cmocka_unit_test(a_bad_record_fails_or_is_skipped_and_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL)
           + cmocka_run_group_tests_name("large samples", large, shards_make_large, NULL);
}
