/* SPDX-License-Identifier: MIT
 *
 * Tests positions as text. Damaged positions and positions outside of their epoch must be refused,
 * and version 1 must be read. A resumed reader must have its position even before it reads
 * anything. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "tests/common_shards.h"
#include "tests/common_tar.h"

#define STREAM_SAMPLES 60u

static const uint64_t counts[] = { 12, 7, 3, 0 };

/* Replaces the checksum at the end of the text by the correct one. */
static void seal(char text[SHEAF_POSITION_SIZE])
{
    char *end = strstr(text, " crc=");
    uint32_t crc;

    assert_non_null(end);
    crc = crc32c(0, text, (size_t)(end - text));
    snprintf(end, 14, " crc=%08" PRIx32, crc);
}

/* Replaces the value of a word, and corrects the checksum. */
static void set_word(char text[SHEAF_POSITION_SIZE], const char *word, const char *value)
{
    char copy[SHEAF_POSITION_SIZE];
    const char *at = strstr(text, word), *rest;

    assert_non_null(at);
    at += strlen(word);
    rest = at + strcspn(at, " ");
    snprintf(copy, sizeof(copy), "%.*s%s%s", (int)(at - text), text, value, rest);
    memcpy(text, copy, sizeof(copy));
    seal(text);
}

static void refused(struct sheaf_reader *reader, const char *text, const char *why)
{
    assert_int_equal(sheaf_reader_resume(reader, text), SHEAF_ERR_ARGUMENT);
    if (strstr(sheaf_reader_error(reader)->message, why) == NULL)
        fail_msg("%s: %s", text, sheaf_reader_error(reader)->message);
}

static uint64_t read_all(struct sheaf_reader *reader)
{
    const struct sheaf_sample *sample;
    uint64_t count = 0;
    int code;

    while ((code = sheaf_reader_next(reader, &sample)) == SHEAF_OK)
        count++;
    if (code != SHEAF_END)
        fail_msg("%s", sheaf_reader_error(reader)->message);
    return count;
}

/* ---- A data set with counts ----------------------------------------------------------------- */

struct fixture {
    struct shard_set set;
    struct sheaf_dataset *dataset;
    struct sheaf_reader *reader;            /* 22 samples in 4 lanes */
    char text[SHEAF_POSITION_SIZE];         /* a position after 9 samples */
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    const struct sheaf_sample *sample;
    struct sheaf_reader_options o;

    assert_non_null(f);
    sheaf_reader_options_init(&o, sizeof(o));
    o.lanes = 4;
    shards_make(&f->set, &tfrecord_ops, counts);
    f->dataset = shards_open(&f->set);
    f->reader = shards_reader(f->dataset, &o);
    for (unsigned i = 0; i < 9; i++)
        assert_int_equal(sheaf_reader_next(f->reader, &sample), SHEAF_OK);
    assert_int_equal(sheaf_reader_position(f->reader, f->text), SHEAF_OK);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    sheaf_reader_free(f->reader);
    sheaf_dataset_free(f->dataset);
    shards_remove(&f->set);
    free(f);
    return 0;
}

static void a_changed_byte_is_refused(void **state)
{
    struct fixture *f = *state;

    for (size_t i = 0; f->text[i] != '\0'; i++) {
        char text[SHEAF_POSITION_SIZE];

        memcpy(text, f->text, sizeof(text));
        text[i] = text[i] == '7' ? '3' : '7';
        assert_int_equal(sheaf_reader_resume(f->reader, text), SHEAF_ERR_ARGUMENT);
        memcpy(text, f->text, sizeof(text));
        text[i] = '\0';
        assert_int_equal(sheaf_reader_resume(f->reader, text), SHEAF_ERR_ARGUMENT);
    }
    refused(f->reader, "sheaf3 0", "invalid position");
    assert_int_equal(sheaf_reader_resume(f->reader, f->text), SHEAF_OK);
    assert_int_equal(read_all(f->reader), 22 - 9);
}

static void version_1_is_read(void **state)
{
    struct fixture *f = *state;
    char *end = strstr(f->text, " crc=");

    assert_non_null(end);
    memcpy(end, "\n", 2);
    f->text[5] = '1';
    assert_int_equal(sheaf_reader_resume(f->reader, f->text), SHEAF_OK);
    assert_int_equal(read_all(f->reader), 22 - 9);
}

static void a_newline_is_no_part_of_it(void **state)
{
    struct fixture *f = *state;
    char line[SHEAF_POSITION_SIZE + 1];

    snprintf(line, sizeof(line), "%s\n", f->text);
    assert_int_equal(sheaf_reader_resume(f->reader, line), SHEAF_OK);
    assert_int_equal(read_all(f->reader), 22 - 9);
}

