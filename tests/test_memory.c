/* SPDX-License-Identifier: MIT
 *
 * Tests readers with little memory. With every budget that a reader accepts, it must read the same
 * samples in the same order and stay within the budget. A budget that a refusal names must be
 * enough. */
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/budget.h"
#include "base/bytes.h"
#include "base/crc32c.h"
#include "reader/order/foresight.h"
#include "reader/order/shuffle.h"
#include "tests/common_fake_s3.h"
#include "tests/common_must.h"
#include "tests/common_random.h"
#include "tests/common_tree.h"

/* ---- What is foreseen ----------------------------------------------------------------------- */

/* Plays the next steps on a copy of the slots, and compares them with the foreseen ones. */
static void foreseen_is_what_comes(void **state)
{
    struct rng rng;

    (void)state;
    random_start(&rng);
    for (int round = 0; round < 2000; round++) {
        const struct order order = { .seed = rng_next(&rng), .shuffle = true, .lanes = 1,
                                     .buffer = 1 + rng_below(&rng, 40) };
        const uint64_t inputs = 1 + rng_below(&rng, 100);
        uint64_t slots[64], foreseen[SHUFFLE_FORESEE_MOST];
        const unsigned ask = (unsigned)rng_below(&rng, SHUFFLE_FORESEE_MOST + 1);
        struct shuffle shuffle;
        unsigned count;

        shuffle_begin(&shuffle, &order, 0, inputs);
        shuffle_replay(&shuffle, rng_below(&rng, inputs), slots);
        for (uint64_t i = 0; i < shuffle.filled; i++)
            slots[i] = i;
        count = shuffle_foresee(&shuffle, ask, foreseen);
        for (unsigned i = 0; i < count; i++) {
            const struct shuffle_step step = shuffle_next(&shuffle);

            assert_int_equal(foreseen[i], slots[step.slot]);
            slots[step.slot] = step.refill ? UINT64_MAX : slots[step.last];
        }
        assert_true(count == ask || shuffle.filled == 0);
    }
}

/* Finds the step that draws each slot's sample by playing all steps first. */
static void list_draws(struct shuffle s, uint64_t *input_drawn)
{
    uint64_t slots[64];

    for (uint64_t i = 0; i < s.filled; i++)
        slots[i] = i;
    for (uint64_t step = 1; s.filled != 0; step++)
        input_drawn[shuffle_draw(&s, slots)] = step;
}

/* Checks the foreseen step for each slot. It must be right, or LATER if the step lies after all
 * foreseen steps. */
static void check_drawn(const struct foresight *f, const uint64_t *slots, uint64_t filled,
                        const uint64_t *input_drawn)
{
    for (uint64_t i = 0; i < filled; i++)
        assert_int_equal(f->drawn[i], input_drawn[slots[i]] > f->seen ? FORESIGHT_LATER
                                                                      : input_drawn[slots[i]]);
}

static void the_step_that_draws_a_sample_is_foreseen(void **state)
{
    struct sheaf_error error;
    struct rng rng;

    (void)state;
    random_start(&rng);
    for (int round = 0; round < 1000; round++) {
        const struct order order = { .seed = rng_next(&rng), .shuffle = true, .lanes = 1,
                                     .buffer = 1 + rng_below(&rng, 40) };
        uint64_t slots[64], input_drawn[200];
        struct foresight f;
        struct shuffle s;

        shuffle_begin(&s, &order, 0, 1 + rng_below(&rng, 200));
        list_draws(s, input_drawn);
        assert_true(foresight_is_possible(&s));
        must(foresight_open(&f, &s, &error));
        for (uint64_t i = 0; i < s.filled; i++)
            slots[i] = i;
        while (s.filled != 0) {
            struct shuffle_step step;

            check_drawn(&f, slots, s.filled, input_drawn);
            step = shuffle_next(&s);
            slots[step.slot] = step.refill ? step.input : slots[step.last];
            foresight_step(&f, &step);
        }
        foresight_close(&f);
    }
}

static void what_is_reserved_is_there(void **state)
{
    struct budget b = { .limit = 100, .reserve = 30 };

    (void)state;
    assert_false(budget_take(&b, 71));
    assert_true(budget_take(&b, 60));
    assert_true(budget_take_reserved(&b, 25));
    assert_int_equal(budget_room(&b), 10);
    assert_true(budget_take(&b, 10));
    assert_false(budget_take(&b, 1));
    assert_false(budget_unreserve(&b, 25));
    budget_give(&b, 40);
    assert_true(budget_unreserve(&b, 25));
    assert_int_equal(b.used, 55);
    assert_int_equal(b.reserve_used, 0);
    assert_int_equal(budget_room(&b), 15);
    assert_int_equal(b.peak, 95);
}

