/* SPDX-License-Identifier: MIT
 *
 * Tests readers in several threads and processes, which share a data set and a cache. Two threads
 * read, two free the samples that were kept (even after their reader was freed), and one
 * interrupts. Each sample must come once per epoch with its own bytes. With the thread sanitizer
 * (make tsan), the test also shows data races. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "base/bytes.h"
#include "tests/common_fake_s3.h"
#include "tests/common_shards.h"

#define READERS  2u
#define FREERS   2u
#define EPOCHS   2u
#define WAITING  32u            /* largest number of batches that wait to be freed */
#define STALL_MS 20000          /* so long that no request stalls on a slow machine */

static const uint64_t counts[] = { 30, 1, 42, 13, 60, 27, 0 };
#define SAMPLES (30 + 1 + 42 + 13 + 60 + 27)

/* ---- Threads that share readers ------------------------------------------------------------- */

struct batch {
    struct sheaf_kept *kept;
    const struct sheaf_sample *samples;
    size_t count;
};

struct crowd {
    struct sheaf_reader *readers[READERS];
    atomic_bool over;           /* whether reading has ended */
    pthread_mutex_t lock;
    struct {
        struct batch waiting[WAITING];
        size_t count;
    } locked;
};

struct seat {
    struct crowd *crowd;
    struct sheaf_reader *reader;
};

/* Ends the program, because cmocka cannot end a test on another thread. */
static void die(const char *what, const struct sheaf_reader *reader)
{
    fprintf(stderr, "%s: %s\n", what, reader == NULL ? "" : sheaf_reader_error(reader)->message);
    abort();
}

static bool give(struct crowd *c, const struct batch *batch)
{
    bool given;

    pthread_mutex_lock(&c->lock);
    given = c->locked.count < WAITING;
    if (given)
        c->locked.waiting[c->locked.count++] = *batch;
    pthread_mutex_unlock(&c->lock);
    return given;
}

static bool take(struct crowd *c, struct batch *batch)
{
    bool taken;

    pthread_mutex_lock(&c->lock);
    taken = c->locked.count != 0;
    if (taken)
        *batch = c->locked.waiting[--c->locked.count];
    pthread_mutex_unlock(&c->lock);
    return taken;
}

/* Checks the samples of a kept batch, and frees the batch. */
static void end_batch(const struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        (void)shards_number(&batch->samples[i]);
    sheaf_kept_free(batch->kept);
}

static void *run_freer(void *argument)
{
    struct crowd *c = argument;
    struct batch batch;

    for (;;) {
        const bool over = atomic_load(&c->over);

        if (take(c, &batch))
            end_batch(&batch);
        else if (over)
            return NULL;
        else
            usleep(200);
    }
}

static void *run_interrupter(void *argument)
{
    struct crowd *c = argument;

    while (!atomic_load(&c->over)) {
        for (size_t i = 0; i < READERS; i++)
            sheaf_reader_interrupt(c->readers[i]);
        usleep(2000);
    }
    return NULL;
}

/* Uses a batch. Some batches are kept, and freed by another thread or by this one. The others are
 * only read. */
static void use_batch(struct crowd *c, struct sheaf_reader *reader, struct batch *batch,
                      bool seen[SAMPLES], unsigned turn)
{
    for (size_t i = 0; i < batch->count; i++) {
        const uint64_t number = shards_number(&batch->samples[i]);

        if (number >= SAMPLES || seen[number])
            die("a sample came twice", reader);
        seen[number] = true;
    }
    if (turn % 3 == 0)
        return;
    if (sheaf_reader_keep(reader, &batch->samples, &batch->count, &batch->kept) != SHEAF_OK)
        die("keep", reader);
    if (!give(c, batch))
        end_batch(batch);
}

