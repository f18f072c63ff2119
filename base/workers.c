/* SPDX-License-Identifier: MIT
 *
 * Implements the pool of threads of workers.h. The pool has one lock, a queue of jobs, a condition
 * variable for its threads, and another condition variable for threads that wait for a job. One
 * lock is enough: a job handles about a megabyte, so the lock is taken only a few thousand times a
 * second. */
#include "base/workers.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/flag.h"
#include "base/watch.h"

struct workers {
    pthread_mutex_t lock;
    pthread_cond_t work;        /* a job was queued, or the pool is closing */
    pthread_cond_t done;        /* a job is done */
    struct {
        struct job *first, **last;
        unsigned running;
        bool ending;
        unsigned cancelling;    /* threads that wait until no job is running */
    } locked;
    unsigned thread_count;
    pthread_t threads[];
};

unsigned workers_processors(void)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof(set), &set) != 0 || CPU_COUNT(&set) < 1)
        return 1;
    return (unsigned)CPU_COUNT(&set);
}

static struct job *pop_locked(struct workers *w)
{
    struct job *job = w->locked.first;

    w->locked.first = job->next;
    if (w->locked.first == NULL)
        w->locked.last = &w->locked.first;
    return job;
}

/* Moves a job to the front of the queue, so that the job runs next. Does nothing if the job is no
 * longer in the queue. */
static void move_to_front_locked(struct workers *w, struct job *job)
{
    struct job **at = &w->locked.first;

    while (*at != NULL && *at != job)
        at = &(*at)->next;
    if (*at == NULL || at == &w->locked.first)
        return;
    *at = job->next;
    if (job->next == NULL)
        w->locked.last = at;
    job->next = w->locked.first;
    w->locked.first = job;
}

/* Removes the first job from the queue and runs it. The caller must hold the lock. The lock is
 * released while the job runs. */
static void run_first_locked(struct workers *w)
{
    struct job *job = pop_locked(w);
    const bool detached = job->detached;

    job->state = JOB_RUNNING;
    w->locked.running++;
    pthread_mutex_unlock(&w->lock);
    job->run(job);
    pthread_mutex_lock(&w->lock);
    w->locked.running--;
    if (!detached)
        job->state = JOB_DONE;
    if ((!detached && job->awaited) || w->locked.cancelling)
        pthread_cond_broadcast(&w->done);
}