/* ---- Random sets, budgets and lanes --------------------------------------------------------- */

/* The result of reading a data set: the CRC of all keys and contents in order, or the code of the
 * error. */
struct outcome {
    int code;
    uint64_t samples, crc, read_bytes;
    struct sheaf_error error;
};

static void add_sample(struct outcome *o, const struct sheaf_sample *s)
{
    o->samples++;
    o->crc = o->crc * 31 + crc32c(0, s->key, strlen(s->key));
    for (size_t f = 0; f < s->field_count; f++)
        o->crc = o->crc * 31 + crc32c(0, s->fields[f].data, s->fields[f].size);
}

static struct outcome read_set(const struct sheaf_dataset *dataset,
                               const struct sheaf_reader_options *options, size_t batch)
{
    struct outcome o = { .code = SHEAF_OK };
    const struct sheaf_sample *samples;
    struct sheaf_reader_stats stats;
    struct sheaf_reader *reader;
    struct sheaf_error error;
    size_t count;

    o.code = sheaf_reader_open(dataset, options, &reader, &error);
    if (o.code != SHEAF_OK) {
        o.error = error;
        return o;
    }
    while (o.code == SHEAF_OK) {
        o.code = sheaf_reader_next_batch(reader, batch, &samples, &count);
        for (size_t i = 0; o.code == SHEAF_OK && i < count; i++)
            add_sample(&o, &samples[i]);
    }
    if (o.code != SHEAF_END)
        fail_msg("%s", sheaf_reader_error(reader)->message);
    sheaf_reader_get_stats(reader, &stats, sizeof(stats));
    assert_true(stats.memory_peak_bytes <= options->memory_bytes);
    o.read_bytes = stats.read_bytes;
    sheaf_reader_free(reader);
    return o;
}

/* Returns the number of bytes that is enough, from the message of a refusal. */
static uint64_t least_of(const struct outcome *o)
{
    const char *at = strstr(o->error.message, "at least ");

    assert_int_equal(o->code, SHEAF_ERR_LIMIT);
    assert_non_null(at);
    return strtoull(at + 9, NULL, 10);
}

static void check_budgets(const struct sheaf_dataset *dataset,
                          struct sheaf_reader_options *options, struct rng *rng)
{
    const size_t batch = 1 + rng_below(rng, 70);
    struct outcome whole, tight;
    uint64_t least;

    options->memory_bytes = (uint64_t)1 << 30;
    whole = read_set(dataset, options, batch);
    assert_int_equal(whole.code, SHEAF_END);
    options->memory_bytes = 1;
    tight = read_set(dataset, options, batch);
    least = least_of(&tight);
    options->memory_bytes = least - 1;
    tight = read_set(dataset, options, batch);
    assert_true(tight.code == SHEAF_ERR_LIMIT || tight.crc == whole.crc);
    for (int i = 0; i < 3; i++) {
        options->memory_bytes = i == 0 ? least : least + rng_below(rng, least << (2 * i));
        tight = read_set(dataset, options, batch);
        assert_int_equal(tight.code, SHEAF_END);
        assert_int_equal(tight.samples, whole.samples);
        assert_int_equal(tight.crc, whole.crc);
    }
}

static const enum sheaf_codec codecs[] = { SHEAF_CODEC_NONE, SHEAF_CODEC_GZIP, SHEAF_CODEC_LZ4,
                                           SHEAF_CODEC_ZSTD };

/* Returns a random size: usually log-normal, and sometimes much larger. */
static size_t random_size(struct rng *rng)
{
    double normal = -3;

    for (int i = 0; i < 6; i++)
        normal += (double)rng_below(rng, 1000) / 1000;
    return rng_below(rng, 100) == 0 ? 700000 : (size_t)exp(8 + 2 * normal);
}

static void append_of_size(struct sheaf_packer *packer, size_t number, size_t size,
                           struct rng *rng)
{
    uint8_t *data = malloc(size + 1);
    struct sheaf_field field = { .name = "bin", .suffix = "bin", .data = data, .size = size };
    char key[16];
    const struct sheaf_sample sample = { .key = key, .fields = &field, .field_count = 1 };

    random_text(rng, data, size);
    snprintf(key, sizeof(key), "%06zu", number);
    if (sheaf_packer_append(packer, &sample) != SHEAF_OK)
        fail_msg("%s", sheaf_packer_error(packer)->message);
    free(data);
}