static void read_epoch(struct seat *seat)
{
    bool seen[SAMPLES] = { false };
    struct sheaf_reader *reader = seat->reader;
    struct sheaf_reader_stats stats;
    char text[SHEAF_POSITION_SIZE];

    for (unsigned turn = 0;; turn++) {
        struct batch batch = { 0 };
        const int code = sheaf_reader_next_batch(reader, 1 + turn % 9, &batch.samples,
                                                 &batch.count);

        if (code == SHEAF_END)
            break;
        if (code == SHEAF_OK)
            use_batch(seat->crowd, reader, &batch, seen, turn);
        else if (code != SHEAF_ERR_INTERRUPTED)
            die("next", reader);
        if (sheaf_reader_position(reader, text) != SHEAF_OK)
            die("position", reader);
        sheaf_reader_get_stats(reader, &stats, sizeof(stats));
    }
    for (size_t i = 0; i < SAMPLES; i++)
        if (!seen[i])
            die("a sample is missing", reader);
}

static void *run_reader(void *argument)
{
    struct seat *seat = argument;

    for (unsigned epoch = 0; epoch < EPOCHS; epoch++) {
        int code = SHEAF_OK;

        if (epoch != 0)
            do
                code = sheaf_reader_begin_epoch(seat->reader, epoch);
            while (code == SHEAF_ERR_INTERRUPTED);
        if (code != SHEAF_OK)
            die("epoch", seat->reader);
        read_epoch(seat);
    }
    return NULL;
}

static void start(pthread_t *thread, void *(*run)(void *), void *argument)
{
    if (pthread_create(thread, NULL, run, argument) != 0)
        die("pthread_create", NULL);
}

/* Lets all threads read a data set to its end twice, with a cache, or without one if `cache` is
 * NULL. */
static void read_together(const char *source, const char *cache)
{
    struct crowd c = { .lock = PTHREAD_MUTEX_INITIALIZER };
    struct seat seats[READERS];
    pthread_t readers[READERS], freers[FREERS], interrupter;
    struct sheaf_reader_options o;
    struct sheaf_dataset *dataset;
    struct sheaf_error error = { 0 };

    if (sheaf_dataset_open(&source, 1, &dataset, &error) != SHEAF_OK)
        fail_msg("%s", error.message);
    sheaf_reader_options_init(&o, sizeof(o));
    o.threads = 3;
    o.cache_directory = cache;
    for (size_t i = 0; i < READERS; i++) {
        o.seed = i;
        o.lanes = i == 0 ? 1 : 3;
        o.shuffle_buffer = i == 0 ? 20 : 1;
        c.readers[i] = shards_reader(dataset, &o);
        seats[i] = (struct seat){ &c, c.readers[i] };
    }
    for (size_t i = 0; i < FREERS; i++)
        start(&freers[i], run_freer, &c);
    start(&interrupter, run_interrupter, &c);
    for (size_t i = 0; i < READERS; i++)
        start(&readers[i], run_reader, &seats[i]);
    for (size_t i = 0; i < READERS; i++)
        pthread_join(readers[i], NULL);
    atomic_store(&c.over, true);
    pthread_join(interrupter, NULL);
    for (size_t i = 0; i < READERS; i++)
        sheaf_reader_free(c.readers[i]);
    sheaf_dataset_free(dataset);
    for (size_t i = 0; i < FREERS; i++)
        pthread_join(freers[i], NULL);
    pthread_mutex_destroy(&c.lock);
}

/* ---- Places --------------------------------------------------------------------------------- */

static void local_files(void **state)
{
    static const struct format_ops *const containers[] = { &tfrecord_ops, &recordio_ops,
                                                           &webdataset_ops };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(containers); i++) {
        struct shard_set set;

        shards_make(&set, containers[i], counts);
        read_together(set.directory, NULL);
        shards_remove(&set);
    }
}

