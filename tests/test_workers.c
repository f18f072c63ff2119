/* SPDX-License-Identifier: MIT
 *
 * Tests the thread pool. A job can be awaited before it is submitted, while it runs, and after it
 * has run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <unistd.h>

#include "base/watch.h"
#include "base/workers.h"

struct counted {
    struct job job;
    unsigned runs;
};

static void count(struct job *job)
{
    ((struct counted *)(void *)job)->runs++;
}

struct late {
    struct workers *workers;
    struct job *job;
};

static void *submit_late(void *argument)
{
    struct late *late = argument;

    usleep(20000);
    workers_submit(late->workers, late->job);
    return NULL;
}

/* Waits for a job that another thread submits later, as it happens while a read is running. */
static void test_awaited_before_it_is_submitted(void **state)
{
    struct workers *workers;
    struct counted c = { .job.run = count };
    struct late late = { .job = &c.job };
    struct sheaf_error error;
    pthread_t thread;

    (void)state;
    assert_int_equal(workers_open(&workers, 2, &error), SHEAF_OK);
    late.workers = workers;
    for (unsigned turn = 1; turn <= 5; turn++) {
        c.job = (struct job){ .run = count };
        assert_false(workers_wait_for(workers, &c.job, 1));
        assert_int_equal(pthread_create(&thread, NULL, submit_late, &late), 0);
        workers_wait(workers, &c.job);
        assert_int_equal(c.runs, turn);
        pthread_join(thread, NULL);
    }
    workers_close(workers);
}

/* Submits the same jobs again and again, and waits for them in another order. */
static void test_again(void **state)
{
    struct counted jobs[50] = { { .runs = 0 } };
    struct workers *workers;
    struct sheaf_error error;

    (void)state;
    assert_int_equal(workers_open(&workers, 3, &error), SHEAF_OK);
    for (unsigned turn = 1; turn <= 200; turn++) {
        for (size_t i = 0; i < 50; i++) {
            jobs[i].job.run = count;
            workers_submit(workers, &jobs[i].job);
        }
        for (size_t i = 50; i-- > 0;) {
            workers_wait(workers, &jobs[i].job);
            assert_int_equal(jobs[i].runs, turn);
        }
    }
    workers_close(workers);
}

struct ordered {
    struct job job;
    unsigned *finished;         /* number of jobs that have run */
    unsigned place;             /* that number when this job had run */
};

static void note_place(struct job *job)
{
    struct ordered *o = (struct ordered *)(void *)job;

    o->place = ++*o->finished;
}

/* A thread that helps runs the job that it waits for before the jobs that were submitted earlier,
 * whether the job is the first, one in the middle, or the last. The queue stays whole. */
static void test_helper_runs_its_job_first(void **state)
{
    struct watch never = { .interrupt = NULL };
    struct workers *workers;
    struct sheaf_error error;
    uint64_t waited = 0;

    (void)state;
    /* The pool has no threads, so only the caller runs jobs. */
    assert_int_equal(workers_open(&workers, 0, &error), SHEAF_OK);
    for (size_t wanted = 0; wanted < 5; wanted++) {
        struct ordered jobs[5], after;
        unsigned finished = 0;

        for (size_t i = 0; i < 5; i++) {
            jobs[i] = (struct ordered){ .job.run = note_place, .finished = &finished };
            workers_submit(workers, &jobs[i].job);
        }
        assert_true(workers_wait_or(workers, &jobs[wanted].job, true, &never, &waited));
        assert_int_equal(jobs[wanted].place, 1);
        assert_int_equal(finished, 1);
        after = (struct ordered){ .job.run = note_place, .finished = &finished };
        workers_submit(workers, &after.job);
        for (size_t i = 0; i < 5; i++)
            assert_true(workers_wait_or(workers, &jobs[i].job, true, &never, &waited));
        assert_true(workers_wait_or(workers, &after.job, true, &never, &waited));
        assert_int_equal(after.place, 6);
    }
    workers_close(workers);
}

static void test_too_many_threads(void **state)
{
    struct workers *workers = NULL;
    struct sheaf_error error;

    (void)state;
    assert_int_equal(workers_open(&workers, SHEAF_THREADS_MOST, &error), SHEAF_OK);
    workers_close(workers);
    workers = NULL;
    assert_int_equal(workers_open(&workers, SHEAF_THREADS_MOST + 1, &error), SHEAF_ERR_ARGUMENT);
    assert_string_equal(error.message, "threads is 1025, expected at most 1024");
    assert_null(workers);
}

/* A stack of 2^47 bytes is larger than the address space. */
static void test_thread_cannot_start(void **state)
{
    struct workers *workers = NULL;
    struct sheaf_error error;
    pthread_attr_t usual, huge;

    (void)state;
    assert_int_equal(pthread_getattr_default_np(&usual), 0);
    pthread_attr_init(&huge);
    assert_int_equal(pthread_attr_setstacksize(&huge, (size_t)1 << 47), 0);
    assert_int_equal(pthread_setattr_default_np(&huge), 0);
    assert_int_equal(workers_open(&workers, 3, &error), SHEAF_ERR_IO);
    assert_int_equal(pthread_setattr_default_np(&usual), 0);
    assert_string_equal(error.message,
                        "cannot start thread 1 of 3: Resource temporarily unavailable");
    assert_null(workers);
    pthread_attr_destroy(&huge);
    pthread_attr_destroy(&usual);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_awaited_before_it_is_submitted),
        cmocka_unit_test(test_again),
        cmocka_unit_test(test_helper_runs_its_job_first),
        cmocka_unit_test(test_too_many_threads),
        cmocka_unit_test(test_thread_cannot_start),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
