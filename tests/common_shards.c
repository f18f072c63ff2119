/* SPDX-License-Identifier: MIT
 *
 * Makes shards for tests; see common_shards.h. */
#include "tests/common_shards.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

size_t shards_least = 20;

int shards_make_large(void **state)
{
    (void)state;
    shards_least = (size_t)20 << 10;
    return 0;
}

const char *shards_text(uint64_t number, size_t *size)
{
    static _Thread_local char text[SHARDS_LEAST_MOST + 4096];
    const size_t length = shards_least + (size_t)(number * 2654435761u % 3900);

    memset(text, 'a' + (int)(number % 26), length);
    snprintf(text, sizeof(text), "\377\330\377sample %06" PRIu64, number);
    text[16] = ' ';
    *size = length;
    return text;
}

uint64_t shards_number(const struct sheaf_sample *sample)
{
    uint64_t number;
    const char *expected;
    char start[21] = "";
    size_t size;

    assert_int_equal(sample->field_count, 1);
    assert_true(sample->fields[0].size >= 20);
    memcpy(start, sample->fields[0].data, sizeof(start) - 1);
    assert_int_equal(sscanf(start + 3, "sample %" SCNu64, &number), 1);
    expected = shards_text(number, &size);
    assert_int_equal(sample->fields[0].size, size);
    assert_memory_equal(sample->fields[0].data, expected, size);
    return number;
}

void file_write(const char *path, const void *data, size_t size)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

uint8_t *file_read(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    uint8_t *data;

    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    *size = (size_t)ftell(f);
    rewind(f);
    data = malloc(*size + 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, *size, f), *size);
    fclose(f);
    return data;
}

static void add_sample(const struct format_ops *format, uint64_t number, struct buf *out)
{
    struct buf names = { .limit = SIZE_MAX };
    const struct encode_context context = { 0 };
    struct sheaf_field field = { .name = "jpg" };
    struct sheaf_sample sample = { .fields = &field, .field_count = 1, .number = number };
    struct encoded encoded;
    struct sheaf_error error;
    char key[32];

    snprintf(key, sizeof(key), "k/%06" PRIu64, number);
    sample.key = key;
    field.data = shards_text(number, &field.size);
    assert_int_equal(format->encode(&sample, &context, out, &names, &encoded, &error), SHEAF_OK);
    buf_free(&names);
}

void shards_make(struct shard_set *set, const struct format_ops *format, const uint64_t *counts)
{
    struct sheaf_error error;

    memset(set, 0, sizeof(*set));
    snprintf(set->directory, sizeof(set->directory), "/tmp/sheaf-test-XXXXXX");
    assert_non_null(mkdtemp(set->directory));
    for (size_t i = 0; counts[i] != 0; i++) {
        struct buf out = { .limit = SIZE_MAX };

        for (uint64_t n = 0; n < counts[i]; n++)
            add_sample(format, set->samples++, &out);
        assert_int_equal(format->finish(&out, &error), SHEAF_OK);
        snprintf(set->paths[i], sizeof(set->paths[i]), "%s/s-%03zu%s", set->directory, i,
                 format->suffix);
        file_write(set->paths[i], out.data, out.size);
        set->counts[set->count++] = counts[i];
        buf_free(&out);
    }
}

void shards_remove(struct shard_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        unlink(set->paths[i]);
    assert_int_equal(rmdir(set->directory), 0);
}

struct sheaf_dataset *shards_open(const struct shard_set *set)
{
    const char *sources[] = { set->directory };
    struct sheaf_dataset *dataset;
    struct sheaf_error error = { 0 };

    if (sheaf_dataset_open(sources, 1, &dataset, &error) != SHEAF_OK)
        fail_msg("%s", error.message);
    return dataset;
}

struct sheaf_reader *shards_reader(const struct sheaf_dataset *dataset,
                                   const struct sheaf_reader_options *options)
{
    struct sheaf_reader *reader;
    struct sheaf_error error = { 0 };

    if (sheaf_reader_open(dataset, options, &reader, &error) != SHEAF_OK)
        fail_msg("%s", error.message);
    return reader;
}