static struct sheaf_packer *open_packer(const char *directory, enum sheaf_container container,
                                        enum sheaf_codec codec, uint64_t shard_bytes)
{
    struct sheaf_pack_options o;
    struct sheaf_packer *packer;
    struct sheaf_error error;

    sheaf_pack_options_init(&o, sizeof(o));
    o.container = container;
    o.codec = codec;
    o.shard_bytes = shard_bytes;
    must(sheaf_packer_open(directory, &o, &packer, &error));
    return packer;
}

static void close_packer(struct sheaf_packer *packer)
{
    assert_int_equal(sheaf_packer_finish(packer, NULL), SHEAF_OK);
    sheaf_packer_free(packer);
}

static void pack_random(const char *directory, enum sheaf_container container,
                        enum sheaf_codec codec, struct rng *rng)
{
    const size_t count = 1 + rng_below(rng, 150);
    struct sheaf_packer *packer = open_packer(directory, container, codec,
                                              100000 + rng_below(rng, 1000000));

    for (size_t i = 0; i < count; i++)
        append_of_size(packer, i, random_size(rng), rng);
    close_packer(packer);
}

static void check_random_set(enum sheaf_container container, enum sheaf_codec codec,
                             struct rng *rng)
{
    static const uint32_t lanes[] = { 1, 2, 7, 64, 512 };
    struct sheaf_reader_options o;
    struct sheaf_dataset *dataset;
    struct sheaf_error error;
    struct tree tree;
    const char *url;

    tree_make(&tree);
    url = tree_path(&tree, "set");
    pack_random(url, container, codec, rng);
    must(sheaf_dataset_open(&url, 1, &dataset, &error));
    for (int i = 0; i < 2; i++) {
        sheaf_reader_options_init(&o, sizeof(o));
        o.seed = rng_next(rng);
        o.no_shuffle = rng_below(rng, 4) == 0;
        o.shuffle_buffer = rng_below(rng, 2) == 0 ? 10000 : rng_below(rng, 200);
        o.lanes = lanes[rng_below(rng, COUNT_OF(lanes))];
        check_budgets(dataset, &o, rng);
    }
    sheaf_dataset_free(dataset);
    tree_remove(&tree);
}

/* With QUICK, a test runs every third of its cases, from the case `chosen` on, because a sanitizer
 * makes each case ten times as slow. */
#define QUICK_SHARE 3u

static bool is_left_out(size_t number, uint64_t chosen)
{
    return getenv("QUICK") != NULL && number % QUICK_SHARE != chosen;
}

static void every_budget_that_is_enough_reads_the_same(void **state)
{
    static const enum sheaf_container containers[] = { SHEAF_TFRECORD, SHEAF_RECORDIO,
                                                       SHEAF_WEBDATASET };
    struct rng rng;
    uint64_t chosen;

    (void)state;
    random_start(&rng);
    chosen = rng_below(&rng, QUICK_SHARE);
    for (size_t i = 0; i < COUNT_OF(containers); i++)
        for (size_t c = 0; c < COUNT_OF(codecs); c++)
            if (!is_left_out(i + c, chosen))
                check_random_set(containers[i], codecs[c], &rng);
}

/* ---- Damage ---------------------------------------------------------------------------------- */

/* Returns the CRC of the samples that a reader returns, and counts the samples that it skips. */
static uint64_t read_damaged(const struct sheaf_dataset *dataset,
                             const struct sheaf_reader_options *options, uint64_t *corrupt)
{
    const struct sheaf_sample *sample;
    struct sheaf_reader_stats stats;
    struct sheaf_reader *reader;
    struct outcome o = { .code = SHEAF_OK };
    struct sheaf_error error;
    int code;

    must(sheaf_reader_open(dataset, options, &reader, &error));
    while ((code = sheaf_reader_next(reader, &sample)) == SHEAF_OK)
        add_sample(&o, sample);
    sheaf_reader_get_stats(reader, &stats, sizeof(stats));
    if (code != SHEAF_END && (code != SHEAF_ERR_CORRUPT || stats.samples != 0))
        fail_msg("%s", sheaf_reader_error(reader)->message);
    *corrupt = stats.corrupt;
    sheaf_reader_free(reader);
    return o.crc;
}

/* Changes a byte of the first shard, or truncates the shard. */
static void damage(const struct tree *tree, const char *shard, struct rng *rng)
{
    const char *path = tree_path(tree, shard);
    FILE *file = fopen(path, "r+b");
    long size, at;

    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    size = ftell(file);
    at = (long)rng_below(rng, (uint64_t)size);
    if (rng_below(rng, 4) == 0) {
        assert_int_equal(ftruncate(fileno(file), at), 0);
    } else {
        int byte;

        fseek(file, at, SEEK_SET);
        byte = fgetc(file);
        fseek(file, at, SEEK_SET);
        fputc(byte ^ (1 << rng_below(rng, 8)), file);
    }
    assert_int_equal(fclose(file), 0);
}

