/* SPDX-License-Identifier: MIT
 *
 * Tests that the shard which a lane enters next is opened ahead of time. This must hold for a data
 * set, and for a view that takes only some samples of each shard, in pieces of the lane's line. If
 * the index sections of all sources of a view do not fit into memory, each source must still read
 * more than one sample at a time. A shard that was read is closed if memory for its section was not
 * planned. Memory for kept records of columns is used again for the next shard. The first sample of
 * an epoch does not wait for reads that later samples need. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/buf.h"
#include "reader/load/queue.h"
#include "reader/reader_state.h"
#include "tests/common_must.h"
#include "tests/common_shards.h"

/* Returns the next shard in the lane's order that differs from the present one. Returns the present
 * one if there is none. */
static uint32_t shard_after(const struct queue *p)
{
    for (uint64_t i = p->planned; i < p->sequence->count; i++) {
        const uint32_t shard = order_line_locate(p->line, sequence_place(p->sequence, i)).shard;

        if (shard != p->shard->number)
            return shard;
    }
    return p->shard->number;
}

struct seen {
    /* number of shards that were entered, and number of these that were opened before */
    uint64_t entered, ahead;
    uint64_t samples;
};

/* Reads the epoch. After its beginning, only one read is planned at a time. */
static void read_epoch(struct sheaf_reader *reader, struct seen *seen)
{
    const struct queue *p = &reader->load.queues[0];
    const struct sheaf_sample *sample;
    const struct shard *was = NULL, *next = NULL;
    int code = sheaf_reader_next(reader, &sample);

    *seen = (struct seen){ 0 };
    reader->load.queued_most = 1;
    reader->load.read_most = 8 << 10;
    for (; code == SHEAF_OK; code = sheaf_reader_next(reader, &sample)) {
        seen->samples++;
        if (p->shard != NULL && p->shard != was) {
            seen->entered++;
            seen->ahead += p->shard == next;
        }
        was = p->shard;
        next = p->next;
        if (next != NULL && !queue_is_planned(p))
            assert_int_equal(next->number, shard_after(p));
    }
    assert_int_equal(code, SHEAF_END);
}

/* Reads a data set of these shards, or a view of it. */
static void check(const uint64_t *counts, const char *where, struct seen *seen)
{
    struct sheaf_reader_options o;
    struct shard_set set;
    struct sheaf_dataset *dataset;
    struct sheaf_reader *reader;
    struct sheaf_error error;
    char view[128], text[512];
    const char *sources[] = { view };

    shards_make(&set, &webdataset_ops, counts);
    snprintf(view, sizeof(view), "%s.view", set.directory);
    snprintf(text, sizeof(text), "{\"sheaf_view\": 1, \"sources\": [{\"source\": \"%s\"%s}]}",
             set.directory, where);
    if (where[0] == '\0') {
        dataset = shards_open(&set);
    } else {
        file_write(view, text, strlen(text));
        if (sheaf_dataset_open(sources, 1, &dataset, &error) != SHEAF_OK)
            fail_msg("%s", error.message);
    }
    sheaf_reader_options_init(&o, sizeof(o));
    o.shuffle_buffer = 1;
    reader = shards_reader(dataset, &o);
    /* The index sections of these shards belong to the data set, but the open shards do not. */
    assert_true(shards_memory(&reader->load.shards, 0) >= sizeof(struct shard));
    read_epoch(reader, seen);
    sheaf_reader_free(reader);
    sheaf_dataset_free(dataset);
    unlink(view);
    shards_remove(&set);
}

/* Checks that all shards except the first one were opened ahead. */
static void check_seen(const struct seen *seen)
{
    assert_true(seen->entered > 3);
    assert_int_equal(seen->ahead, seen->entered - 1);
}

static const uint64_t small[] = { 100, 20, 50, 100, 30, 60, 140, 100, 60, 40, 100, 100, 100, 0 };

static void the_next_shard_of_a_data_set_is_opened_ahead(void **state)
{
    struct seen seen;

    (void)state;
    check(small, "", &seen);
    assert_int_equal(seen.samples, 1000);
    check_seen(&seen);
}

/* Tests a view in which one piece has samples of all shards. */
static void the_next_shard_of_a_piece_is_opened_ahead(void **state)
{
    struct seen seen;

    (void)state;
    check(small, ", \"where\": {\"every\": [2, 0]}", &seen);
    assert_int_equal(seen.samples, 500);
    check_seen(&seen);
}

/* Tests a view in which a shard has several pieces, which lie at any position in the lane's
 * order. */
static void the_shard_of_the_next_piece_is_opened_ahead(void **state)
{
    static const uint64_t counts[] = { 3000, 3000, 3000, 3000, 0 };
    struct seen seen;

    (void)state;
    check(counts, ", \"where\": {\"every\": [2, 1]}", &seen);
    assert_int_equal(seen.samples, 6000);
    check_seen(&seen);
}

