/* SPDX-License-Identifier: MIT
 *
 * Tests the table of keys. Every key must be found, whatever the number of samples, and so must all
 * samples with equal keys. A table that was truncated, or changed by one bit, must be refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/tempfile.h"
#include "formats/key_table.h"
#include "tests/common_random.h"

#define FINGERPRINT "0123456789abcdef0123456789abcdef"
#define OTHER       "0123456789abcdef0123456789abcdee"

static struct sheaf_error err;

static int put(void *context, const void *data, size_t size, struct sheaf_error *error)
{
    return buf_append(context, data, size, error);
}

/* Writes a table of the hashes with little memory. */
static struct buf write_table(const struct key_table *table, const uint64_t *hashes, size_t count)
{
    char *directory = tempfile_directory(NULL);
    struct buf out = BUF_INIT(SIZE_MAX / 4);
    struct sort *sort;

    assert_non_null(directory);
    assert_int_equal(sort_open(&sort, directory, 4096, &err), SHEAF_OK);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(key_table_add(sort, hashes[i], i, &err), SHEAF_OK);
    assert_int_equal(key_table_write(table, sort, put, &out, &err), SHEAF_OK);
    sort_close(sort);
    free(directory);
    return out;
}

static struct key_table table_of(uint64_t samples)
{
    struct key_table table;

    assert_int_equal(key_table_make(&table, FINGERPRINT, samples, samples, &err), SHEAF_OK);
    return table;
}

/* Returns a copy of some bytes, so that a sanitizer notices a read past their end. */
static uint8_t *copy_of(const struct buf *file, const struct key_range *range)
{
    uint8_t *copy = malloc(MAX(range->size, (size_t)1));

    assert_non_null(copy);
    assert_true(range->offset + range->size <= file->size);
    memcpy(copy, file->data + range->offset, range->size);
    return copy;
}

/* Looks up a hash. Returns how many samples may have it, and writes their numbers in order. Returns
 * the code of an error. */
static int look_up(const struct key_table *t, const struct buf *file, uint64_t hash,
                   uint64_t *numbers, size_t *count)
{
    const uint64_t bucket = key_table_bucket(t, hash);
    const struct key_range records = key_table_records(t, bucket);
    struct key_bucket found;
    uint8_t *data = copy_of(file, &records);
    size_t at = 0;
    int code = key_table_find_bucket(t, bucket, data, &found, &err);

    free(data);
    *count = 0;
    if (code != SHEAF_OK)
        return code;
    data = copy_of(file, &found.range);
    code = key_table_check_bucket(t, &found, data, &err);
    while (code == SHEAF_OK && key_table_next(t, &found, data, hash, &at, &numbers[*count]))
        ++*count;
    free(data);
    return code;
}

static void every_key_is_found(void **state)
{
    static const size_t counts[] = { 0, 1, 2, 63, 64, 65, 128, 129, 1000, 20000 };
    struct rng rng;

    (void)state;
    random_start(&rng);
    for (size_t c = 0; c < COUNT_OF(counts); c++) {
        const struct key_table t = table_of(counts[c]);
        uint64_t *hashes = calloc(counts[c] + 1, sizeof(*hashes)), numbers[100];
        struct buf file;
        size_t count;

        for (size_t i = 0; i < counts[c]; i++)
            hashes[i] = rng_next(&rng);
        file = write_table(&t, hashes, counts[c]);
        assert_int_equal(file.size, t.bytes);
        assert_int_equal(key_table_check_header(&t, file.data, &err), SHEAF_OK);
        for (size_t i = 0; i < counts[c]; i++) {
            assert_int_equal(look_up(&t, &file, hashes[i], numbers, &count), SHEAF_OK);
            assert_true(count >= 1);
            while (count-- > 0 && numbers[count] != i)
                ;
            assert_true(count != SIZE_MAX);
        }
        buf_free(&file);
        free(hashes);
    }
}

/* Most hashes have one of two values, so there are large buckets and empty ones. */
static void equal_keys_are_all_found(void **state)
{
    enum { COUNT = 5000 };
    const struct key_table t = table_of(COUNT);
    uint64_t hashes[COUNT], numbers[COUNT];
    struct buf file;
    size_t count;

    (void)state;
    for (size_t i = 0; i < COUNT; i++)
        hashes[i] = i % 2 == 0 ? 0 : UINT64_MAX;
    file = write_table(&t, hashes, COUNT);
    assert_int_equal(look_up(&t, &file, UINT64_MAX, numbers, &count), SHEAF_OK);
    assert_int_equal(count, COUNT / 2);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(numbers[i], 2 * i + 1);
    assert_int_equal(look_up(&t, &file, UINT64_MAX / 2, numbers, &count), SHEAF_OK);
    assert_int_equal(count, 0);
    buf_free(&file);
}

