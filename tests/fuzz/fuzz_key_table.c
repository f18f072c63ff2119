/* SPDX-License-Identifier: MIT
 *
 * Fuzzes the table of keys. The input is used as it is, and as edits to an intact table. Every
 * accepted position must lie within the file, and every accepted number must be that of an existing
 * sample. */
#include "base/sort.h"
#include "base/tempfile.h"
#include "formats/key_table.h"
#include "tests/fuzz/patch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SAMPLES 130

static void require(bool holds)
{
    if (!holds)
        abort();
}

static int put(void *context, const void *data, size_t size, struct sheaf_error *err)
{
    return buf_append(context, data, size, err);
}

static struct buf make_file(const struct key_table *table)
{
    char *directory = tempfile_directory(NULL);
    struct buf out = BUF_INIT(SIZE_MAX / 4);
    struct sort *sort = NULL;
    int failed = sort_open(&sort, directory, (size_t)1 << 16, NULL);

    for (uint64_t i = 0; i < SAMPLES; i++)
        failed |= key_table_add(sort, XXH3_64bits(&i, sizeof(i)), i, NULL);
    failed |= key_table_write(table, sort, put, &out, NULL);
    require(!failed);
    sort_close(sort);
    free(directory);
    return out;
}

static void read_bucket(const struct key_table *t, const uint8_t *data, uint64_t b)
{
    const struct key_range records = key_table_records(t, b);
    struct key_bucket bucket;
    uint64_t number;
    size_t at = 0;

    if (key_table_find_bucket(t, b, data + records.offset, &bucket, NULL) != SHEAF_OK)
        return;
    require(bucket.range.offset + bucket.range.size <= t->bytes);
    require(bucket.range.size % t->entry_bytes == 0);
    if (key_table_check_bucket(t, &bucket, data + bucket.range.offset, NULL) != SHEAF_OK)
        return;
    for (size_t e = 0; e < bucket.range.size; e += t->entry_bytes) {
        const uint64_t hash = load32(data + bucket.range.offset + e);

        for (at = 0; key_table_next(t, &bucket, data + bucket.range.offset, hash, &at, &number);)
            require(number < t->samples);
    }
}

static void read_file(const struct key_table *t, const uint8_t *data, size_t size)
{
    if (size < t->bytes)
        return;
    (void)!key_table_check_header(t, data, NULL);
    for (uint64_t b = 0; b < t->buckets; b++)
        read_bucket(t, data, b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct key_table table;
    struct buf file;
    uint8_t *copy;
    size_t copy_size;

    require(key_table_make(&table, "0123456789abcdef0123456789abcdef", SAMPLES, SAMPLES,
                           NULL) == SHEAF_OK);
    file = make_file(&table);
    copy = patched(file.data, file.size, data, size, &copy_size);
    read_file(&table, data, size);
    read_file(&table, copy, copy_size);
    free(copy);
    buf_free(&file);
    return 0;
}
