/* SPDX-License-Identifier: MIT
 *
 * A pool of threads that runs jobs in the order in which they are submitted. Submitting a job never
 * blocks.
 *
 * The packer and the reader each have one thread that plans their work. This planning thread
 * submits jobs ahead of time, and limits their number and their memory. It always waits for one
 * particular job, so the pool needs no queue of results. */
#ifndef BASE_WORKERS_H
#define BASE_WORKERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/timed_wait.h"
#include "sheaf.h"

struct watch;
struct workers;

/* A job of the pool. The caller has this struct as a member of a larger struct, which must stay
 * valid until the job is done. */
struct job {
    /* the work of the job; called once, unless the job is cancelled. It is called on a thread of
     * the pool, or on a thread that waits for a job. */
    void (*run)(struct job *job);
    /* If set, `run` itself reports the end of the job to the thread that has submitted it. That
     * thread may then free the job before `run` returns. Therefore the pool does not touch the job
     * after `run` has begun, and cannot cancel it. */
    bool detached;
    struct job *next;                   /* the pool's */
    enum { JOB_IDLE, JOB_QUEUED, JOB_RUNNING, JOB_DONE } state;     /* the pool's */
    bool cancelled;                     /* the job is done without having run */
    /* whether a thread of the program sleeps until the job is done; set by the pool */
    bool awaited;
};

/* Checks an option with a number of threads, such as "jobs". Returns SHEAF_ERR_ARGUMENT if the
 * number is more than SHEAF_THREADS_MOST. Tens of thousands of threads would use up the process's
 * memory mappings, and the process would crash. */
int workers_check(const char *option, unsigned threads, struct sheaf_error *err);

/* Starts the threads of a pool. Refuses a number that workers_check refuses. */
int workers_open(struct workers **workers, unsigned threads, struct sheaf_error *err);

/* Queues a job. May be called on any thread. */
void workers_submit(struct workers *workers, struct job *job);

/* Returns whether the job has run or was cancelled. If the result is true, the caller sees
 * everything that the job has written to memory. */
bool workers_is_done(struct workers *workers, struct job *job);

/* Waits until the job is done. Returns how long the caller waited, in nanoseconds; 0 if the job was
 * already done. */
uint64_t workers_wait(struct workers *workers, struct job *job);

/* Waits until the job is done, but at most timeout_ns nanoseconds. Returns whether the job is
 * done. */
bool workers_wait_for(struct workers *workers, struct job *job, uint64_t timeout_ns);

/* Waits until the job is done, like workers_wait, and adds the waiting time to *waited_ns. Returns
 * false if the caller's interrupt flag is set, for example by a signal handler. This flag is
 * checked every 20 ms. Then the progress function is also called, with the stage watch->stage.
 *
 * If `helps` is true, the calling thread does not sleep, but runs queued jobs itself. It begins
 * with `job` if no thread has begun it. If the jobs are short, this saves the time to wake the
 * calling thread. */
bool workers_wait_or(struct workers *workers, struct job *job, bool helps, struct watch *watch,
                     uint64_t *waited_ns);

/* Cancels every job in the queue, and waits until the running jobs end. A cancelled job counts as
 * done. Jobs that are submitted later run as usual. */
void workers_cancel(struct workers *workers);

/* Cancels all jobs in the queue, and ends the pool's threads. Does nothing if `workers` is NULL. */
void workers_close(struct workers *workers);

/* Returns the number of processors that this process may use, which is at least 1. */
unsigned workers_processors(void);

#endif