static void *work(void *argument)
{
    struct workers *w = argument;

    pthread_mutex_lock(&w->lock);
    for (;;) {
        while (w->locked.first == NULL && !w->locked.ending)
            pthread_cond_wait(&w->work, &w->lock);
        if (w->locked.first == NULL)
            break;
        run_first_locked(w);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

int workers_check(const char *option, unsigned threads, struct sheaf_error *err)
{
    return threads <= SHEAF_THREADS_MOST
           ? SHEAF_OK : err_set(err, SHEAF_ERR_ARGUMENT, "%s is %u, expected at most %u", option,
                                threads, SHEAF_THREADS_MOST);
}

int workers_open(struct workers **workers, unsigned threads, struct sheaf_error *err)
{
    int code = workers_check("threads", threads, err);
    struct workers *w;

    if (code != SHEAF_OK)
        return code;
    w = calloc(1, sizeof(*w) + threads * sizeof(w->threads[0]));
    if (w == NULL)
        return err_memory(err, sizeof(*w));
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->work, NULL);
    timed_cond_init(&w->done);
    w->locked.last = &w->locked.first;
    for (; w->thread_count < threads; w->thread_count++) {
        const int failed = pthread_create(&w->threads[w->thread_count], NULL, work, w);

        if (failed != 0) {
            code = err_errno(err, failed, "cannot start thread %u of %u", w->thread_count + 1,
                             threads);
            workers_close(w);
            return code;
        }
    }
    *workers = w;
    return SHEAF_OK;
}

void workers_submit(struct workers *w, struct job *job)
{
    pthread_mutex_lock(&w->lock);
    job->next = NULL;
    job->state = JOB_QUEUED;
    /* Do not reset job->awaited, because another thread may already wait for this job. A thread may
     * begin to wait before the job is submitted, while data for the job is still being fetched. */
    job->cancelled = false;
    *w->locked.last = job;
    w->locked.last = &job->next;
    pthread_cond_signal(&w->work);
    pthread_mutex_unlock(&w->lock);
}

bool workers_is_done(struct workers *w, struct job *job)
{
    bool done;

    pthread_mutex_lock(&w->lock);
    done = job->state == JOB_DONE;
    pthread_mutex_unlock(&w->lock);
    return done;
}

uint64_t workers_wait(struct workers *w, struct job *job)
{
    uint64_t waited = 0;

    pthread_mutex_lock(&w->lock);
    if (job->state != JOB_DONE) {
        const uint64_t start = clock_ns();

        job->awaited = true;
        while (job->state != JOB_DONE)
            pthread_cond_wait(&w->done, &w->lock);
        waited = clock_ns() - start;
        job->awaited = false;
    }
    pthread_mutex_unlock(&w->lock);
    return waited;
}

bool workers_wait_for(struct workers *w, struct job *job, uint64_t timeout_ns)
{
    const struct timespec deadline = wait_deadline(timeout_ns);
    bool done;

    pthread_mutex_lock(&w->lock);
    job->awaited = true;
    while (job->state != JOB_DONE && wait_until(&w->done, &w->lock, &deadline))
        ;
    done = job->state == JOB_DONE;
    if (done)
        job->awaited = false;
    pthread_mutex_unlock(&w->lock);
    return done;
}

/* Runs queued jobs on the calling thread until `job` is done, the queue is empty, or *interrupt is
 * nonzero. If `job` is still in the queue, it is run first. Returns whether `job` is done. */
static bool help(struct workers *w, struct job *job, const volatile int *interrupt)
{
    bool done;

    pthread_mutex_lock(&w->lock);
    if (job->state == JOB_QUEUED)
        move_to_front_locked(w, job);
    while (job->state != JOB_DONE && w->locked.first != NULL
           && !flag_is_raised(interrupt))
        run_first_locked(w);
    done = job->state == JOB_DONE;
    pthread_mutex_unlock(&w->lock);
    return done;
}

bool workers_wait_or(struct workers *w, struct job *job, bool helps, struct watch *watch,
                     uint64_t *waited_ns)
{
    const struct sheaf_progress progress = { .stage = watch->stage };
    const uint64_t poll_ns = 20000000;
    uint64_t start;
    bool done = workers_is_done(w, job);

    if (done)
        return true;
    start = clock_ns();
    while (!done && !flag_is_raised(watch->interrupt)) {
        done = (helps && help(w, job, watch->interrupt)) || workers_wait_for(w, job, poll_ns);
        if (!done)
            watch_show(watch, &progress);
    }
    *waited_ns += clock_ns() - start;
    return done;
}

void workers_cancel(struct workers *w)
{
    pthread_mutex_lock(&w->lock);
    while (w->locked.first != NULL) {
        struct job *job = pop_locked(w);

        job->cancelled = true;
        job->state = JOB_DONE;
    }
    pthread_cond_broadcast(&w->done);
    w->locked.cancelling++;
    while (w->locked.running != 0)
        pthread_cond_wait(&w->done, &w->lock);
    w->locked.cancelling--;
    pthread_mutex_unlock(&w->lock);
}

void workers_close(struct workers *w)
{
    if (w == NULL)
        return;
    workers_cancel(w);
    pthread_mutex_lock(&w->lock);
    w->locked.ending = true;
    pthread_cond_broadcast(&w->work);
    pthread_mutex_unlock(&w->lock);
    for (unsigned i = 0; i < w->thread_count; i++)
        pthread_join(w->threads[i], NULL);
    pthread_cond_destroy(&w->work);
    pthread_cond_destroy(&w->done);
    pthread_mutex_destroy(&w->lock);
    free(w);
}
