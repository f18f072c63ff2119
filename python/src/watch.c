/* SPDX-License-Identifier: MIT
 *
 * Lets Python handle signals while a reader waits. When a signal arrives, Python only records it.
 * Python runs the handler later, when the main thread checks for signals. A thread that waits in
 * the C library cannot check.
 *
 * So a second thread looks at the reader about ten times a second. If the reader is still in the
 * same call as at the last look, this thread interrupts the reader. The call returns, lets Python
 * handle signals, and begins again. */
#include "module.h"

#include <stdlib.h>

struct signal_watch {
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

static void *watch_run(void *argument)
{
    struct signal_watch *w = argument;
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

struct signal_watch *watch_new(struct sheaf_reader *reader)
{
    struct signal_watch *w = calloc(1, sizeof(*w));

    if (w == NULL)
        return NULL;
    w->reader = reader;
    pthread_mutex_init(&w->lock, NULL);
    tick_condition_init(&w->wake);
    if (thread_start(&w->thread, watch_run, w))
        return w;
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->lock);
    free(w);
    return NULL;
}

void watch_enter(struct signal_watch *w)
{
    pthread_mutex_lock(&w->lock);
    w->locked.calls++;
    w->locked.inside = true;
    pthread_mutex_unlock(&w->lock);
}

void watch_leave(struct signal_watch *w)
{
    pthread_mutex_lock(&w->lock);
    w->locked.inside = false;
    pthread_mutex_unlock(&w->lock);
}

void watch_free(struct signal_watch *w)
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
