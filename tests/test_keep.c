/* SPDX-License-Identifier: MIT
 *
 * Tests samples that are kept after the call that returned them, and positions of samples that were
 * returned some time ago. */
#include <inttypes.h>
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

/* Keeps a whole epoch in batches, frees the reader, and then checks the samples. */
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

/* ---- In the program's memory ---------------------------------------------------------------- */

struct region {
    size_t bytes, most;
};

static int region_needed(void *context, size_t bytes)
{
    struct region *region = context;

    if (bytes > region->most)
        return -1;
    region->bytes = MAX(bytes, region->bytes);
    return 0;
}

/* Keeps an epoch of large samples. They must lie in options.memory, in the part that memory_needed
 * was called for. */
static void keep_in_memory(struct sheaf_dataset *dataset, uint64_t buffer)
{
    struct region region = { 0, (size_t)64 << 20 };
    struct sheaf_kept *kept[4096];
    struct sheaf_reader_options o;
    struct sheaf_reader *reader;
    const struct sheaf_sample *s;
    size_t count, n = 0;

    sheaf_reader_options_init(&o, sizeof(o));
    o.shuffle_buffer = buffer;
    o.memory_bytes = region.most;
    o.memory = aligned_alloc(4096, region.most);
    o.memory_needed = region_needed;
    o.memory_context = &region;
    assert_non_null(o.memory);
    reader = shards_reader(dataset, &o);
    while (sheaf_reader_next(reader, &s) == SHEAF_OK) {
        assert_true(n < COUNT_OF(kept));
        assert_int_equal(sheaf_reader_keep(reader, &s, &count, &kept[n++]), SHEAF_OK);
        shards_number(s);
        assert_true((uintptr_t)s->fields[0].data - (uintptr_t)o.memory < region.bytes);
    }
    sheaf_reader_free(reader);
    assert_true(n > 100);
    while (n-- > 0)
        sheaf_kept_free(kept[n]);
    free(o.memory);
}

static void samples_are_read_into_the_program_s_memory(void **state)
{
    static const uint64_t buffers[] = { 0, 30, 1000 };
    const size_t least = shards_least;
    struct region region = { 0, 4096 };
    const struct sheaf_sample *sample;
    struct sheaf_dataset *dataset;
    struct sheaf_reader *reader;
    struct sheaf_reader_options o;
    struct sheaf_error error;
    struct shard_set set;

    (void)state;
    shards_least = (size_t)20 << 10;
    for (size_t c = 0; c < COUNT_OF(containers); c++) {
        shards_make(&set, containers[c], counts);
        dataset = shards_open(&set);
        for (size_t b = 0; b < COUNT_OF(buffers); b++)
            keep_in_memory(dataset, buffers[b]);
        sheaf_reader_options_init(&o, sizeof(o));
        o.memory_bytes = (uint64_t)64 << 20;
        o.memory = aligned_alloc(4096, o.memory_bytes);
        o.memory_needed = region_needed;
        o.memory_context = &region;
        reader = shards_reader(dataset, &o);
        /* The program can provide less memory than the sample needs, so the sample lies
         * elsewhere. */
        assert_int_equal(sheaf_reader_next(reader, &sample), SHEAF_OK);
        assert_true((uintptr_t)sample->fields[0].data - (uintptr_t)o.memory >= o.memory_bytes);
        sheaf_reader_free(reader);
        o.memory = (char *)o.memory + 1;
        assert_int_equal(sheaf_reader_open(dataset, &o, &reader, &error), SHEAF_ERR_ARGUMENT);
        free((char *)o.memory - 1);
        sheaf_dataset_free(dataset);
        shards_remove(&set);
    }
    shards_least = least;
}

/* Keeps the samples to the end of the epoch. Returns the number of samples whose bytes do not lie
 * in options.memory. */
static size_t keep_rest(struct sheaf_reader *reader, const struct sheaf_reader_options *o,
                        const struct sheaf_sample **samples, struct sheaf_kept **kept, size_t *n)
{
    size_t elsewhere = 0, count;

    for (*n = 0; sheaf_reader_next(reader, &samples[*n]) == SHEAF_OK; ++*n) {
        assert_int_equal(sheaf_reader_keep(reader, &samples[*n], &count, &kept[*n]), SHEAF_OK);
        elsewhere += (uintptr_t)samples[*n]->fields[0].data - (uintptr_t)o->memory
                     >= o->memory_bytes;
    }
    return elsewhere;
}

static void free_all(const struct sheaf_sample **samples, struct sheaf_kept **kept, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        shards_number(samples[i]);
        sheaf_kept_free(kept[i]);
    }
}

/* A position with more lanes leaves less room for the heap than it has, so the reader opens a new
 * heap. The samples that were kept must stay unchanged. */
static void memory_in_which_something_is_kept_is_left_alone(void **state)
{
    static const struct sheaf_sample *samples[2][4096];
    static struct sheaf_kept *kept[2][4096];
    const size_t least = shards_least;
    struct sheaf_reader_options o;
    struct sheaf_dataset *dataset;
    struct sheaf_reader *reader;
    struct sheaf_error error;
    struct shard_set set;
    char position[SHEAF_POSITION_SIZE];
    size_t n[2], all = 0, elsewhere = 0;

    (void)state;
    shards_least = 4000;
    shards_make(&set, &webdataset_ops, counts);
    dataset = shards_open(&set);
    sheaf_reader_options_init(&o, sizeof(o));
    o.lanes = 8;
    o.shuffle_buffer = 40;
    reader = shards_reader(dataset, &o);
    assert_int_equal(sheaf_reader_position(reader, position), SHEAF_OK);
    sheaf_reader_free(reader);
    o.lanes = 1;
    o.threads = 1;
    for (o.memory_bytes = 4096 * 200; o.memory_bytes < (4 << 20); o.memory_bytes += 4096 * 50) {
        o.memory = aligned_alloc(4096, o.memory_bytes);
        if (sheaf_reader_open(dataset, &o, &reader, &error) == SHEAF_OK) {
            keep_rest(reader, &o, samples[0], kept[0], &n[0]);
            if (sheaf_reader_resume(reader, position) == SHEAF_OK) {
                elsewhere += keep_rest(reader, &o, samples[1], kept[1], &n[1]);
                all += n[1];
                free_all(samples[1], kept[1], n[1]);
            }
            free_all(samples[0], kept[0], n[0]);
            sheaf_reader_free(reader);
        }
        free(o.memory);
    }
    assert_in_range(elsewhere, 1, all - 1);
    sheaf_dataset_free(dataset);
    shards_remove(&set);
    shards_least = least;
}

/* ---- Positions ------------------------------------------------------------------------------ */

/* Reads to the end in batches of different sizes. Each position must be the same whether it is
 * asked for at once or later, even across bad records and lanes that have ended. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_samples_outlive_the_reader),
        cmocka_unit_test(what_is_kept_is_taken_from_the_reader),
        cmocka_unit_test(samples_are_read_into_the_program_s_memory),
        cmocka_unit_test(memory_in_which_something_is_kept_is_left_alone),
        cmocka_unit_test(positions_of_a_while_ago),
    };

    return cmocka_run_group_tests(tests, NULL, NULL)
           + cmocka_run_group_tests_name("large samples", tests, shards_make_large, NULL);
}