static void numbers_of_many_samples_have_more_bytes(void **state)
{
    struct key_table t = table_of((uint64_t)1 << 32);

    (void)state;
    assert_int_equal(t.entry_bytes, 8);
    t = table_of(((uint64_t)1 << 32) + 1);
    assert_int_equal(t.entry_bytes, 12);
    assert_int_equal(table_of(100000000).bytes, 64 + 8 * 100000000u + 16 * 1562500u);
    assert_int_equal(key_table_make(&t, FINGERPRINT, KEY_TABLE_SAMPLES_MOST + 1, 1, &err),
                     SHEAF_ERR_LIMIT);
    assert_int_equal(key_table_make(&t, "", 1, 1, &err), SHEAF_ERR_ARGUMENT);
}

static void the_sum_is_that_of_the_entries(void **state)
{
    enum { COUNT = 300 };
    const struct key_table t = table_of(COUNT);
    uint64_t hashes[COUNT], expected = 0, sum = 0, seen = 0;
    struct buf file;

    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        hashes[i] = XXH3_64bits(&i, sizeof(i));
        expected += key_table_part(&t, hashes[i], i);
    }
    file = write_table(&t, hashes, COUNT);
    for (uint64_t b = 0; b < t.buckets; b++) {
        const struct key_range records = key_table_records(&t, b);
        struct key_bucket found;

        assert_int_equal(key_table_find_bucket(&t, b, file.data + records.offset, &found, &err),
                         SHEAF_OK);
        assert_int_equal(found.range.offset, KEY_TABLE_HEADER + 8 * seen);
        for (size_t at = 0; at < found.range.size; at += t.entry_bytes, seen++)
            sum += key_table_part_at(&t, b, file.data + found.range.offset + at);
    }
    assert_int_equal(seen, COUNT);
    assert_int_equal(sum, expected);
    buf_free(&file);
}

static void wrong_counts_are_refused(void **state)
{
    const struct key_table t = table_of(3);
    char *directory = tempfile_directory(NULL);

    (void)state;
    for (uint64_t count = 0; count < 6; count++) {
        struct buf out = BUF_INIT(SIZE_MAX / 4);
        struct sort *sort;

        assert_int_equal(sort_open(&sort, directory, 4096, &err), SHEAF_OK);
        for (uint64_t i = 0; i < count; i++)
            assert_int_equal(key_table_add(sort, i << 60, i, &err), SHEAF_OK);
        assert_int_equal(key_table_write(&t, sort, put, &out, &err),
                         count == 3 ? SHEAF_OK : SHEAF_ERR_MISMATCH);
        sort_close(sort);
        buf_free(&out);
    }
    free(directory);
}

/* ---- Damage ---------------------------------------------------------------------------------- */

/* Reads a whole table as sheaf_verify does: header, records, buckets. */
static int read_all(const struct key_table *t, const struct buf *file)
{
    int code = file->size != t->bytes ? SHEAF_ERR_CORRUPT
                                      : key_table_check_header(t, file->data, &err);

    for (uint64_t b = 0; b < t->buckets && code == SHEAF_OK; b++) {
        const struct key_range records = key_table_records(t, b);
        struct key_bucket found;

        code = key_table_find_bucket(t, b, file->data + records.offset, &found, &err);
        if (code == SHEAF_OK) {
            assert_true(found.range.offset + found.range.size <= file->size);
            code = key_table_check_bucket(t, &found, file->data + found.range.offset, &err);
        }
    }
    return code;
}

static void every_flipped_bit_is_found(void **state)
{
    enum { COUNT = 150 };
    const struct key_table t = table_of(COUNT);
    uint64_t hashes[COUNT];
    struct buf file;

    (void)state;
    for (size_t i = 0; i < COUNT; i++)
        hashes[i] = XXH3_64bits(&i, sizeof(i));
    file = write_table(&t, hashes, COUNT);
    assert_int_equal(read_all(&t, &file), SHEAF_OK);
    for (size_t i = 0; i < file.size; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            file.data[i] ^= (uint8_t)(1u << bit);
            assert_int_equal(read_all(&t, &file), SHEAF_ERR_CORRUPT);
            file.data[i] ^= (uint8_t)(1u << bit);
        }
    }
    for (size_t size = file.size; size-- > 0;) {
        file.size = size;
        assert_int_equal(read_all(&t, &file), SHEAF_ERR_CORRUPT);
    }
    buf_free(&file);
}