static void check_damage(enum sheaf_codec codec, struct rng *rng)
{
    static const char *const suffixes[] = { "", ".gz", ".lz4", ".zst" };
    struct sheaf_reader_options o;
    struct sheaf_dataset *dataset;
    struct sheaf_error error;
    struct outcome refused;
    uint64_t ample, tight, corrupt;
    struct tree tree;
    char shard[64];
    const char *url;

    tree_make(&tree);
    pack_random(tree_path(&tree, "set"), SHEAF_WEBDATASET, codec, rng);
    snprintf(shard, sizeof(shard), "set/shard-000000.tar%s", suffixes[codec]);
    damage(&tree, shard, rng);
    url = tree_path(&tree, "set");
    must(sheaf_dataset_open(&url, 1, &dataset, &error));
    sheaf_reader_options_init(&o, sizeof(o));
    o.seed = rng_next(rng);
    o.on_corrupt = SHEAF_SKIP;
    o.memory_bytes = (uint64_t)1 << 30;
    ample = read_damaged(dataset, &o, &corrupt);
    o.memory_bytes = 1;
    refused = read_set(dataset, &o, 1);
    o.memory_bytes = least_of(&refused);
    assert_int_equal(read_damaged(dataset, &o, &tight), ample);
    assert_int_equal(corrupt, tight);
    sheaf_dataset_free(dataset);
    tree_remove(&tree);
}

/* Tests that the budget does not determine which samples of a damaged block are lost. */
static void what_is_passed_over_does_not_depend_on_the_budget(void **state)
{
    struct rng rng;

    (void)state;
    random_start(&rng);
    for (int i = 0; i < 40; i++)
        check_damage(codecs[i % COUNT_OF(codecs)], &rng);
}

/* ---- Small sets ------------------------------------------------------------------------------ */

/* Tests that a data set smaller than the budget is read with any number of lanes. */
static void a_set_that_fits_is_not_refused(void **state)
{
    struct sheaf_dataset_info info;
    struct sheaf_reader_options o;
    struct sheaf_dataset *dataset;
    struct sheaf_error error;
    struct tree tree;
    struct rng rng;
    const char *url;

    (void)state;
    random_start(&rng);
    for (size_t c = 0; c < COUNT_OF(codecs); c++) {
        tree_make(&tree);
        url = tree_path(&tree, "set");
        pack_random(url, SHEAF_WEBDATASET, codecs[c], &rng);
        must(sheaf_dataset_open(&url, 1, &dataset, &error));
        sheaf_dataset_get_info(dataset, &info, sizeof(info));
        for (uint32_t lanes = 1; lanes <= 512; lanes *= 8) {
            sheaf_reader_options_init(&o, sizeof(o));
            o.lanes = lanes;
            o.no_shuffle = lanes == 64;
            /* Room for the bytes of the tars and of the index, and for the decompression of a
             * sample. */
            o.memory_bytes = info.payload_bytes + 1536 * info.samples + ((uint64_t)74 << 10);
            assert_int_equal(read_set(dataset, &o, 64).samples, info.samples);
        }
        sheaf_dataset_free(dataset);
        tree_remove(&tree);
    }
}

/* ---- Remotely -------------------------------------------------------------------------------- */

static struct fake_s3 s3;

static int start_s3(void **state)
{
    (void)state;
    fake_s3_start(&s3);
    fake_s3_use(&s3, 10000);
    return 0;
}

static int stop_s3(void **state)
{
    (void)state;
    fake_s3_stop(&s3);
    return 0;
}

static void put_file(const char *path, const char *object)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data;
    long size;

    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    size = ftell(file);
    rewind(file);
    data = malloc((size_t)size);
    assert_int_equal(fread(data, 1, (size_t)size, file), size);
    fake_s3_put(&s3, object, data, (size_t)size);
    fclose(file);
    free(data);
}

/* Puts the files of the data set at `url`. */
static void put_set(const char *directory, const char *url)
{
    DIR *d = opendir(directory);
    struct dirent *entry;

    assert_non_null(d);
    while ((entry = readdir(d)) != NULL) {
        char path[4096], object[512];

        snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
        snprintf(object, sizeof(object), "%s/%s", url + strlen("s3:/"), entry->d_name);
        if (entry->d_type == DT_REG)
            put_file(path, object);
    }
    closedir(d);
}

