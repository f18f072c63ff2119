/* SPDX-License-Identifier: MIT
 *
 * Tests packing to S3 with little memory. The memory must include the data that is on its way to
 * the server. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "packer/engine.h"
#include "store/part_memory.h"
#include "tests/common_fake_s3.h"
#include "tests/common_must.h"
#include "tests/common_random.h"
#include "tests/common_tree.h"

#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)
#define STALL_MS 30000
#define SOON_MS 3000         /* so that all requests have come, even in a slow build */
#define SMALL_SHARDS 20
#define SIZE (18 * MIB + 4321)      /* three parts */

static struct fake_s3 s3;
static struct tree tree;
static struct sheaf_error error;
static uint8_t data[SIZE];

/* Makes 40 MiB of files. */
static int start(void **state)
{
    (void)state;
    random_fill(data, sizeof(data));
    tree_make(&tree);
    for (int i = 0; i < 40; i++) {
        char path[64];

        snprintf(path, sizeof(path), "src/c%d/%02d.bin", i % 2, i);
        tree_write(&tree, path, data, MIB);
    }
    fake_s3_start(&s3);
    fake_s3_use(&s3, STALL_MS);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    fake_s3_stop(&s3);
    tree_remove(&tree);
    return 0;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static void check_stored(const char *path)
{
    const struct fake_object *o = fake_s3_object(&s3, path);

    assert_non_null(o);
    assert_int_equal(o->size, SIZE);
    assert_memory_equal(o->data, data, SIZE);
}

/* Writes two objects in turns, with memory for only this number of parts. */
static void write_two_within(uint64_t parts)
{
    struct part_memory *memory;
    struct store_writer *writers[2];

    must(part_memory_open(&memory, parts * 8 * MIB + 5, &error));
    for (size_t i = 0; i < 2; i++)
        must(store_create_within(i == 0 ? "s3://bucket/one" : "s3://bucket/two", memory, 0,
                                 &writers[i], &error));
    for (size_t at = 0; at < SIZE; at += 1000003)
        for (size_t i = 0; i < 2; i++)
            must(store_write(writers[i], data + at, MIN(SIZE - at, 1000003), &error));
    for (size_t i = 0; i < 2; i++)
        must(store_commit(writers[i], &error));
    assert_true(part_memory_peak(memory) <= parts * 8 * MIB);
    assert_true(part_memory_peak(memory) >= 2 * 8 * MIB);
    part_memory_close(memory);
    check_stored("/bucket/one");
    check_stored("/bucket/two");
}

static void test_memory_is_shared(void **state)
{
    (void)state;
    for (uint64_t parts = 2; parts <= 9; parts++)
        write_two_within(parts);
}

/* Tests that an aborted object gives its memory back, so that the next one can be written. */
static void test_memory_of_an_aborted_object(void **state)
{
    struct part_memory *memory;
    struct store_writer *writer;

    (void)state;
    must(part_memory_open(&memory, 8 * MIB, &error));
    for (int i = 0; i < 3; i++) {
        must(store_create_within("s3://bucket/aborted", memory, 0, &writer, &error));
        must(store_write(writer, data, SIZE, &error));
        store_abort(writer);
    }
    part_memory_close(memory);
    assert_int_equal(fake_s3_uploads(&s3), 0);
}

/* Tests that at first eight parts may be sent at once, or fewer if the memory has less room. */
static void test_window_of_parts(void **state)
{
    static const uint64_t limits[] = { UINT64_MAX, 100 * 8 * MIB, 3 * 8 * MIB + 1, 8 * MIB };
    static const unsigned expected[] = { 8, 8, 3, 1 };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        struct part_memory *memory;

        must(part_memory_open(&memory, limits[i], &error));
        for (unsigned n = 0; n < expected[i]; n++) {
            assert_false(part_memory_is_busy(memory));
            part_memory_begin(memory);
        }
        assert_true(part_memory_is_busy(memory));
        part_memory_end(memory, 8 * MIB);
        assert_false(part_memory_is_busy(memory));
        part_memory_close(memory);
    }
}

/* A part must not be larger than necessary for an object of the expected size to have 5000 parts.
 * If a part is too large for the memory, this must be an error. */
static void test_parts_of_large_objects(void **state)
{
    struct part_memory *memory;
    struct store_writer *writer;

    (void)state;
    assert_int_equal(store_part_bytes("s3://bucket/x", 0), 8 * MIB);
    assert_int_equal(store_part_bytes("s3://bucket/x", 39 * GIB), 8 * MIB);
    assert_int_equal(store_part_bytes("s3://bucket/x", 126 * GIB), 26 * MIB);
    assert_in_range(store_part_bytes("s3://bucket/x", 5120 * GIB), GIB, GIB + GIB / 10);
    assert_int_equal(store_part_bytes("/tmp/x", 126 * GIB), 0);
    must(part_memory_open(&memory, 25 * MIB, &error));
    must(store_create_within("s3://bucket/large", memory, 126 * GIB, &writer, &error));
    assert_int_equal(store_write(writer, data, SIZE, &error), SHEAF_ERR_LIMIT);
    assert_non_null(strstr(error.message, "s3://bucket/large: a part of 27262976 bytes"));
    store_abort(writer);
    part_memory_close(memory);
}

