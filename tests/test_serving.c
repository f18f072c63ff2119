/* SPDX-License-Identifier: MIT
 *
 * Tests the thread that serves samples to the workers of a data loader (python/src/serving.h),
 * without Python. The workers are threads here, with the same sockets and the same shared memory,
 * so that sanitizers can check all of them. */
#include "python/src/held.h"
#include "python/src/serving.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "tests/common_random.h"
#include "tests/common_shards.h"

#define SAMPLES  400u
#define WORKERS  4u
#define BATCH    7u
#define KEPT     5u
#define MEMORY   ((size_t)8 << 20)

static const uint64_t counts[] = { 90, 1, 160, 149, 0 };

/* ---- A serving ------------------------------------------------------------------------------ */

struct fixture {
    struct shard_set set;
    struct sheaf_dataset *dataset;
    struct serving *serving;
    bool is_stream;
    char name[64];
    uint64_t order[3][SAMPLES];     /* for each epoch: the number of the sample at each ordinal */
};

static void die(const char *what)
{
    fprintf(stderr, "%s\n", what);
    abort();
}

/* A thread cannot fail a test of cmocka, so this macro ends the program. */
#define check(condition) do { if (!(condition)) \
    die("line " TEXT(__LINE__) ": " #condition); } while (0)
#define TEXT(x) TEXT_(x)
#define TEXT_(x) #x

static struct sheaf_reader_options options_of(void)
{
    struct sheaf_reader_options o;

    sheaf_reader_options_init(&o, sizeof(o));
    o.seed = 5;
    o.shuffle_buffer = 30;
    o.memory_bytes = MEMORY;
    o.threads = 2;
    return o;
}

/* Replaces the shards by a foreign tar.gz, which is a stream. */
static void compress_shards(struct shard_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        char path[sizeof(set->paths[i]) + 4];
        size_t size;
        uint8_t *data = file_read(set->paths[i], &size);
        gzFile file;

        snprintf(path, sizeof(path), "%s.gz", set->paths[i]);
        file = gzopen(path, "wb1");
        assert_non_null(file);
        assert_int_equal(gzwrite(file, data, (unsigned)size), (int)size);
        assert_int_equal(gzclose(file), Z_OK);
        free(data);
        unlink(set->paths[i]);
        memcpy(set->paths[i], path, sizeof(set->paths[i]));
    }
}

static void make(struct fixture *f, bool is_stream)
{
    memset(f, 0, sizeof(*f));
    f->is_stream = is_stream;
    shards_make(&f->set, &webdataset_ops, counts);
    if (is_stream)
        compress_shards(&f->set);
    f->dataset = shards_open(&f->set);
    for (uint64_t epoch = 0; epoch < COUNT_OF(f->order); epoch++) {
        struct sheaf_reader_options o = options_of();
        const struct sheaf_sample *sample;
        struct sheaf_reader *reader;

        o.epoch = epoch;
        reader = shards_reader(f->dataset, &o);
        for (size_t i = 0; i < SAMPLES; i++) {
            assert_int_equal(sheaf_reader_next(reader, &sample), SHEAF_OK);
            assert_int_equal(sample->ordinal, i);
            f->order[epoch][i] = shards_number(sample);
        }
        assert_int_equal(sheaf_reader_next(reader, &sample), SHEAF_END);
        sheaf_reader_free(reader);
    }
}

static void start(struct fixture *f, uint32_t ranks, uint64_t wait_seconds)
{
    static unsigned servings;
    struct sheaf_reader_options o = options_of();
    struct shared_arena *arena = arena_open(MEMORY / 4, MEMORY);

    assert_non_null(arena);
    assert_true(arena_serve(arena, &o));
    f->serving = serving_start(shards_reader(f->dataset, &o), 0, ranks, wait_seconds, arena);
    assert_non_null(f->serving);
    snprintf(f->name, sizeof(f->name), "sheaf-test-%d-%u", (int)getpid(), servings++);
    assert_true(serving_listen(f->serving, f->name));
}

static void unmake(struct fixture *f)
{
    sheaf_dataset_free(f->dataset);
    shards_remove(&f->set);
}

/* ---- A worker's side ------------------------------------------------------------------------ */

struct connection {
    int descriptor;
    char *memory;
    size_t bytes;
};

