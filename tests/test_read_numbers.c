/* SPDX-License-Identifier: MIT
 *
 * Tests reading by number, from every container and codec, from foreign shards and from S3. Each
 * number must get its own sample, with any memory, any threads, and after a fork. Damage must be
 * found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "tests/common_fake_s3.h"
#include "tests/common_must.h"
#include "tests/common_random.h"
#include "tests/common_shards.h"
#include "tests/common_tree.h"

#define SAMPLES 300u
#define MOST    400u

static struct sheaf_error error;

/* ---- Data sets ------------------------------------------------------------------------------ */

static void pack_samples(const char *url, enum sheaf_container container, enum sheaf_codec codec,
                         uint64_t samples, uint64_t shard_bytes)
{
    struct sheaf_pack_options o;
    struct sheaf_packer *packer;

    sheaf_pack_options_init(&o, sizeof(o));
    o.container = container;
    o.codec = codec;
    o.shard_bytes = shard_bytes;
    must(sheaf_packer_open(url, &o, &packer, &error));
    for (uint64_t i = 0; i < samples; i++) {
        size_t size;
        const char *text = shards_text(i, &size);
        const struct sheaf_field field = { .name = "bin", .suffix = "bin", .data = text,
                                           .size = size };
        const double label = (double)(i % 5);
        char key[32];
        const struct sheaf_sample sample = { .key = key, .fields = &field, .field_count = 1,
                                             .labels = &label, .label_count = 1 };

        snprintf(key, sizeof(key), "k/%06u", (unsigned)i);
        if (sheaf_packer_append(packer, &sample) != SHEAF_OK)
            fail_msg("%s", sheaf_packer_error(packer)->message);
    }
    if (sheaf_packer_finish(packer, NULL) != SHEAF_OK)
        fail_msg("%s", sheaf_packer_error(packer)->message);
    sheaf_packer_free(packer);
}

static void pack(const char *url, enum sheaf_container container, enum sheaf_codec codec)
{
    pack_samples(url, container, codec, SAMPLES, 150000);
}

static struct sheaf_dataset *open_set(const char *url)
{
    struct sheaf_dataset *dataset;

    must(sheaf_dataset_open(&url, 1, &dataset, &error));
    return dataset;
}

/* ---- Reading -------------------------------------------------------------------------------- */

static void check_samples(const struct sheaf_sample *samples, const uint64_t *numbers,
                          size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char key[32];

        snprintf(key, sizeof(key), "k/%06u", (unsigned)numbers[i]);
        assert_int_equal(samples[i].number, numbers[i]);
        assert_int_equal(shards_number(&samples[i]), numbers[i]);
        assert_string_equal(samples[i].key, key);
    }
}

static void read_numbers(const struct sheaf_dataset *dataset, const uint64_t *numbers,
                         size_t count, uint64_t memory_bytes)
{
    const struct sheaf_sample *samples;
    struct sheaf_read_options o;
    struct sheaf_kept *kept;

    sheaf_read_options_init(&o, sizeof(o));
    if (memory_bytes != 0)
        o.memory_bytes = memory_bytes;
    must(sheaf_dataset_read(dataset, numbers, count, &o, &samples, &kept, &error));
    check_samples(samples, numbers, count);
    sheaf_kept_free(kept);
}

/* Reads scattered numbers, repeated numbers, all numbers in order, and single ones. */
static void check_set(const struct sheaf_dataset *dataset, uint64_t samples, struct rng *rng)
{
    uint64_t numbers[MOST];

    for (size_t count = 1; count <= MOST; count += 1 + count / 2) {
        for (size_t i = 0; i < count; i++)
            numbers[i] = rng_below(rng, samples);
        read_numbers(dataset, numbers, count, 0);
    }
    for (size_t i = 0; i < samples; i++)
        numbers[i] = samples - 1 - i;
    read_numbers(dataset, numbers, samples, 0);
    read_numbers(dataset, numbers, 1, 0);
    numbers[1] = numbers[0];
    read_numbers(dataset, numbers, 2, 0);
}

