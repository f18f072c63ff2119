/* SPDX-License-Identifier: MIT
 *
 * Tests the sort with temporary files. Its order must be that of a sort in memory, however small
 * the buffer is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/sort.h"
#include "base/tempfile.h"
#include "tests/common_random.h"
#include "tests/common_tree.h"

#define COUNT 20000
#define KEY_MOST 40

struct entry {
    uint64_t order;
    uint32_t number;            /* the order in which they were added */
    uint8_t key_size, value_size;
    uint8_t key[KEY_MOST];
};

static struct tree tree;
static struct sheaf_error err;

static int setup(void **state)
{
    (void)state;
    tree_make(&tree);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tree_remove(&tree);
    return 0;
}

static int compare(const void *x, const void *y)
{
    const struct entry *a = x, *b = y;
    int order;

    if (a->order != b->order)
        return a->order < b->order ? -1 : 1;
    order = memcmp(a->key, b->key, MIN(a->key_size, b->key_size));
    order = order != 0 ? order : a->key_size - b->key_size;
    return order != 0 ? order : (a->number > b->number) - (a->number < b->number);
}

/* Makes entries with few orders and short keys of few letters, so that there are ties of every
 * kind. */
static void make_entries(struct rng *rng, struct entry *entries, size_t count, uint64_t orders)
{
    for (size_t i = 0; i < count; i++) {
        struct entry *e = &entries[i];

        *e = (struct entry){ .order = rng_below(rng, orders), .number = (uint32_t)i };
        e->order = orders > 1000 ? e->order << 44 : e->order;
        e->key_size = (uint8_t)rng_below(rng, rng_below(rng, 4) == 0 ? KEY_MOST : 4);
        for (size_t k = 0; k < e->key_size; k++)
            e->key[k] = (uint8_t)(rng_below(rng, 3) * 127);
        e->value_size = (uint8_t)(4 + rng_below(rng, 60));
    }
}

static void add(struct sort *sort, const struct entry *e)
{
    uint8_t *key, *value;

    assert_int_equal(sort_add(sort, e->order, e->key_size, e->value_size, &key, &value, &err),
                     SHEAF_OK);
    memcpy(key, e->key, e->key_size);
    memset(value, 0xee, e->value_size);
    store32(value, e->number);
}

static void check_sort(struct rng *rng, size_t count, uint64_t orders, size_t memory)
{
    struct entry *entries = calloc(MAX(count, (size_t)1), sizeof(*entries));
    struct sort *sort;
    struct sort_entry found;

    assert_int_equal(sort_open(&sort, tree.root, memory, &err), SHEAF_OK);
    make_entries(rng, entries, count, orders);
    for (size_t i = 0; i < count; i++)
        add(sort, &entries[i]);
    qsort(entries, count, sizeof(*entries), compare);
    assert_int_equal(sort_finish(sort, &err), SHEAF_OK);
    for (size_t i = 0; i < count; i++) {
        const struct entry *e = &entries[i];

        assert_int_equal(sort_next(sort, &found, &err), SHEAF_OK);
        assert_int_equal(found.order, e->order);
        assert_int_equal(found.key_size, e->key_size);
        assert_memory_equal(found.key, e->key, e->key_size);
        assert_int_equal(found.value_size, e->value_size);
        assert_int_equal(load32(found.value), e->number);
    }
    assert_int_equal(sort_next(sort, &found, &err), SHEAF_END);
    assert_int_equal(sort_next(sort, &found, &err), SHEAF_END);
    sort_close(sort);
    free(entries);
}

static void test_order(void **state)
{
    static const size_t memories[] = { 4096, 65536, 1 << 20, 16 << 20 };
    struct rng rng;

    (void)state;
    random_start(&rng);
    for (size_t i = 0; i < COUNT_OF(memories); i++) {
        check_sort(&rng, COUNT, 50, memories[i]);
        check_sort(&rng, COUNT, 1 << 20, memories[i]);
        check_sort(&rng, 1 + rng_below(&rng, 300), 3, memories[i]);
    }
    check_sort(&rng, 0, 1, 4096);
    check_sort(&rng, 1, 1, 4096);
}

static void test_large_entries(void **state)
{
    const size_t size = (size_t)3 << 20;
    struct sort *sort;
    struct sort_entry found;
    uint8_t *key, *value;

    (void)state;
    assert_int_equal(sort_open(&sort, tree.root, size + 100, &err), SHEAF_OK);
    assert_int_equal(sort_add(sort, 0, 200, size, &key, &value, &err), SHEAF_ERR_LIMIT);
    for (uint64_t i = 5; i-- > 0;) {
        assert_int_equal(sort_add(sort, i, 1, size, &key, &value, &err), SHEAF_OK);
        *key = 'k';
        memset(value, (int)i, size);
    }
    assert_int_equal(sort_finish(sort, &err), SHEAF_OK);
    for (uint64_t i = 0; i < 5; i++) {
        assert_int_equal(sort_next(sort, &found, &err), SHEAF_OK);
        assert_int_equal(found.order, i);
        assert_int_equal(found.value_size, size);
        assert_int_equal(found.value[0], i);
        assert_int_equal(found.value[size - 1], i);
    }
    sort_close(sort);
}