/* ---- Packing --------------------------------------------------------------------------------- */

static void pack_within(enum sheaf_container container, uint64_t memory_bytes)
{
    struct sheaf_pack_options options;
    struct sheaf_pack_result result;

    sheaf_pack_options_init(&options, sizeof(options));
    options.container = container;
    options.shard_count = 2;
    options.overwrite = 1;
    options.memory_bytes = memory_bytes;
    must(sheaf_pack(tree_path(&tree, "src"), "s3://bucket/set", &options, &result, &error));
    assert_int_equal(result.samples, 40);
    assert_true(result.memory_peak_bytes <= memory_bytes);
    assert_true(result.memory_peak_bytes >= 8 * MIB + 4 * MIB);     /* a part and a block */
    assert_int_equal(fake_s3_uploads(&s3), 0);
}

static void test_memory_is_bounded(void **state)
{
    static const uint64_t memory[] = { 20 * MIB, 32 * MIB, 64 * MIB, 512 * MIB };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(memory); i++)
        pack_within(SHEAF_WEBDATASET, memory[i]);
    pack_within(SHEAF_RECORDIO, 32 * MIB);      /* there is a .lst file beside each shard */
    pack_within(SHEAF_RECORDIO, 96 * MIB);
}

/* Packs shards that are sent in one request each. */
static int pack_small_shards(const char *dest, struct sheaf_pack_result *result)
{
    struct sheaf_pack_options options;

    sheaf_pack_options_init(&options, sizeof(options));
    options.shard_count = SMALL_SHARDS;
    return sheaf_pack(tree_path(&tree, "src"), dest, &options, result, &error);
}

/* Tests that several shards are committed at once after the first one. This test runs before all
 * other tests, because their requests would count for the peak of the server. */
static void test_shards_are_committed_at_once(void **state)
{
    const struct fake_fault silent = { FAKE_SILENCE, "PUT", "small/shard-", .skip = 1, .times = 8 };
    struct sheaf_pack_result result;

    (void)state;
    fake_s3_use(&s3, SOON_MS);
    fake_server_add_fault(s3.server, &silent);
    must(pack_small_shards("s3://bucket/small", &result));
    fake_s3_use(&s3, STALL_MS);
    fake_server_clear_faults(s3.server);
    assert_int_equal(result.shards, SMALL_SHARDS);
    assert_true(fake_server_peak(s3.server) >= 8);
}

/* Tests that no other shard is tried if the first one is refused. */
static void test_first_shard_is_committed_alone(void **state)
{
    const struct fake_fault refused = { FAKE_STATUS, "PUT", ".tar", .status = 403,
                                        .code = "AccessDenied" };
    struct sheaf_pack_result result;

    (void)state;
    fake_server_add_fault(s3.server, &refused);
    assert_int_equal(pack_small_shards("s3://bucket/refused", &result), SHEAF_ERR_ACCESS);
    fake_server_clear_faults(s3.server);
    assert_int_equal(result.shards, 0);
    assert_int_not_equal(fake_server_count(s3.server, "PUT", "refused/.sheaf-partial/shard-000000"),
                         0);
    for (unsigned i = 1; i < SMALL_SHARDS; i++) {
        char name[64];

        snprintf(name, sizeof(name), "refused/.sheaf-partial/shard-%06u", i);
        assert_int_equal(fake_server_count(s3.server, "PUT", name), 0);
    }
}

/* Tests that the plan is refused if a part of the largest shard does not fit into the memory. */
static void test_shard_too_large_for_the_memory(void **state)
{
    const struct block_setup tar = { .format = format_of(SHEAF_WEBDATASET) };
    const struct block_setup recordio = { .format = format_of(SHEAF_RECORDIO) };
    uint64_t sent;

    (void)state;
    must(engine_share("/tmp/x", &tar, 5000 * GIB, 1, &sent, &error));
    assert_int_equal(sent, 0);
    must(engine_share("s3://bucket/x", &tar, 0, 64 * MIB, &sent, &error));
    assert_int_equal(sent, 16 * MIB);
    must(engine_share("s3://bucket/x", &recordio, 0, 64 * MIB, &sent, &error));
    assert_int_equal(sent, 24 * MIB);
    must(engine_share("s3://bucket/x", &tar, 126 * GIB, 64 * MIB, &sent, &error));
    assert_int_equal(sent, 26 * MIB);
    assert_int_equal(engine_share("s3://bucket/x", &tar, 126 * GIB, 26 * MIB, &sent, &error),
                     SHEAF_ERR_LIMIT);
    assert_non_null(strstr(error.message, "parts of 27262976 bytes"));
    assert_non_null(strstr(error.message, "the limit is 27262976"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shards_are_committed_at_once),
        cmocka_unit_test(test_first_shard_is_committed_alone),
        cmocka_unit_test(test_memory_is_shared),
        cmocka_unit_test(test_memory_of_an_aborted_object),
        cmocka_unit_test(test_window_of_parts),
        cmocka_unit_test(test_parts_of_large_objects),
        cmocka_unit_test(test_memory_is_bounded),
        cmocka_unit_test(test_shard_too_large_for_the_memory),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
