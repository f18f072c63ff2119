/* SPDX-License-Identifier: MIT
 *
 * Lets signals through while a reader waits.
 *
 * Python only notes a signal when it comes; the handler runs when the main thread asks for it.  A
 * thread that waits in the library does not ask.  So a second thread looks ten times a second
 * whether a call has been under way since it looked last, and if so interrupts the reader: the
 * call returns, lets Python handle what there is, and begins again. */
#include "module.h"

#include <signal.h>
#include <stdlib.h>

#define TICK_NS 100000000L

struct watch {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct sheaf_reader *reader;
    struct {
        unsigned long calls;
        bool inside;            /* a call is under way */
        bool ending;
    } locked;
};

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

static void *watch_run(void *argument)
{
    struct watch *w = argument;
    unsigned long seen = 0;

    pthread_mutex_lock(&w->lock);
    while (!w->locked.ending) {
        const struct timespec at = next_tick();

        if (w->locked.inside && w->locked.calls == seen)
            sheaf_reader_interrupt(w->reader);
        seen = w->locked.calls;
        pthread_cond_timedwait(&w->wake, &w->lock, &at);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
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

struct watch *watch_new(struct sheaf_reader *reader)
{
    struct watch *w = calloc(1, sizeof(*w));
    pthread_condattr_t monotonic;

    if (w == NULL)
        return NULL;
    w->reader = reader;
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&w->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (thread_start(&w->thread, watch_run, w))
        return w;
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->lock);
    free(w);
    return NULL;
}

void watch_enter(struct watch *w)
{
    pthread_mutex_lock(&w->lock);
    w->locked.calls++;
    w->locked.inside = true;
    pthread_mutex_unlock(&w->lock);
}

void watch_leave(struct watch *w)
{
    pthread_mutex_lock(&w->lock);
    w->locked.inside = false;
    pthread_mutex_unlock(&w->lock);
}

void watch_free(struct watch *w)
{
    if (w == NULL)
        return;
    pthread_mutex_lock(&w->lock);
    w->locked.ending = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->lock);
    free(w);
}