/* 22 samples in 4 lanes: two lanes of 6 and two of 5 samples. */
static void places_outside_the_epoch_are_refused(void **state)
{
    struct fixture *f = *state;

    set_word(f->text, "rounds=", "6");
    refused(f->reader, f->text, "6 rounds and 1 lane into an epoch of 6 rounds");
    set_word(f->text, "rounds=", "17592186044413");
    refused(f->reader, f->text, "into an epoch of 6 rounds");
    set_word(f->text, "rounds=", "18446744073709551615");
    refused(f->reader, f->text, "invalid position");
    set_word(f->text, "rounds=", "6");
    set_word(f->text, "extra=", "0");
    assert_int_equal(sheaf_reader_resume(f->reader, f->text), SHEAF_OK);
    assert_int_equal(read_all(f->reader), 0);
    set_word(f->text, "remainder=", "drop");
    refused(f->reader, f->text, "into an epoch of 5 rounds");
    set_word(f->text, "rounds=", "5");
    assert_int_equal(sheaf_reader_resume(f->reader, f->text), SHEAF_OK);
    assert_int_equal(read_all(f->reader), 0);
}

/* ---- A stream ------------------------------------------------------------------------------- */

/* Makes a compressed tar with STREAM_SAMPLES samples, and opens it. */
static struct sheaf_dataset *stream_open_set(char directory[32], char path[64])
{
    const char *sources[] = { directory };
    struct sheaf_dataset *dataset;
    struct sheaf_error error = { 0 };
    struct buf out = { .limit = SIZE_MAX };
    gzFile file;

    snprintf(directory, 32, "/tmp/sheaf-test-XXXXXX");
    assert_non_null(mkdtemp(directory));
    snprintf(path, 64, "%s/a.tar.gz", directory);
    for (unsigned i = 0; i < STREAM_SAMPLES; i++) {
        char name[32];

        snprintf(name, sizeof(name), "s%03u.txt", i);
        tar_put_file(&out, name, name);
    }
    tar_put_zeros(&out, 2);
    file = gzopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(gzwrite(file, out.data, (unsigned)out.size), out.size);
    assert_int_equal(gzclose(file), Z_OK);
    buf_free(&out);
    if (sheaf_dataset_open(sources, 1, &dataset, &error) != SHEAF_OK)
        fail_msg("%s", error.message);
    return dataset;
}

static void a_resumed_stream_is_at_its_position(void **state)
{
    char directory[32], path[64], saved[SHEAF_POSITION_SIZE], now[SHEAF_POSITION_SIZE], key[32];
    struct sheaf_dataset *dataset = stream_open_set(directory, path);
    struct sheaf_reader *reader = shards_reader(dataset, NULL);
    const struct sheaf_sample *sample;

    (void)state;
    for (unsigned i = 0; i < 15; i++)
        assert_int_equal(sheaf_reader_next(reader, &sample), SHEAF_OK);
    assert_int_equal(sheaf_reader_position(reader, saved), SHEAF_OK);
    assert_int_equal(sheaf_reader_next(reader, &sample), SHEAF_OK);
    snprintf(key, sizeof(key), "%s", sample->key);
    sheaf_reader_free(reader);
    reader = shards_reader(dataset, NULL);
    assert_int_equal(sheaf_reader_resume(reader, saved), SHEAF_OK);
    assert_int_equal(sheaf_reader_position(reader, now), SHEAF_OK);
    assert_string_equal(now, saved);
    sheaf_reader_interrupt(reader);
    assert_int_equal(sheaf_reader_next(reader, &sample), SHEAF_ERR_INTERRUPTED);
    assert_int_equal(sheaf_reader_position(reader, now), SHEAF_OK);
    assert_string_equal(now, saved);
    assert_int_equal(sheaf_reader_next(reader, &sample), SHEAF_OK);
    assert_string_equal(sample->key, key);
    assert_int_equal(sheaf_reader_position_back(reader, 1, now), SHEAF_OK);
    assert_string_equal(now, saved);
    assert_int_equal(read_all(reader), STREAM_SAMPLES - 16);
    set_word(saved, "rounds=", "60");
    assert_int_equal(sheaf_reader_resume(reader, saved), SHEAF_OK);
    assert_int_equal(read_all(reader), 0);
    set_word(saved, "rounds=", "61");
    assert_int_equal(sheaf_reader_resume(reader, saved), SHEAF_OK);
    assert_int_equal(sheaf_reader_next(reader, &sample), SHEAF_ERR_ARGUMENT);
    assert_non_null(strstr(sheaf_reader_error(reader)->message, "after 61 samples"));
    sheaf_reader_free(reader);
    sheaf_dataset_free(dataset);
    unlink(path);
    rmdir(directory);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_changed_byte_is_refused),
        TEST(version_1_is_read),
        TEST(a_newline_is_no_part_of_it),
        TEST(places_outside_the_epoch_are_refused),
        cmocka_unit_test(a_resumed_stream_is_at_its_position),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
