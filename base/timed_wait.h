/* SPDX-License-Identifier: MIT
 *
 * The monotonic clock, and condition variables with timed waits that use it. With the wall clock, a
 * wait would end at the wrong time if somebody set the clock. */
#ifndef BASE_TIMED_WAIT_H
#define BASE_TIMED_WAIT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Returns the monotonic clock's time in nanoseconds. */
static inline uint64_t clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Initialises a condition variable. wait_until and wait_for need a variable that was initialised by
 * this function. */
static inline void timed_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t monotonic;

    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

static inline struct timespec wait_deadline(uint64_t timeout_ns)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    timeout_ns += (uint64_t)until.tv_nsec;
    until.tv_sec += (time_t)(timeout_ns / 1000000000u);
    until.tv_nsec = (long)(timeout_ns % 1000000000u);
    return until;
}

/* Waits for a signal until the deadline. The lock must be held. Returns false if the deadline has
 * passed. */
static inline bool wait_until(pthread_cond_t *cond, pthread_mutex_t *lock,
                              const struct timespec *deadline)
{
    return pthread_cond_timedwait(cond, lock, deadline) == 0;
}

static inline bool wait_for(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t timeout_ns)
{
    const struct timespec deadline = wait_deadline(timeout_ns);

    return wait_until(cond, lock, &deadline);
}

#endif