static void test_nothing_is_left(void **state)
{
    struct rng rng;

    (void)state;
    random_start(&rng);
    check_sort(&rng, COUNT, 50, 65536);
    assert_int_equal(tree_count(&tree, "."), 0);
}

/* Tests that data which fits into memory needs no file, and that more data fails without a file. */
static void test_a_file_only_for_what_is_large(void **state)
{
    uint8_t *key, *value, data[1000] = { 0 };
    struct sort *sort;
    struct sort_entry found;
    struct tempfile file;

    (void)state;
    assert_int_equal(sort_open(&sort, "/nonexistent", 4096, &err), SHEAF_OK);
    assert_int_equal(sort_add(sort, 1, 1, 2000, &key, &value, &err), SHEAF_OK);
    assert_int_equal(sort_finish(sort, &err), SHEAF_OK);
    assert_int_equal(sort_next(sort, &found, &err), SHEAF_OK);
    assert_int_equal(sort_next(sort, &found, &err), SHEAF_END);
    sort_close(sort);
    assert_int_equal(sort_open(&sort, "/nonexistent", 4096, &err), SHEAF_OK);
    assert_int_equal(sort_add(sort, 1, 1, 2000, &key, &value, &err), SHEAF_OK);
    assert_int_equal(sort_add(sort, 1, 1, 2000, &key, &value, &err), SHEAF_OK);
    assert_int_equal(sort_add(sort, 1, 1, 2000, &key, &value, &err), SHEAF_ERR_NOT_FOUND);
    sort_close(sort);
    assert_int_equal(tempfile_open(&file, "/nonexistent", 100000, &err), SHEAF_OK);
    for (int i = 0; i < 100; i++)
        assert_int_equal(tempfile_put(&file, data, sizeof(data), &err), SHEAF_OK);
    assert_int_equal(tempfile_put(&file, data, 1, &err), SHEAF_ERR_NOT_FOUND);
    tempfile_close(&file);
}

/* Reads the first bytes that were written at several offsets and compares them. */
static void check_view(const struct tempfile *file, struct rng rng)
{
    struct buf room = BUF_INIT(SIZE_MAX / 4);
    uint8_t first[1000];
    const uint8_t *data;

    random_bytes(&rng, first, sizeof(first));
    for (size_t at = 0; at < sizeof(first); at += 100) {
        assert_int_equal(tempfile_view(file, at, sizeof(first) - at, &room, &data, &err), SHEAF_OK);
        assert_memory_equal(data, first + at, sizeof(first) - at);
    }
    buf_free(&room);
}

static void check_tempfile(struct rng rng, size_t memory)
{
    const struct rng again = rng;
    uint8_t data[3000], found[3000];
    struct tempfile file;

    assert_int_equal(tempfile_open(&file, tree.root, memory, &err), SHEAF_OK);
    random_bytes(&rng, data, 1000);
    assert_int_equal(tempfile_put(&file, data, 1000, &err), SHEAF_OK);
    for (int i = 0; i < 2000; i++) {
        const size_t size = rng_below(&rng, sizeof(data));

        random_bytes(&rng, data, size);
        assert_int_equal(tempfile_put_varint(&file, size, &err), SHEAF_OK);
        assert_int_equal(tempfile_put(&file, data, size, &err), SHEAF_OK);
    }
    for (int round = 0; round < 2; round++) {
        uint64_t size;

        rng = again;
        assert_int_equal(tempfile_rewind(&file, &err), SHEAF_OK);
        random_bytes(&rng, data, 1000);
        assert_int_equal(tempfile_get(&file, found, 1000, &err), SHEAF_OK);
        for (int i = 0; i < 2000; i++) {
            assert_int_equal(tempfile_get_varint(&file, &size, &err), SHEAF_OK);
            assert_int_equal(size, rng_below(&rng, sizeof(data)));
            random_bytes(&rng, data, size);
            assert_int_equal(tempfile_get(&file, found, size, &err), SHEAF_OK);
            assert_memory_equal(found, data, size);
        }
        assert_int_equal(tempfile_get_varint(&file, &size, &err), SHEAF_ERR_TRUNCATED);
        check_view(&file, again);
    }
    tempfile_close(&file);
}

static void test_tempfile(void **state)
{
    static const size_t memories[] = { 1, 100000, 1 << 20, 2000000, 16 << 20 };
    struct rng rng;

    (void)state;
    random_start(&rng);
    for (size_t i = 0; i < COUNT_OF(memories); i++)
        check_tempfile(rng, memories[i]);
    assert_int_equal(tree_count(&tree, "."), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_order),
        TEST(test_large_entries),
        TEST(test_nothing_is_left),
        TEST(test_a_file_only_for_what_is_large),
        TEST(test_tempfile),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