/* Tests the table of a data set with the same number of samples and other content. */
static void another_data_set_s_table_is_refused(void **state)
{
    const uint64_t hashes[2] = { 5, UINT64_MAX };
    const struct key_table t = table_of(2);
    struct buf file = write_table(&t, hashes, 2);
    struct key_table other;
    uint64_t numbers[2];
    size_t count;

    (void)state;
    assert_int_equal(key_table_make(&other, OTHER, 2, 2, &err), SHEAF_OK);
    assert_int_equal(look_up(&t, &file, 5, numbers, &count), SHEAF_OK);
    assert_int_equal(look_up(&other, &file, 5, numbers, &count), SHEAF_ERR_CORRUPT);
    assert_int_equal(key_table_check_header(&other, file.data, &err), SHEAF_ERR_CHANGED);
    assert_non_null(strstr(err.message, FINGERPRINT));
    file.data[8] = 2;
    assert_int_equal(key_table_check_header(&t, file.data, &err), SHEAF_ERR_CORRUPT);
    buf_free(&file);
}

/* Tests a table that states a later version. */
static void another_version_is_unsupported(void **state)
{
    const struct key_table t = table_of(0);
    struct buf file = write_table(&t, NULL, 0);
    XXH64_canonical_t sum;

    (void)state;
    file.data[8] = 2;
    XXH64_canonicalFromHash(&sum, XXH3_64bits(file.data, 56));
    memcpy(file.data + 56, &sum, sizeof(sum));
    assert_int_equal(key_table_check_header(&t, file.data, &err), SHEAF_ERR_UNSUPPORTED);
    buf_free(&file);
}

/* ---- Editing --------------------------------------------------------------------------------- */

static int get(void *context, uint64_t offset, void *data, size_t size, struct sheaf_error *error)
{
    const struct buf *file = context;

    (void)error;
    assert_true(offset + size <= file->size);
    memcpy(data, file->data + offset, size);
    return SHEAF_OK;
}

/* Removes every third sample, and returns the new numbers of the others. */
static uint64_t number_left(const void *context, uint64_t number)
{
    (void)context;
    return number % 3 == 0 ? UINT64_MAX : number - number / 3 - 1;
}

static void edited(const uint64_t *hashes, size_t total)
{
    const struct key_table from = table_of(total);
    const size_t left = total - (total + 2) / 3;
    struct buf file = write_table(&from, hashes, total), out = BUF_INIT(SIZE_MAX / 4);
    struct key_table to;
    struct key_table_edit edit = { &from, &to, get, &file, number_left, NULL };
    uint64_t numbers[100];
    size_t count;

    assert_int_equal(key_table_make(&to, OTHER, left, total, &err), SHEAF_OK);
    assert_int_equal(key_table_edit(&edit, put, &out, &err), SHEAF_OK);
    assert_int_equal(out.size, to.bytes);
    assert_int_equal(key_table_check_header(&to, out.data, &err), SHEAF_OK);
    for (size_t i = 0; i < total && left != 0; i++) {
        bool found = false;

        assert_int_equal(look_up(&to, &out, hashes[i], numbers, &count), SHEAF_OK);
        while (count-- > 0)
            found |= numbers[count] == number_left(NULL, i);
        assert_true(found == (i % 3 != 0));
    }
    buf_free(&out);
    assert_int_equal(key_table_make(&to, OTHER, left + 1, total, &err), SHEAF_OK);
    assert_int_equal(key_table_edit(&edit, put, &out, &err), SHEAF_ERR_MISMATCH);
    out.size = 0;
    if (total != 0)
        file.data[KEY_TABLE_HEADER] ^= 1;
    assert_int_equal(key_table_edit(&edit, put, &out, &err),
                     total == 0 ? SHEAF_ERR_MISMATCH : SHEAF_ERR_CORRUPT);
    buf_free(&out);
    buf_free(&file);
}

static void edited_tables_keep_the_other_keys(void **state)
{
    static const size_t counts[] = { 0, 1, 2, 64, 65, 1000, 64 * 1024, 64 * 1024 + 1, 140000 };
    struct rng rng;

    (void)state;
    random_start(&rng);
    for (size_t c = 0; c < COUNT_OF(counts); c++) {
        uint64_t *hashes = calloc(counts[c] + 1, sizeof(*hashes));

        for (size_t i = 0; i < counts[c]; i++)
            hashes[i] = rng_next(&rng);
        edited(hashes, counts[c]);
        free(hashes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_is_found),
        cmocka_unit_test(equal_keys_are_all_found),
        cmocka_unit_test(numbers_of_many_samples_have_more_bytes),
        cmocka_unit_test(the_sum_is_that_of_the_entries),
        cmocka_unit_test(wrong_counts_are_refused),
        cmocka_unit_test(every_flipped_bit_is_found),
        cmocka_unit_test(another_data_set_s_table_is_refused),
        cmocka_unit_test(another_version_is_unsupported),
        cmocka_unit_test(edited_tables_keep_the_other_keys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