static void receive_all(int descriptor, void *data, size_t size)
{
    check(size == 0 || recv(descriptor, data, size, MSG_WAITALL) == (ssize_t)size);
}

/* Joins the serving. Returns false if the serving has ended. */
static bool try_join(const struct fixture *f, uint32_t rank, uint32_t workers,
                     struct connection *c)
{
    const struct serving_hello hello = { rank, workers };
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    union { char bytes[CMSG_SPACE(sizeof(int))]; struct cmsghdr align; } control;
    struct serving_welcome welcome;
    struct iovec io = { &welcome, sizeof(welcome) };
    struct msghdr message = { .msg_iov = &io, .msg_iovlen = 1, .msg_control = control.bytes,
                              .msg_controllen = sizeof(control.bytes) };
    int arena;

    memcpy(address.sun_path + 1, f->name, strlen(f->name));
    c->descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(c->descriptor, (struct sockaddr *)&address,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(f->name))) != 0 ||
        send(c->descriptor, &hello, sizeof(hello), MSG_NOSIGNAL) != (ssize_t)sizeof(hello) ||
        recvmsg(c->descriptor, &message, 0) != (ssize_t)sizeof(welcome)) {
        close(c->descriptor);
        return false;
    }
    memcpy(&arena, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(arena));
    c->bytes = welcome.bytes;
    c->memory = mmap(NULL, c->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, arena, 0);
    check(c->memory != MAP_FAILED);
    close(arena);
    return true;
}

static void part(struct connection *c)
{
    munmap(c->memory, c->bytes);
    close(c->descriptor);
}

struct given {
    struct serving_answer answer;
    char *message;
};

/* Asks for samples. Returns false if the serving has ended. */
static bool ask(const struct connection *c, uint64_t pass, uint64_t first, uint64_t count,
                struct given *given)
{
    const struct serving_ask request = { pass, first, count };

    if (send(c->descriptor, &request, sizeof(request), MSG_NOSIGNAL) != (ssize_t)sizeof(request) ||
        recv(c->descriptor, &given->answer, sizeof(given->answer), MSG_WAITALL) !=
            (ssize_t)sizeof(given->answer))
        return false;
    given->message = malloc(given->answer.bytes + 1);
    check(given->message != NULL);
    receive_all(c->descriptor, given->message, given->answer.bytes);
    return true;
}

static uint64_t number_at(const char *content)
{
    char start[21] = "";
    uint64_t number;

    memcpy(start, content, sizeof(start) - 1);
    check(sscanf(start + 3, "sample %" SCNu64, &number) == 1);
    return number;
}

/* Checks that an answer has the expected samples, byte for byte. */
static void look_at(const struct given *given, const char *memory, const uint64_t *expected,
                    size_t count)
{
    const struct packed_head *head = (const struct packed_head *)(const void *)given->message;
    const struct packed_sample *samples = (const struct packed_sample *)(const void *)(head + 1);
    const struct packed_field *fields;
    const char *base = given->answer.word == SERVING_NO_WORD ? given->message : memory;

    if (given->answer.code != SHEAF_OK) {
        fprintf(stderr, "%.*s\n", (int)given->answer.bytes, given->message);
        die("an answer is an error");
    }
    check(given->answer.samples == count && head->samples == count && head->fields == count);
    fields = (const struct packed_field *)(const void *)(samples + count);
    for (size_t i = 0; i < count; i++) {
        size_t size;
        const char *text = shards_text(expected[i], &size);

        check(number_at(base + fields[i].data) == expected[i]);
        check(fields[i].size == size && memcmp(base + fields[i].data, text, size) == 0);
    }
}

static void end(struct given *given, char *memory)
{
    if (given->answer.word != SERVING_NO_WORD)
        __atomic_store_n((uint32_t *)(void *)(memory + given->answer.word * (size_t)64),
                         SERVING_WORD_FREE, __ATOMIC_RELEASE);
    free(given->message);
}

/* ---- Whole passes --------------------------------------------------------------------------- */

struct worker {
    struct fixture *f;
    uint32_t number, workers;
    uint64_t pass, epoch;
    struct rng rng;
    pthread_t thread;
    /* leaves in the middle of a pass without returning its samples */
    bool leaves;
    /* a rank that shares the thread, instead of a worker of one rank */
    bool is_rank;
};

