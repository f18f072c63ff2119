/* SPDX-License-Identifier: MIT
 *
 * A pool of threads that runs jobs in the order of their submission.
 *
 * Both the packer and the reader are one planning thread that submits jobs ahead and consumes
 * them in an order of its own; so a job is waited for by name, and the pool needs no result
 * queue.  Memory and window limits are the planner's business: submission never blocks. */
#ifndef BASE_WORKERS_H
#define BASE_WORKERS_H

#include <stdbool.h>
#include <stdint.h>

#include "sheaf.h"

struct workers;

/* Embedded in the caller's own struct.  The caller keeps it alive until it is done. */
struct job {
    void (*run)(struct job *job);       /* called once, on a worker thread, unless cancelled */
    bool detached;                      /* `run` tells its end itself, and the job may be gone by
                                           then: it is not asked of the pool, nor cancelled */
    struct job *next;                   /* the pool's */
    enum { JOB_IDLE, JOB_QUEUED, JOB_RUNNING, JOB_DONE } state;     /* the pool's */
    bool cancelled;                     /* done without having run */
    bool awaited;                       /* the pool's: someone sleeps until it is done */
};

int workers_open(struct workers **workers, unsigned threads, struct sheaf_error *err);

/* Queues a job.  From any thread. */
void workers_submit(struct workers *workers, struct job *job);

/* True when it has run or was cancelled; its writes are then visible to the caller. */
bool workers_is_done(struct workers *workers, struct job *job);

/* Waits until it is done.  Returns the nanoseconds that the wait took (0: it was done). */
uint64_t workers_wait(struct workers *workers, struct job *job);

/* Waits for at most that long; true if it is done. */
bool workers_wait_for(struct workers *workers, struct job *job, uint64_t timeout_ns);

/* Waits as workers_wait, but gives up (false) once *interrupt is nonzero, which it looks at every
 * 20 ms: it may be set by a signal handler.  Adds the time waited to *waited_ns.  `helps`: instead
 * of sleeping, the thread runs queued jobs itself, which saves being woken and a thread more than
 * there are processors; for jobs that do not take long. */
bool workers_wait_or(struct workers *workers, struct job *job, bool helps,
                     const volatile int *interrupt, uint64_t *waited_ns);

/* Marks every queued job cancelled and done, and waits for those that run.  Jobs submitted
 * later run as usual. */
void workers_cancel(struct workers *workers);

/* Cancels, then ends the threads.  NULL is fine. */
void workers_close(struct workers *workers);

/* The processors this process may use, at least 1. */
unsigned workers_processors(void);

/* Nanoseconds of the monotonic clock. */
uint64_t clock_ns(void);

#endif
