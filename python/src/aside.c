/* SPDX-License-Identifier: MIT
 *
 * Runs calls that the library cannot interrupt, such as opening a data set on a server that does
 * not respond. Such a call runs on a thread of its own. The waiting thread lets Python handle
 * signals about ten times a second. If a signal handler raises an exception, the waiting thread
 * stops waiting, and the other thread discards the result when the call ends. */
#include "module.h"

#include <stdlib.h>

struct aside {
    aside_fn *run, *discard;
    void *what;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t done;
    struct {
        bool done, left;
    } locked;
};

static void aside_free(struct aside *a)
{
    pthread_cond_destroy(&a->done);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

static void *aside_main(void *argument)
{
    struct aside *a = argument;
    bool left;

    a->run(a->what);
    pthread_mutex_lock(&a->lock);
    a->locked.done = true;
    left = a->locked.left;
    pthread_cond_signal(&a->done);
    pthread_mutex_unlock(&a->lock);
    if (left) {                 /* otherwise the waiting thread frees it */
        a->discard(a->what);
        aside_free(a);
    }
    return NULL;
}

/* Waits for the call on the other thread, but at most about a tenth of a second. Returns whether
 * the call is done. */
static bool wait_a_tick(struct aside *a)
{
    const struct timespec at = next_tick();
    bool done;

    pthread_mutex_lock(&a->lock);
    while (!a->locked.done && pthread_cond_timedwait(&a->done, &a->lock, &at) == 0)
        ;
    done = a->locked.done;
    pthread_mutex_unlock(&a->lock);
    return done;
}

/* False: it was done after all. */
static bool aside_leave(struct aside *a)
{
    bool left;

    pthread_mutex_lock(&a->lock);
    left = a->locked.left = !a->locked.done;
    if (left)
        pthread_detach(a->thread);
    pthread_mutex_unlock(&a->lock);
    return left;
}

static struct aside *aside_new(aside_fn *run, aside_fn *discard, void *what)
{
    struct aside *a = calloc(1, sizeof(*a));

    if (a == NULL)
        return NULL;
    a->run = run;
    a->discard = discard;
    a->what = what;
    pthread_mutex_init(&a->lock, NULL);
    tick_condition_init(&a->done);
    return a;
}

int aside_run(aside_fn *run, aside_fn *discard, void *what)
{
    struct aside *a = aside_new(run, discard, what);
    bool done = false;

    if (a == NULL || !thread_start(&a->thread, aside_main, a)) {
        if (a != NULL)
            aside_free(a);
        discard(what);
        PyErr_SetString(PyExc_OSError, "a thread could not be started");
        return -1;
    }
    while (!done) {
        Py_BEGIN_ALLOW_THREADS
        done = wait_a_tick(a);
        Py_END_ALLOW_THREADS
        if (PyErr_CheckSignals() != 0) {
            if (aside_leave(a))
                return -1;
            pthread_join(a->thread, NULL);
            aside_free(a);
            discard(what);
            return -1;
        }
    }
    pthread_join(a->thread, NULL);
    aside_free(a);
    return 0;
}
