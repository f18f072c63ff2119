/* SPDX-License-Identifier: MIT
 *
 * Forks and threads; see process.h. */
#include "process.h"

#include <signal.h>

#define TICK_NS 100000000L

volatile unsigned fork_count, forks_begun;

static void (*after_fork)(void);

static void count_fork(void)
{
    after_fork();
    fork_count++;
}

static void count_begun(void)
{
    forks_begun++;
}

bool forks_watch(void (*in_child)(void))
{
    after_fork = in_child;
    return pthread_atfork(count_begun, NULL, count_fork) == 0;
}

bool thread_start(pthread_t *thread, void *(*run)(void *), void *argument)
{
    sigset_t all, before;
    bool started;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    started = pthread_create(thread, NULL, run, argument) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

struct timespec next_tick(void)
{
    struct timespec at;

    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_nsec += TICK_NS;
    if (at.tv_nsec >= 1000000000L) {
        at.tv_nsec -= 1000000000L;
        at.tv_sec++;
    }
    return at;
}

void tick_condition_init(pthread_cond_t *condition)
{
    pthread_condattr_t monotonic;

    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &monotonic);
    pthread_condattr_destroy(&monotonic);
}