/* Compresses the shards by gzip, so that they are streams. */
static void local_streams(void **state)
{
    struct shard_set set;

    (void)state;
    shards_make(&set, &webdataset_ops, counts);
    for (size_t i = 0; i < set.count; i++) {
        size_t size;
        uint8_t *data = file_read(set.paths[i], &size);
        gzFile file;

        unlink(set.paths[i]);
        strncat(set.paths[i], ".gz", sizeof(set.paths[i]) - strlen(set.paths[i]) - 1);
        file = gzopen(set.paths[i], "wb1");
        assert_non_null(file);
        assert_int_equal(gzwrite(file, data, (unsigned)size), size);
        assert_int_equal(gzclose(file), Z_OK);
        free(data);
    }
    read_together(set.directory, NULL);
    shards_remove(&set);
}

/* The shards on a server, and a directory for the cache. */
struct remote {
    struct fake_s3 s3;
    char cache[32], s3_source[64], http_source[128];
};

static void remote_start(struct remote *r)
{
    struct shard_set set;

    fake_s3_start(&r->s3);
    fake_s3_set(&r->s3, r->s3.anonymous = true);
    fake_s3_use(&r->s3, STALL_MS);
    shards_make(&set, &tfrecord_ops, counts);
    for (size_t i = 0; i < set.count; i++) {
        size_t size;
        uint8_t *data = file_read(set.paths[i], &size);
        char path[64];

        snprintf(path, sizeof(path), "/bucket/set/s-%03zu.tfrecord", i);
        fake_s3_put(&r->s3, path, data, size);
        free(data);
    }
    snprintf(r->s3_source, sizeof(r->s3_source), "s3://bucket/set/");
    snprintf(r->http_source, sizeof(r->http_source), "%s/bucket/set/s-{000..%03zu}.tfrecord",
             fake_s3_endpoint(&r->s3), set.count - 1);
    shards_remove(&set);
    snprintf(r->cache, sizeof(r->cache), "/tmp/sheaf-test-XXXXXX");
    assert_non_null(mkdtemp(r->cache));
}

static void remote_stop(struct remote *r)
{
    char command[64];

    fake_s3_stop(&r->s3);
    snprintf(command, sizeof(command), "rm -r %s", r->cache);
    assert_int_equal(system(command), 0);
}

static void servers(void **state)
{
    struct remote r;

    (void)state;
    remote_start(&r);
    read_together(r.s3_source, NULL);
    read_together(r.http_source, NULL);
    remote_stop(&r);
}

/* Starts this program again, to read one source through a cache. */
static pid_t start_process(const char *source, const char *cache)
{
    const char *words[] = { "test_threads", source, cache, NULL };
    pid_t pid;

    assert_int_equal(posix_spawn(&pid, "/proc/self/exe", NULL, NULL,
                                 (char *const *)(uintptr_t)words, environ), 0);
    return pid;
}

static void a_cache_of_threads_and_processes(void **state)
{
    struct remote r;
    pid_t pids[2];
    int status;

    (void)state;
    if (getenv("UNDER_QEMU") != NULL)
        skip();         /* under qemu, this program cannot start itself */
    remote_start(&r);
    pids[0] = start_process(r.s3_source, r.cache);
    pids[1] = start_process(r.http_source, r.cache);
    read_together(r.s3_source, r.cache);
    read_together(r.http_source, r.cache);
    for (size_t i = 0; i < COUNT_OF(pids); i++) {
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    read_together(r.s3_source, r.cache);        /* everything is in the cache */
    remote_stop(&r);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest local[] = {
        cmocka_unit_test(local_files),
        cmocka_unit_test(local_streams),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(local_files),          /* samples are read when they are drawn */
        cmocka_unit_test(servers),
        cmocka_unit_test(a_cache_of_threads_and_processes),
    };

    if (argc == 3) {
        shards_make_large(NULL);
        read_together(argv[1], argv[2]);
        return 0;
    }
    return cmocka_run_group_tests_name("small samples", local, NULL, NULL)
           + cmocka_run_group_tests_name("large samples", tests, shards_make_large, NULL);
}
