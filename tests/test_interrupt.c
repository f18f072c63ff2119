/* SPDX-License-Identifier: MIT
 *
 * Tests that nobody waits for a server that no longer responds. If a reader is interrupted or gets
 * another task, its requests must be abandoned. The server's counts show this: an abandoned request
 * is sent once, and a request that is awaited to the end is sent six times. */
#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/flag.h"
#include "base/timed_wait.h"
#include "store/interrupt.h"
#include "store/store.h"
#include "tests/common_fake_s3.h"
#include "tests/common_must.h"
#include "tests/common_shards.h"
#include "tests/common_tree.h"

#define FOR_EVER_MS 600000
#define SET "s3://bucket/set"
#define SHARD "s-000.tfrecord"

static const uint64_t counts[] = { 200, 0 };

static struct fake_s3 s3;
static struct tree tree;
static uint64_t counted_ns;      /* when count_now was called last */
static struct sheaf_error error;

/* Moves the files of the data set into the bucket. */
static void put_set(const char *directory)
{
    DIR *all = opendir(directory);
    struct dirent *d;

    assert_non_null(all);
    while ((d = readdir(all)) != NULL) {
        char path[500], object[300];
        uint8_t *data;
        size_t size;

        if (d->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%s", directory, d->d_name);
        snprintf(object, sizeof(object), "/bucket/set/%s", d->d_name);
        data = file_read(path, &size);
        fake_s3_put(&s3, object, data, size);
        free(data);
        assert_int_equal(unlink(path), 0);
    }
    closedir(all);
}

/* Adds a column to the data set in the bucket. */
static void add_column(const char *name)
{
    const struct sheaf_field field = { .name = "txt", .data = "value", .size = 5 };
    struct sheaf_column_options options;
    struct sheaf_column_writer *writer;
    struct sheaf_column_result result;

    sheaf_column_options_init(&options, sizeof(options));
    must(sheaf_column_open(SET, name, &options, &writer, &error));
    for (uint64_t i = 0; i < counts[0]; i++)
        must(sheaf_column_append(writer, &field, 1, &error));
    must(sheaf_column_finish(writer, &result, &error));
    sheaf_column_free(writer);
}

static int start(void **state)
{
    struct sheaf_verify_options options;
    struct sheaf_verify_result result;
    struct shard_set set;

    (void)state;
    tree_make(&tree);
    fake_s3_start(&s3);
    fake_s3_use(&s3, FOR_EVER_MS);
    shards_make(&set, &tfrecord_ops, counts);
    sheaf_verify_options_init(&options, sizeof(options));
    must(sheaf_index(set.directory, "", 0, &options, &result, &error));
    put_set(set.directory);
    assert_int_equal(rmdir(set.directory), 0);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    fake_server_clear_faults(s3.server);
    fake_s3_stop(&s3);
    tree_remove(&tree);
    return 0;
}

/* Returns the number of requests so far whose path has `match`. */
static unsigned count_now(const char *match)
{
    counted_ns = clock_ns();
    return fake_server_count(s3.server, NULL, match);
}

/* Tests that at most `most` requests whose path has `match` were sent since count_now returned
 * `before`. A read that waits for a second is late and is sent again, at most 16 times in all (see
 * store/peers.h). That is possible only on a machine that stands still. */
static void check_count(const char *match, unsigned before, unsigned most)
{
    const unsigned late = clock_ns() - counted_ns < 1000000000u ? 0 : 16;

    assert_in_range(fake_server_count(s3.server, NULL, match), before, before + most + late);
}

static void *raise_soon(void *flag)
{
    usleep(50000);
    flag_raise(flag);
    return NULL;
}

static int no_entry(void *context, const struct store_entry *entry)
{
    (void)context;
    fail_msg("%s was listed", entry->name);
    return SHEAF_OK;
}

/* Tests that each waiting call of the store ends when the thread's flag is set. */
static void test_store_calls(void **state)
{
    const struct fake_fault silence = { .kind = FAKE_SILENCE, .match = "stalled" };
    struct store_object *object;
    uint64_t bytes;
    unsigned before;
    char text[100] = "";

    (void)state;
    fake_s3_put(&s3, "/bucket/stalled", text, sizeof(text));
    must(store_open("s3://bucket/stalled", &object, &error));
    fake_server_add_fault(s3.server, &silence);
    before = count_now("stalled");
    for (int i = 0; i < 5; i++) {
        volatile int flag = 0;
        struct store_object *other = NULL;
        pthread_t thread;
        int code;

        assert_null(interrupt_watch(&flag));
        assert_int_equal(pthread_create(&thread, NULL, raise_soon, (void *)(uintptr_t)&flag), 0);
        code = i == 0 ? store_open("s3://bucket/stalled", &other, &error)
             : i == 1 ? store_read(object, 0, text, sizeof(text), &error)
             : i == 2 ? store_size("s3://bucket/stalled", &bytes, &error)
             : i == 3 ? store_put("s3://bucket/stalled", "x", 1, &error)
                      : store_walk("s3://bucket/stalled", no_entry, NULL, &error);
        assert_int_equal(code, SHEAF_ERR_INTERRUPTED);
        assert_non_null(strstr(error.message, "s3://bucket/stalled"));
        assert_ptr_equal(interrupt_watch(NULL), &flag);
        pthread_join(thread, NULL);
    }
    check_count("stalled", before, 5);
    fake_server_clear_faults(s3.server);
    store_close(object);
}

/* Tests that an interrupt also ends the listing of a source. */
static void test_listing_a_source(void **state)
{
    static const char *const source = "s3://bucket/stalled/";
    const struct fake_fault silence = { .kind = FAKE_SILENCE, .match = "stalled" };
    unsigned before = count_now("stalled");

    (void)state;
    fake_server_add_fault(s3.server, &silence);
    for (int i = 0; i < 2; i++) {
        struct sheaf_pack_options pack;
        struct sheaf_pack_result packed;
        struct sheaf_fetch_options fetch;
        struct sheaf_fetch_result fetched;
        volatile int flag = 0;
        pthread_t thread;
        int code;

        sheaf_pack_options_init(&pack, sizeof(pack));
        sheaf_fetch_options_init(&fetch, sizeof(fetch));
        pack.interrupt = fetch.interrupt = &flag;
        assert_int_equal(pthread_create(&thread, NULL, raise_soon, (void *)(uintptr_t)&flag), 0);
        code = i == 0 ? sheaf_pack(source, tree_path(&tree, "packed"), &pack, &packed, &error)
                      : sheaf_fetch(source, tree_path(&tree, "fetched"), &fetch, &fetched, &error);
        assert_int_equal(code, SHEAF_ERR_INTERRUPTED);
        pthread_join(thread, NULL);
    }
    check_count("stalled", before, 4);
    fake_server_clear_faults(s3.server);
}

/* Tests a reader whose shard cannot be opened or read. It moves to another epoch and to a position,
 * and is closed, without any response. */
static void check_reader(const struct fake_fault *fault, bool cached, const char *match,
                         size_t column_count)
{
    static const char *const columns[] = { "a", "b", "c" };
    const char *source = SET;
    struct sheaf_reader_options options;
    struct sheaf_dataset *dataset;
    struct sheaf_reader *reader;
    const struct sheaf_sample *sample;
    char position[SHEAF_POSITION_SIZE];
    unsigned before;

    must(sheaf_dataset_open(&source, 1, &dataset, &error));
    sheaf_reader_options_init(&options, sizeof(options));
    options.cache_directory = cached ? tree_path(&tree, "cache") : NULL;
    options.columns = columns;
    options.column_count = column_count;
    options.threads = 1;
    fake_server_add_fault(s3.server, fault);
    before = count_now(match);
    must(sheaf_reader_open(dataset, &options, &reader, &error));
    must(sheaf_reader_position(reader, position));
    sheaf_reader_interrupt(reader);
    assert_int_equal(sheaf_reader_next(reader, &sample), SHEAF_ERR_INTERRUPTED);
    must(sheaf_reader_begin_epoch(reader, 1));
    must(sheaf_reader_seek(reader, 2, 7));
    must(sheaf_reader_resume(reader, position));
    sheaf_reader_interrupt(reader);
    assert_int_equal(sheaf_reader_next(reader, &sample), SHEAF_ERR_INTERRUPTED);
    sheaf_reader_free(reader);
    /* The reader began to read five times, or gave up before that. A shard takes one or two
     * requests (its part of the index, and the first samples). Each would be sent six times if the
     * reader waited for it. The columns take one request each. */
    check_count(match, before, 10 + 5 * column_count);
    fake_server_clear_faults(s3.server);
    must(sheaf_reader_open(dataset, &options, &reader, &error));
    must(sheaf_reader_next(reader, &sample));
    sheaf_reader_free(reader);
    sheaf_dataset_free(dataset);
}

static void test_opening_a_shard(void **state)
{
    const struct fake_fault silence = { .kind = FAKE_SILENCE, .match = "/set/s-" };

    (void)state;
    check_reader(&silence, true, "/set/s-", 0);
}

static void test_reading_a_shard(void **state)
{
    const struct fake_fault stall = { .kind = FAKE_STALL, .method = "GET", .match = "/set/s-",
                                      .at = 100 };

    (void)state;
    check_reader(&stall, false, "/set/s-", 0);
}

/* Tests columns, which are opened at the same time as their shard. */
static void test_opening_columns(void **state)
{
    const struct fake_fault silences[] = {
        { .kind = FAKE_SILENCE, .match = "/column-" },
        { .kind = FAKE_SILENCE, .match = "/set/s-" },
        { .kind = FAKE_STALL, .method = "GET", .match = "/column-", .at = 10 },
    };

    (void)state;
    add_column("a");
    add_column("b");
    add_column("c");
    for (size_t i = 0; i < COUNT_OF(silences); i++)
        check_reader(&silences[i], i == 0, silences[i].match, 3);
}

/* Tests that verify is interrupted while it reads the rest of a damaged shard. The server stops to
 * respond after each possible number of requests. */
static void test_verifying_a_damaged_shard(void **state)
{
    const char *source = SET;
    struct store_object *object;
    uint8_t *data;

    (void)state;
    must(store_open(SET "/" SHARD, &object, &error));
    data = malloc(object->bytes);
    assert_non_null(data);
    must(store_read(object, 0, data, object->bytes, &error));
    data[20] ^= 1;
    fake_s3_put(&s3, "/bucket/set/" SHARD, data, object->bytes);
    store_close(object);
    free(data);
    for (unsigned skip = 0; skip < 8; skip++) {
        const struct fake_fault stall = { .kind = FAKE_STALL, .method = "GET", .match = "/set/s-",
                                          .at = 100, .skip = skip };
        struct sheaf_verify_options options;
        struct sheaf_verify_result result;
        struct sheaf_dataset *dataset;
        volatile int flag = 0;
        pthread_t thread;
        unsigned before;
        int code;

        must(sheaf_dataset_open(&source, 1, &dataset, &error));
        sheaf_verify_options_init(&options, sizeof(options));
        options.interrupt = &flag;
        options.threads = 1;
        fake_server_add_fault(s3.server, &stall);
        before = count_now("/set/s-");
        assert_int_equal(pthread_create(&thread, NULL, raise_soon, (void *)(uintptr_t)&flag), 0);
        code = sheaf_verify(dataset, &options, &result, &error);
        pthread_join(thread, NULL);
        assert_true(code == SHEAF_ERR_INTERRUPTED || (skip > 0 && code == SHEAF_OK));
        check_count("/set/s-", before, skip + 4);
        fake_server_clear_faults(s3.server);
        sheaf_dataset_free(dataset);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store_calls),
        cmocka_unit_test(test_listing_a_source),
        cmocka_unit_test(test_opening_a_shard),
        cmocka_unit_test(test_reading_a_shard),
        cmocka_unit_test(test_opening_columns),
        cmocka_unit_test(test_verifying_a_damaged_shard),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