#define SOURCES 8u

static void remove_indexed(struct shard_set *set)
{
    static const char *const names[] = { "dataset.index", "dataset.json", "dataset.keys" };
    char path[128];

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        snprintf(path, sizeof(path), "%.60s/%s", set->directory, names[i]);
        unlink(path);
    }
    shards_remove(set);
}

/* Makes an index for each set, and opens a view of all sets with equal weights. */
static struct sheaf_dataset *open_mix(struct shard_set *sets, const char *path)
{
    static const uint64_t counts[] = { 2000, 0 };
    struct buf text = { .limit = SIZE_MAX };
    struct sheaf_dataset *dataset;
    struct sheaf_verify_options options;
    struct sheaf_verify_result result;
    struct sheaf_error error;

    sheaf_verify_options_init(&options, sizeof(options));
    must(buf_printf(&text, &error, "{\"sheaf_view\": 1, \"samples\": 4000, \"sources\": ["));
    for (unsigned i = 0; i < SOURCES; i++) {
        shards_make(&sets[i], &webdataset_ops, counts);
        must(sheaf_index(sets[i].directory, "", 0, &options, &result, &error));
        must(buf_printf(&text, &error, "%s{\"source\": \"%s\", \"weight\": 1}",
                        i == 0 ? "" : ",", sets[i].directory));
    }
    must(buf_printf(&text, &error, "]}"));
    file_write(path, text.data, text.size);
    buf_free(&text);
    must(sheaf_dataset_open(&path, 1, &dataset, &error));
    return dataset;
}

static void a_source_without_room_for_its_index_reads_several_at_once(void **state)
{
    struct shard_set sets[SOURCES];
    struct sheaf_reader_options o;
    struct sheaf_dataset *dataset;
    struct sheaf_reader *reader;
    const struct sheaf_sample *sample;
    char path[] = "/tmp/sheaf-test-XXXXXX.view";
    uint64_t samples = 0, ahead[SOURCES] = { 0 };
    unsigned most_open = 0;

    (void)state;
    close(mkstemps(path, 5));
    dataset = open_mix(sets, path);
    sheaf_reader_options_init(&o, sizeof(o));
    o.shuffle_buffer = 1;
    o.memory_bytes = 384 << 10;
    reader = shards_reader(dataset, &o);
    while (sheaf_reader_next(reader, &sample) == SHEAF_OK) {
        unsigned open = 0;

        samples++;
        for (unsigned i = 0; i < SOURCES; i++) {
            ahead[i] += reader->load.queues[i].planned > reader->load.queues[i].taken;
            open += reader->load.shards.open[i] != NULL;
        }
        most_open = MAX(most_open, open);
    }
    assert_true(most_open < SOURCES);       /* memory has no room for the indexes of all */
    assert_int_equal(samples, 4000);
    for (unsigned i = 0; i < SOURCES; i++)
        assert_true(ahead[i] > samples / 4);
    sheaf_reader_free(reader);
    sheaf_dataset_free(dataset);
    for (unsigned i = 0; i < SOURCES; i++)
        remove_indexed(&sets[i]);
    unlink(path);
}

static void shards_that_were_read_are_closed(void **state)
{
    static const uint64_t counts[] = { 200, 200, 200, 200, 200, 200, 200, 200, 0 };
    struct sheaf_verify_options options;
    struct sheaf_verify_result result;
    struct sheaf_reader_options o;
    struct sheaf_dataset *dataset;
    struct sheaf_reader *reader;
    const struct sheaf_sample *sample;
    struct sheaf_error error;
    struct shard_set set;
    struct shards *s;
    uint64_t section, samples = 0;

    (void)state;
    shards_make(&set, &webdataset_ops, counts);
    sheaf_verify_options_init(&options, sizeof(options));
    must(sheaf_index(set.directory, "", 0, &options, &result, &error));
    dataset = shards_open(&set);
    sheaf_reader_options_init(&o, sizeof(o));
    o.shuffle_buffer = 64;
    reader = shards_reader(dataset, &o);
    s = &reader->load.shards;
    section = shards_memory(s, 0);
    assert_true(section != 0);
    assert_true(s->idle_most_bytes <= 4 << 20);
    s->idle_most_bytes = 2 * section;
    reader->load.queued_most = 1;
    reader->load.read_most = 8 << 10;
    for (; sheaf_reader_next(reader, &sample) == SHEAF_OK; samples++)
        assert_true(s->idle_count == 0 || s->bytes <= 2 * section);
    assert_int_equal(samples, set.samples);
    assert_true(s->bytes <= 2 * section);
    sheaf_reader_free(reader);
    sheaf_dataset_free(dataset);
    remove_indexed(&set);
}