static const enum sheaf_codec codecs[] = { SHEAF_CODEC_NONE, SHEAF_CODEC_GZIP, SHEAF_CODEC_LZ4,
                                           SHEAF_CODEC_ZSTD };
static const enum sheaf_container containers[] = { SHEAF_TFRECORD, SHEAF_RECORDIO,
                                                   SHEAF_WEBDATASET };

static void every_number_gets_its_sample(void **state)
{
    struct rng rng;

    (void)state;
    random_start(&rng);
    for (size_t i = 0; i < COUNT_OF(containers); i++) {
        for (size_t c = 0; c < COUNT_OF(codecs); c++) {
            struct sheaf_dataset *dataset;
            struct tree tree;

            tree_make(&tree);
            pack(tree_path(&tree, "set"), containers[i], codecs[c]);
            dataset = open_set(tree_path(&tree, "set"));
            check_set(dataset, SAMPLES, &rng);
            sheaf_dataset_free(dataset);
            tree_remove(&tree);
        }
    }
}

static void foreign_shards_are_read_by_number(void **state)
{
    static const uint64_t counts[] = { 40, 1, 57, 13, 80, 0 };
    static const struct format_ops *const formats[] = { &tfrecord_ops, &recordio_ops,
                                                        &webdataset_ops };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(formats); i++) {
        const uint64_t all[] = { 190, 40, 39, 41, 0, 97, 98, 40, 110, 111 };
        const struct sheaf_sample *samples;
        struct sheaf_kept *kept;
        struct shard_set set;
        struct sheaf_dataset *dataset;

        shards_make(&set, formats[i], counts);
        dataset = shards_open(&set);
        must(sheaf_dataset_read(dataset, all, COUNT_OF(all), NULL, &samples, &kept, &error));
        for (size_t n = 0; n < COUNT_OF(all); n++)
            assert_int_equal(shards_number(&samples[n]), all[n]);
        sheaf_kept_free(kept);
        sheaf_dataset_free(dataset);
        shards_remove(&set);
    }
}

/* ---- Memory --------------------------------------------------------------------------------- */

static void memory_is_a_ceiling(void **state)
{
    const struct sheaf_sample *samples;
    struct sheaf_read_options o;
    struct sheaf_dataset *dataset;
    struct sheaf_kept *kept;
    struct tree tree;
    uint64_t numbers[SAMPLES];

    (void)state;
    tree_make(&tree);
    pack(tree_path(&tree, "set"), SHEAF_WEBDATASET, SHEAF_CODEC_NONE);
    dataset = open_set(tree_path(&tree, "set"));
    for (size_t i = 0; i < SAMPLES; i++)
        numbers[i] = i * 7 % SAMPLES;
    sheaf_read_options_init(&o, sizeof(o));
    o.memory_bytes = 100000;
    assert_int_equal(sheaf_dataset_read(dataset, numbers, SAMPLES, &o, &samples, &kept, &error),
                     SHEAF_ERR_LIMIT);
    assert_non_null(strstr(error.message, "ask for fewer at once"));
    assert_int_equal(error.reason, SHEAF_REASON_MEMORY);
    read_numbers(dataset, numbers, 5, 100000);
    /* The memory has room for the samples and for little more, so groups of reads wait for each
     * other. */
    read_numbers(dataset, numbers, SAMPLES, 2500000);
    sheaf_dataset_free(dataset);
    tree_remove(&tree);
}