/* Asks for samples after the last one. In this way a rank finds the end of a stream. */
static void ask_behind_the_end(const struct worker *w, struct connection *c)
{
    struct given given;

    check(ask(c, w->pass, SAMPLES + w->number * BATCH, BATCH, &given));
    check(given.answer.code == SHEAF_OK && given.answer.samples == 0);
    check(given.answer.real == SAMPLES);
    end(&given, c->memory);
}

/* Asks for every n-th batch. Keeps some batches for a while, and checks them once more at the
 * end. */
static void *work(void *argument)
{
    struct worker *w = argument;
    const uint64_t *order = w->f->order[w->epoch];
    struct { struct given given; uint64_t first; } kept[KEPT];
    struct connection c;
    size_t count = 0;

    check(try_join(w->f, w->is_rank ? w->number : 0, w->is_rank ? 1 : w->workers, &c));
    for (uint64_t first = w->number * BATCH; first < SAMPLES; first += w->workers * BATCH) {
        const size_t batch = (size_t)MIN(SAMPLES - first, BATCH);
        struct given given;

        check(ask(&c, w->pass, first, batch, &given));
        look_at(&given, c.memory, order + first, batch);
        if (count == KEPT) {
            const size_t i = rng_below(&w->rng, KEPT);

            look_at(&kept[i].given, c.memory, order + kept[i].first,
                    (size_t)MIN(SAMPLES - kept[i].first, BATCH));
            end(&kept[i].given, c.memory);
            kept[i] = kept[--count];
        }
        kept[count].given = given;
        kept[count++].first = first;
        if (w->leaves && first > SAMPLES / 2)
            break;
    }
    if (w->is_rank && !w->leaves && w->f->is_stream)
        ask_behind_the_end(w, &c);
    while (count-- > 0) {
        if (!w->leaves)
            end(&kept[count].given, c.memory);
        else
            free(kept[count].given.message);
    }
    part(&c);
    return NULL;
}

static void run_pass(struct fixture *f, uint64_t pass, uint64_t epoch, struct rng *rng, bool leaves)
{
    struct worker workers[WORKERS];

    serving_begin(f->serving, &(struct serving_pass){ pass, epoch, 0 });
    for (uint32_t i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){ .f = f, .number = i, .workers = WORKERS, .pass = pass,
                                      .epoch = epoch, .leaves = leaves };
        rng_seed(&workers[i].rng, RNG_FEED, rng_next(rng), 0, 0);
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (uint32_t i = 0; i < WORKERS; i++)
        pthread_join(workers[i].thread, NULL);
}

static void test_workers_share_a_pass(void **state)
{
    struct rng rng;

    (void)state;
    random_start(&rng);
    for (int is_stream = 0; is_stream < 2; is_stream++) {
        struct sheaf_reader_stats stats;
        struct fixture f;
        bool failed;

        make(&f, is_stream != 0);
        start(&f, 1, 600);
        for (uint64_t pass = 1; pass <= 3; pass++)
            run_pass(&f, pass, (pass * 2) % 3, &rng, false);
        run_pass(&f, 4, 1, &rng, true);     /* the memory of workers that leave becomes free */
        run_pass(&f, 5, 1, &rng, false);
        serving_get_stats(f.serving, &stats, &failed);
        assert_false(failed);
        assert_true(stats.memory_peak_bytes <= MEMORY);
        assert_int_equal(serving_skipped(f.serving, 5, SAMPLES), 0);
        serving_stop(f.serving);
        unmake(&f);
    }
}

/* ---- Requests of the program itself --------------------------------------------------------- */

static void get(struct fixture *f, uint64_t pass, uint64_t first, uint64_t count,
                struct serving_reply *given)
{
    const struct serving_ask request = { pass, first, count };

    while (!serving_post(f->serving, &request))
        ;
    while (!serving_collect(f->serving, given))
        ;
}