static void add_column(const char *directory, uint64_t samples)
{
    static const char value[1000];
    const struct sheaf_field field = { .name = "txt", .data = value, .size = sizeof(value) };
    struct sheaf_column_options options;
    struct sheaf_column_writer *writer;
    struct sheaf_column_result result;
    struct sheaf_error error;

    sheaf_column_options_init(&options, sizeof(options));
    must(sheaf_column_open(directory, "c", &options, &writer, &error));
    for (uint64_t i = 0; i < samples; i++)
        must(sheaf_column_append(writer, &field, 1, &error));
    must(sheaf_column_finish(writer, &result, &error));
    sheaf_column_free(writer);
}

static void memory_for_kept_records_is_used_again(void **state)
{
    static const uint64_t counts[] = { 200, 200, 200, 200, 200, 200, 0 };
    static const char *const columns[] = { "c" };
    struct sheaf_verify_options options;
    struct sheaf_verify_result result;
    struct sheaf_reader_options o;
    struct sheaf_dataset *dataset;
    struct sheaf_reader *reader;
    const struct sheaf_sample *sample;
    struct sheaf_error error;
    struct shard_set set;
    struct shards *s;
    uint64_t left;

    (void)state;
    shards_make(&set, &webdataset_ops, counts);
    sheaf_verify_options_init(&options, sizeof(options));
    must(sheaf_index(set.directory, "", 0, &options, &result, &error));
    add_column(set.directory, set.samples);
    dataset = shards_open(&set);
    sheaf_reader_options_init(&o, sizeof(o));
    o.shuffle_buffer = 1;
    o.columns = columns;
    o.column_count = 1;
    reader = shards_reader(dataset, &o);
    s = &reader->load.shards;
    for (uint64_t epoch = 0; epoch < 3; epoch++) {
        uint64_t samples = 0, most = 0, room = 0;

        s->kept_most = UINT64_MAX;
        s->idle_most = 0;
        reader->load.queued_most = 1;
        reader->load.read_most = 8 << 10;
        for (; sheaf_reader_next(reader, &sample) == SHEAF_OK; samples++) {
            uint64_t bytes = s->spares.bytes;

            for (size_t i = 0; i < COUNT_OF(counts) - 1; i++)
                bytes += s->open[i] != NULL ? s->open[i]->room.capacity : 0;
            most = MAX(most, bytes);
            room = shards_kept_bytes(s, 0);
        }
        assert_int_equal(samples, set.samples);
        assert_true(room != 0);
        /* Without spare memory, each of the six shards would have new memory. */
        assert_in_range(most, room, 4 * room - 1);
        must(sheaf_reader_begin_epoch(reader, epoch + 1));
        assert_in_range(s->spares.bytes, room, 4 * room - 1);
    }
    left = s->budget->limit - s->budget->used;
    budget_add(s->budget, left);            /* Another use needs the whole budget. */
    shards_trim_spares(s);
    assert_int_equal(s->spares.bytes, 0);
    budget_give(s->budget, left);
    sheaf_reader_free(reader);
    sheaf_dataset_free(dataset);
    must(sheaf_column_drop(set.directory, "c", &error));
    remove_indexed(&set);
}

static void the_first_sample_waits_for_no_other_reads(void **state)
{
    static const uint64_t counts[] = { 2000, 2000, 0 };
    struct sheaf_reader_options o;
    struct sheaf_dataset *dataset;
    struct sheaf_reader *reader;
    const struct sheaf_sample *sample;
    struct shard_set set;
    uint64_t samples = 1;

    (void)state;
    shards_make(&set, &tfrecord_ops, counts);
    dataset = shards_open(&set);
    sheaf_reader_options_init(&o, sizeof(o));
    o.shuffle_buffer = 1024;
    reader = shards_reader(dataset, &o);
    assert_int_equal(sheaf_reader_next(reader, &sample), SHEAF_OK);
    assert_int_equal(reader->load.queues[0].planned, 0);
    assert_null(reader->load.shards.open[1 - sample->shard]);
    while (sheaf_reader_next(reader, &sample) == SHEAF_OK)
        samples++;
    assert_int_equal(samples, set.samples);
    sheaf_reader_free(reader);
    sheaf_dataset_free(dataset);
    shards_remove(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_shard_of_a_data_set_is_opened_ahead),
        cmocka_unit_test(the_next_shard_of_a_piece_is_opened_ahead),
        cmocka_unit_test(the_shard_of_the_next_piece_is_opened_ahead),
        cmocka_unit_test(a_source_without_room_for_its_index_reads_several_at_once),
        cmocka_unit_test(shards_that_were_read_are_closed),
        cmocka_unit_test(memory_for_kept_records_is_used_again),
        cmocka_unit_test(the_first_sample_waits_for_no_other_reads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