static void what_is_not_there_is_said(void **state)
{
    const uint64_t numbers[] = { 3, SAMPLES };
    const struct sheaf_sample *samples;
    struct sheaf_dataset *dataset;
    struct sheaf_kept *kept;
    struct tree tree;

    (void)state;
    tree_make(&tree);
    pack(tree_path(&tree, "set"), SHEAF_TFRECORD, SHEAF_CODEC_NONE);
    dataset = open_set(tree_path(&tree, "set"));
    assert_int_equal(sheaf_dataset_read(dataset, numbers, 2, NULL, &samples, &kept, &error),
                     SHEAF_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "there is no sample 300"));
    assert_int_equal(sheaf_dataset_read(dataset, numbers, 0, NULL, &samples, &kept, &error),
                     SHEAF_ERR_ARGUMENT);
    sheaf_dataset_free(dataset);
    tree_remove(&tree);
}

/* ---- Damage --------------------------------------------------------------------------------- */

static void damage_is_found(void **state)
{
    const struct sheaf_sample *samples;
    const uint64_t bad = 1, good = 2;
    struct sheaf_dataset *dataset;
    struct sheaf_kept *kept;
    struct tree tree;
    const char *path;
    uint8_t *data;
    size_t size;

    (void)state;
    tree_make(&tree);
    pack(tree_path(&tree, "set"), SHEAF_WEBDATASET, SHEAF_CODEC_NONE);
    path = tree_path(&tree, "set/shard-000000.tar");
    data = file_read(path, &size);
    for (size_t i = 0; i + 14 < size; i++)
        if (memcmp(data + i, "sample 000001", 13) == 0)
            data[i + 14] ^= 1;
    file_write(path, data, size);
    free(data);
    dataset = open_set(tree_path(&tree, "set"));
    assert_int_equal(sheaf_dataset_read(dataset, &bad, 1, NULL, &samples, &kept, &error),
                     SHEAF_ERR_CORRUPT);
    assert_non_null(strstr(error.message, "record 1:"));
    read_numbers(dataset, &good, 1, 0);         /* its neighbour is not touched */
    unlink(tree_path(&tree, "set/shard-000001.tar"));
    {
        const uint64_t gone[] = { good, SAMPLES - 1, 100 };

        assert_true(sheaf_dataset_read(dataset, gone, 3, NULL, &samples, &kept, &error) < 0);
    }
    read_numbers(dataset, &good, 1, 0);
    sheaf_dataset_free(dataset);
    tree_remove(&tree);
}

/* ---- Threads and processes ------------------------------------------------------------------ */

struct thread_work {
    const struct sheaf_dataset *dataset;
    uint64_t seed;
    bool failed;
};

static void *read_in_thread(void *argument)
{
    struct thread_work *work = argument;
    struct rng rng;

    rng_seed(&rng, RNG_LANE, work->seed, 0, 0);
    for (int round = 0; round < 30 && !work->failed; round++) {
        uint64_t numbers[32];
        const struct sheaf_sample *samples;
        struct sheaf_kept *kept;
        const size_t count = 1 + rng_below(&rng, COUNT_OF(numbers));

        for (size_t i = 0; i < count; i++)
            numbers[i] = rng_below(&rng, SAMPLES);
        if (sheaf_dataset_read(work->dataset, numbers, count, NULL, &samples, &kept,
                               NULL) != SHEAF_OK) {
            work->failed = true;
            break;
        }
        for (size_t i = 0; i < count; i++)
            work->failed = work->failed || samples[i].number != numbers[i];
        sheaf_kept_free(kept);
    }
    return NULL;
}

static void threads_share_a_data_set(void **state)
{
    struct thread_work work[6];
    pthread_t threads[COUNT_OF(work)];
    struct sheaf_dataset *dataset;
    struct tree tree;

    (void)state;
    tree_make(&tree);
    pack(tree_path(&tree, "set"), SHEAF_RECORDIO, SHEAF_CODEC_LZ4);
    dataset = open_set(tree_path(&tree, "set"));
    for (size_t i = 0; i < COUNT_OF(work); i++) {
        work[i] = (struct thread_work){ dataset, i, false };
        assert_int_equal(pthread_create(&threads[i], NULL, read_in_thread, &work[i]), 0);
    }
    for (size_t i = 0; i < COUNT_OF(work); i++) {
        pthread_join(threads[i], NULL);
        assert_false(work[i].failed);
    }
    sheaf_dataset_free(dataset);
    tree_remove(&tree);
}