/* Packs samples of which some are so large that their blocks are read in several pieces. */
static void pack_for_pieces(const char *directory, enum sheaf_codec codec, struct rng *rng)
{
    struct sheaf_packer *packer = open_packer(directory, SHEAF_WEBDATASET, codec, 150000000);

    for (size_t i = 0; i < 150; i++)
        append_of_size(packer, i, i % 60 == 0 ? 3000000 : rng_below(rng, 8000), rng);
    close_packer(packer);
}

static void what_is_read_remotely_does_not_depend_on_the_budget(void **state)
{
    struct sheaf_reader_options o;
    struct sheaf_dataset *dataset;
    struct sheaf_error error;
    struct tree tree;
    struct rng rng;
    uint64_t chosen;

    (void)state;
    random_start(&rng);
    chosen = rng_below(&rng, QUICK_SHARE);
    for (size_t c = 0; c < COUNT_OF(codecs); c++) {
        char place[64];
        const char *url = place;

        if (is_left_out(c, chosen))
            continue;
        snprintf(place, sizeof(place), "s3://bucket/set%zu", c);
        tree_make(&tree);
        pack_for_pieces(tree_path(&tree, "set"), codecs[c], &rng);
        put_set(tree_path(&tree, "set"), url);
        must(sheaf_dataset_open(&url, 1, &dataset, &error));
        sheaf_reader_options_init(&o, sizeof(o));
        o.seed = rng_next(&rng);
        o.lanes = c % 2 == 0 ? 1 : 5;
        o.shuffle_buffer = 100;
        check_budgets(dataset, &o, &rng);
        sheaf_dataset_free(dataset);
        tree_remove(&tree);
    }
}

/* ---- A set larger than the budget ------------------------------------------------------------ */

#define MANY 9000u

static void pack_many(const char *directory, enum sheaf_codec codec, struct rng *rng)
{
    const enum sheaf_container container = rng_below(rng, 2) == 0 ? SHEAF_RECORDIO : SHEAF_TFRECORD;
    struct sheaf_packer *packer = open_packer(directory, container, codec, (uint64_t)9 << 20);

    for (size_t i = 0; i < MANY; i++)
        append_of_size(packer, i, 500 + rng_below(rng, 3000), rng);
    close_packer(packer);
}

/* Tests a shuffle buffer for which the memory has room for less than half of its samples. The
 * others are read when they are drawn, but a block must not be read again for each of its
 * samples. */
static void blocks_are_not_read_for_each_sample(void **state)
{
    static const uint32_t lanes[] = { 1, 4 };
    struct sheaf_dataset_info info;
    struct sheaf_reader_options o;
    struct sheaf_dataset *dataset;
    struct sheaf_error error;
    struct tree tree;
    struct rng rng;
    uint64_t chosen;
    const char *url;

    (void)state;
    random_start(&rng);
    chosen = rng_below(&rng, QUICK_SHARE);
    for (size_t c = 1; c < COUNT_OF(codecs); c++) {
        if (is_left_out(c, chosen))
            continue;
        tree_make(&tree);
        url = tree_path(&tree, "set");
        pack_many(url, codecs[c], &rng);
        must(sheaf_dataset_open(&url, 1, &dataset, &error));
        sheaf_dataset_get_info(dataset, &info, sizeof(info));
        sheaf_reader_options_init(&o, sizeof(o));
        o.shuffle_buffer = 5000;
        for (size_t i = 0; i < COUNT_OF(lanes); i++) {
            struct outcome whole, tight;

            o.seed = rng_next(&rng);
            o.lanes = lanes[i];
            o.memory_bytes = (uint64_t)1 << 30;
            whole = read_set(dataset, &o, 16);
            o.memory_bytes = (uint64_t)8 << 20;
            tight = read_set(dataset, &o, 16);
            assert_int_equal(tight.code, SHEAF_END);
            assert_int_equal(tight.crc, whole.crc);
            assert_true(tight.read_bytes < 50 * info.payload_bytes);
        }
        sheaf_dataset_free(dataset);
        tree_remove(&tree);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(foreseen_is_what_comes),
        cmocka_unit_test(the_step_that_draws_a_sample_is_foreseen),
        cmocka_unit_test(what_is_reserved_is_there),
        cmocka_unit_test(every_budget_that_is_enough_reads_the_same),
        cmocka_unit_test(what_is_passed_over_does_not_depend_on_the_budget),
        cmocka_unit_test(a_set_that_fits_is_not_refused),
        cmocka_unit_test(what_is_read_remotely_does_not_depend_on_the_budget),
        cmocka_unit_test(blocks_are_not_read_for_each_sample),
    };

    return cmocka_run_group_tests(tests, start_s3, stop_s3);
}
