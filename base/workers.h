/* SPDX-License-Identifier: MIT
 *
 * A pool of threads that runs jobs in the order of their submission.
 *
 * Both the packer and the reader have one planning thread, which submits jobs ahead of time and
 * consumes them in an order of its own. So a job is waited for by name, and the pool needs no
 * result queue. The planner limits memory and outstanding jobs; submission never blocks. */
#ifndef BASE_WORKERS_H
#define BASE_WORKERS_H

#include <stdbool.h>
#include <stdint.h>

#include "sheaf.h"

struct workers;

/* A job, embedded in a struct of the caller. The caller keeps it alive until it is done. */
struct job {
    void (*run)(struct job *job);       /* called once on a worker thread, unless the job is
                                           cancelled */
    bool detached;                      /* `run` reports its end by itself, and the job may be
                                           freed by then: the pool can neither be asked about it
                                           nor cancel it */
    struct job *next;                   /* the pool's */
    enum { JOB_IDLE, JOB_QUEUED, JOB_RUNNING, JOB_DONE } state;     /* the pool's */
    bool cancelled;                     /* the job is done without having run */
    bool awaited;                       /* used by the pool: a thread sleeps until the job is
                                           done */
};

int workers_open(struct workers **workers, unsigned threads, struct sheaf_error *err);

/* Queues a job. May be called on any thread. */
void workers_submit(struct workers *workers, struct job *job);

/* Returns true if the job has run or was cancelled. Its writes are then visible to the caller. */
bool workers_is_done(struct workers *workers, struct job *job);

/* Waits until the job is done. Returns the time waited in nanoseconds, or 0 if the job was done
 * already. */
uint64_t workers_wait(struct workers *workers, struct job *job);

/* Waits for at most `timeout_ns`. Returns true if the job is done. */
bool workers_wait_for(struct workers *workers, struct job *job, uint64_t timeout_ns);

/* Waits like workers_wait, but returns false once *interrupt is nonzero. The flag is checked every
 * 20 ms, so a signal handler may set it. Adds the time waited to *waited_ns. If `helps` is true,
 * the thread runs queued jobs instead of sleeping. For short jobs this avoids a wake-up, and one
 * thread more than there are processors. */
bool workers_wait_or(struct workers *workers, struct job *job, bool helps,
                     const volatile int *interrupt, uint64_t *waited_ns);

/* Marks every queued job as cancelled and done, and waits for the running ones. Jobs submitted
 * later run as usual. */
void workers_cancel(struct workers *workers);

/* Cancels all jobs and ends the threads. NULL is allowed. */
void workers_close(struct workers *workers);

/* Returns the number of processors that this process may use, at least 1. */
unsigned workers_processors(void);

/* Returns the monotonic clock's time in nanoseconds. */
uint64_t clock_ns(void);

#endif