static void a_child_of_a_fork_reads_too(void **state)
{
    const uint64_t numbers[] = { 5, 250, 6 };
    struct sheaf_dataset *dataset;
    struct tree tree;
    int status;
    pid_t child;

    (void)state;
#ifdef __SANITIZE_THREAD__
    skip();             /* the sanitizer ends a forked child that starts a thread */
#endif
    if (getenv("UNDER_QEMU") != NULL)
        skip();         /* qemu ends such a child, in rcu_read_unlock */
    tree_make(&tree);
    pack(tree_path(&tree, "set"), SHEAF_WEBDATASET, SHEAF_CODEC_NONE);
    dataset = open_set(tree_path(&tree, "set"));
    read_numbers(dataset, numbers, 3, 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const struct sheaf_sample *samples;
        struct sheaf_kept *kept;

        _exit(sheaf_dataset_read(dataset, numbers, 3, NULL, &samples, &kept, NULL) == SHEAF_OK &&
              samples[1].number == 250 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    read_numbers(dataset, numbers, 3, 0);
    sheaf_dataset_free(dataset);
    tree_remove(&tree);
}

/* ---- From afar ------------------------------------------------------------------------------ */

static void neighbours_come_in_one_request(void **state)
{
    struct fake_s3 s3;
    struct sheaf_dataset *dataset;
    struct rng rng;
    uint64_t numbers[40];
    unsigned before;

    (void)state;
    random_start(&rng);
    for (size_t c = 0; c < COUNT_OF(codecs); c++) {
        fake_s3_start(&s3);
        fake_s3_use(&s3, 30000);
        pack("s3://bucket/set", SHEAF_WEBDATASET, codecs[c]);
        dataset = open_set("s3://bucket/set");
        check_set(dataset, SAMPLES, &rng);
        for (size_t i = 0; i < COUNT_OF(numbers); i++)
            numbers[i] = 2 * i;         /* the gaps between the samples are read as well */
        before = fake_server_count(s3.server, "GET", ".tar");
        read_numbers(dataset, numbers, COUNT_OF(numbers), 0);
        assert_true(fake_server_count(s3.server, "GET", ".tar") - before <= 4);
        sheaf_dataset_free(dataset);
        fake_s3_stop(&s3);
    }
}

/* One request brings a codec block, even if many records of it are wanted that are not next to each
 * other. */
static void a_block_comes_in_one_request(void **state)
{
    struct fake_s3 s3;
    struct sheaf_dataset *dataset;
    uint64_t numbers[700];
    unsigned before;

    (void)state;
    fake_s3_start(&s3);
    fake_s3_use(&s3, 30000);
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        numbers[i] = 2 * i;
    pack_samples("s3://bucket/set", SHEAF_TFRECORD, SHEAF_CODEC_ZSTD, 2 * COUNT_OF(numbers),
                 (uint64_t)64 << 20);
    dataset = open_set("s3://bucket/set");
    before = fake_server_count(s3.server, "GET", ".tfrecord");
    read_numbers(dataset, numbers, COUNT_OF(numbers), 0);
    assert_int_equal(fake_server_count(s3.server, "GET", ".tfrecord") - before, 1);
    sheaf_dataset_free(dataset);
    fake_s3_stop(&s3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_gets_its_sample),
        cmocka_unit_test(foreign_shards_are_read_by_number),
        cmocka_unit_test(memory_is_a_ceiling),
        cmocka_unit_test(what_is_not_there_is_said),
        cmocka_unit_test(damage_is_found),
        cmocka_unit_test(threads_share_a_data_set),
        cmocka_unit_test(a_child_of_a_fork_reads_too),
        cmocka_unit_test(neighbours_come_in_one_request),
        cmocka_unit_test(a_block_comes_in_one_request),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
