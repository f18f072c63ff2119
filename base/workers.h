/* SPDX-License-Identifier: MIT
 *
 * A pool of threads that runs jobs in the order of their submission.
 *
 * The packer and the reader each have one planning thread, which submits jobs ahead of time and
 * consumes their results in any order that it chooses. To get a result, this thread waits for the
 * particular job, so the pool needs no queue of results. The planning thread limits the memory and
 * the number of jobs; submission never blocks. */
#ifndef BASE_WORKERS_H
#define BASE_WORKERS_H

#include <stdbool.h>
#include <stdint.h>

#include "sheaf.h"

struct workers;

/* A job of the pool, embedded in a struct of the caller. The caller must keep the struct alive
 * until the job is done. */
struct job {
    /* called once on a worker thread, unless the job is cancelled */
    void (*run)(struct job *job);
    /* whether `run` itself reports the end of the job. The job may then be freed inside `run`,
     * so the pool can neither tell whether the job is done nor cancel it */
    bool detached;
    struct job *next;                   /* the pool's */
    enum { JOB_IDLE, JOB_QUEUED, JOB_RUNNING, JOB_DONE } state;     /* the pool's */
    bool cancelled;                     /* the job is done without having run */
    /* whether a thread sleeps until the job is done; used by the pool only */
    bool awaited;
};

int workers_open(struct workers **workers, unsigned threads, struct sheaf_error *err);

/* Queues a job. May be called on any thread. */
void workers_submit(struct workers *workers, struct job *job);

/* Returns true if the job has run or was cancelled. The caller then sees everything that the job
 * wrote to memory. */
bool workers_is_done(struct workers *workers, struct job *job);

/* Waits until the job is done. Returns the waiting time in nanoseconds, or 0 if the job was done
 * already. */
uint64_t workers_wait(struct workers *workers, struct job *job);

/* Waits for at most `timeout_ns`. Returns true if the job is done. */
bool workers_wait_for(struct workers *workers, struct job *job, uint64_t timeout_ns);

/* Waits like workers_wait, but returns false when *interrupt becomes nonzero. The flag is checked
 * every 20 ms, so a signal handler may set it. Adds the waiting time to *waited_ns. If `helps` is
 * true, the calling thread runs queued jobs instead of sleeping. If no thread has begun the job
 * that the calling thread waits for, this job is run first. For short jobs, this saves the time to
 * wake the calling thread. Also, the pool and the calling thread together then need no more threads
 * than there are processors. */
bool workers_wait_or(struct workers *workers, struct job *job, bool helps,
                     const volatile int *interrupt, uint64_t *waited_ns);

/* Marks every queued job as cancelled and done, and waits until the running jobs end. Jobs that are
 * submitted later run as usual. */
void workers_cancel(struct workers *workers);

/* Cancels all queued jobs and ends the pool's threads. NULL is allowed. */
void workers_close(struct workers *workers);

/* Returns the number of processors that this process may use, which is at least 1. */
unsigned workers_processors(void);

/* Returns the monotonic clock's time in nanoseconds. */
uint64_t clock_ns(void);

#endif