/* The samples are those, to the last byte. */
static void look_at_own(const struct serving_reply *given, const uint64_t *expected, size_t count)
{
    check(given->answer.code == SHEAF_OK && given->answer.word == SERVING_NO_WORD);
    check(given->answer.samples == count && given->samples->count == count);
    for (size_t i = 0; i < count; i++) {
        const struct sheaf_field *field = given->samples->samples[i].fields;
        size_t size;
        const char *text = shards_text(expected[i], &size);

        check(field->size == size && memcmp(field->data, text, size) == 0);
    }
}

static void test_the_program_asks_without_a_socket(void **state)
{
    (void)state;
    for (int is_stream = 0; is_stream < 2; is_stream++) {
        const uint64_t firsts[] = { 0, 13, SAMPLES - 1 };
        struct fixture f;
        struct serving_reply given;

        make(&f, is_stream != 0);
        start(&f, 1, 600);
        for (uint64_t pass = 1; pass <= COUNT_OF(firsts); pass++) {
            const uint64_t from = firsts[pass - 1];

            serving_begin(f.serving, &(struct serving_pass){ pass, pass - 1, from });
            for (uint64_t first = from; first < SAMPLES; first += BATCH) {
                const size_t count = (size_t)MIN(SAMPLES - first, BATCH);

                get(&f, pass, first, is_stream ? BATCH : count, &given);
                look_at_own(&given, &f.order[pass - 1][first], count);
                held_reply_free(&given);
            }
            get(&f, pass, SAMPLES, BATCH, &given);          /* after the end of the stream */
            assert_int_equal(given.answer.code, is_stream ? SHEAF_OK : SHEAF_ERR_ARGUMENT);
            assert_int_equal(given.answer.samples, 0);
            assert_int_equal(given.answer.real, SAMPLES);
            held_reply_free(&given);
        }
        serving_stop(f.serving);
        unmake(&f);
    }
}

/* Asks for the same batch again, like a worker that has lost its connection. */
static void test_what_was_given_may_be_asked_for_again(void **state)
{
    struct rng rng;

    (void)state;
    random_start(&rng);
    for (int is_stream = 0; is_stream < 2; is_stream++) {
        struct fixture f;
        struct serving_reply given;

        make(&f, is_stream != 0);
        start(&f, 1, 600);
        serving_begin(f.serving, &(struct serving_pass){ 1, 0, 0 });
        for (uint64_t first = 0, next = 0; next < SAMPLES; first = rng_below(&rng, next)) {
            const uint64_t wanted = 1 + rng_below(&rng, 3 * BATCH);
            const size_t count = (size_t)MIN(wanted, SAMPLES - first);

            get(&f, 1, first, count, &given);
            look_at_own(&given, &f.order[0][first], count);
            held_reply_free(&given);
            next = next < first + count ? first + count : next;
        }
        serving_stop(f.serving);
        unmake(&f);
    }
}

static void test_what_was_asked_for_may_be_left(void **state)
{
    struct fixture f;
    struct serving_reply given;

    (void)state;
    make(&f, false);
    start(&f, 1, 600);
    serving_begin(f.serving, &(struct serving_pass){ 1, 0, 0 });
    for (uint64_t first = 0; first + BATCH < SAMPLES; first += BATCH) {
        const struct serving_ask request = { 1, first, BATCH };

        while (!serving_post(f.serving, &request))
            ;
        serving_leave(f.serving);
        get(&f, 1, first, BATCH, &given);
        look_at_own(&given, &f.order[0][first], BATCH);
        held_reply_free(&given);
    }
    assert_true(serving_post(f.serving, &(struct serving_ask){ 1, 0, BATCH }));
    serving_stop(f.serving);                /* nobody took this request */
    unmake(&f);
}

/* ---- The end -------------------------------------------------------------------------------- */

static void *wait_in_vain(void *argument)
{
    const struct worker *w = argument;
    struct connection c;
    struct given given;

    if (!try_join(w->f, 0, w->workers, &c))
        return NULL;
    /* asks until the serving ends */
    while (ask(&c, 1, w->number * BATCH, BATCH, &given))
        end(&given, c.memory);
    part(&c);
    return NULL;
}

static void test_it_ends_while_workers_ask(void **state)
{
    (void)state;
    for (int round = 0; round < 5; round++) {
        struct worker workers[WORKERS];
        struct fixture f;

        make(&f, false);
        start(&f, 1, 600);
        serving_begin(f.serving, &(struct serving_pass){ 1, 0, 0 });
        for (uint32_t i = 0; i < WORKERS; i++) {
            struct serving_reply given;

            workers[i] = (struct worker){ .f = &f, .number = i, .workers = WORKERS };
            assert_int_equal(pthread_create(&workers[i].thread, NULL, wait_in_vain, &workers[i]),
                             0);
            get(&f, 1, i, 1, &given);
            held_reply_free(&given);
        }
        usleep(1000u * (unsigned)round);
        serving_stop(f.serving);
        for (uint32_t i = 0; i < WORKERS; i++)
            pthread_join(workers[i].thread, NULL);
        unmake(&f);
    }
}

/* ---- Ranks that share it -------------------------------------------------------------------- */

static uint64_t shared_pass(uint64_t epoch)
{
    return (epoch + 1) << SERVING_PLACE_BITS;
}

/* Makes three passes, each over another connection, as workers do. */
static void *work_on(void *argument)
{
    struct worker *w = argument;
    const bool leaves = w->leaves;

    for (w->epoch = 0; w->epoch < 3; w->epoch++) {
        w->pass = shared_pass(w->epoch);
        w->leaves = leaves && w->epoch == 1;
        work(w);
    }
    return NULL;
}

/* Some ranks come to a pass before it begins, or while others are still in the previous one. One
 * rank leaves a pass early. */
static void test_ranks_of_a_host_share_it(void **state)
{
    struct rng rng;

    (void)state;
    random_start(&rng);
    for (uint32_t round = 0; round < 2 * (WORKERS + 1); round++) {
        struct worker workers[WORKERS];
        struct fixture f;
        uint32_t missing;

        make(&f, round % 2 != 0);
        start(&f, WORKERS, 600);
        for (uint32_t n = 0; n < WORKERS; n++) {
            workers[n] = (struct worker){ .f = &f, .number = n, .workers = WORKERS,
                                          .is_rank = true, .leaves = n == round / 2 };
            rng_seed(&workers[n].rng, RNG_FEED, rng_next(&rng), 0, 0);
            assert_int_equal(pthread_create(&workers[n].thread, NULL, work_on, &workers[n]), 0);
        }
        for (uint64_t epoch = 0; epoch < 3; epoch++) {
            usleep(500);
            serving_begin(f.serving, &(struct serving_pass){ shared_pass(epoch), epoch, 0 });
        }
        for (uint32_t i = 0; i < WORKERS; i++)
            pthread_join(workers[i].thread, NULL);
        while (!serving_is_over(f.serving, shared_pass(2), &missing))
            ;
        serving_stop(f.serving);
        unmake(&f);
    }
}

static void check_refused(struct connection *c, uint64_t pass, uint64_t first, const char *text)
{
    struct given given;

    assert_true(ask(c, pass, first, BATCH, &given));
    assert_int_equal(given.answer.code, SHEAF_ERR_STATE);
    given.message[given.answer.bytes] = '\0';
    assert_non_null(strstr(given.message, text));
    end(&given, c->memory);
}

/* Tests ranks that are not at the same place, and a first rank that does not come. */
static void test_ranks_that_do_not_meet(void **state)
{
    struct connection c;
    struct fixture f;

    (void)state;
    make(&f, true);
    start(&f, 2, 0);
    assert_true(try_join(&f, 1, 1, &c));
    check_refused(&c, shared_pass(0), BATCH, "1 of the 2 ranks");   /* nobody begins the pass */
    serving_begin(f.serving, &(struct serving_pass){ shared_pass(0) | 5, 0, 0 });
    check_refused(&c, shared_pass(0) | 4, BATCH, "at the same place");
    check_refused(&c, shared_pass(0) | 6, BATCH, "at the same place");
    part(&c);
    serving_stop(f.serving);
    unmake(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_workers_share_a_pass),
        cmocka_unit_test(test_the_program_asks_without_a_socket),
        cmocka_unit_test(test_what_was_given_may_be_asked_for_again),
        cmocka_unit_test(test_what_was_asked_for_may_be_left),
        cmocka_unit_test(test_it_ends_while_workers_ask),
        cmocka_unit_test(test_ranks_of_a_host_share_it),
        cmocka_unit_test(test_ranks_that_do_not_meet),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
