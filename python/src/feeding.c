/* SPDX-License-Identifier: MIT
 *
 * The thread that does tasks; see feeding.h. */
#include "feeding.h"

#include <stdlib.h>

#include "process.h"

struct feeding {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    struct {
        struct feeding_task *first, **last; /* the tasks that have not begun */
        bool ending;
    } locked;
};

/* Waits for the next task of the thread. Returns NULL if no task is left and the thread must
 * end. */
static struct feeding_task *next_task(struct feeding *f)
{
    struct feeding_task *feed;

    pthread_mutex_lock(&f->lock);
    while (f->locked.first == NULL && !f->locked.ending)
        pthread_cond_wait(&f->work, &f->lock);
    feed = f->locked.first;
    if (feed != NULL)
        f->locked.first = feed->next;
    if (f->locked.first == NULL)
        f->locked.last = &f->locked.first;
    pthread_mutex_unlock(&f->lock);
    return feed;
}

static void *feeding_run(void *argument)
{
    struct feeding *f = argument;
    struct feeding_task *feed;

    while ((feed = next_task(f)) != NULL) {
        const bool frees_itself = feed->frees_itself;

        if (!feed->is_left)
            feed->run(feed);
        if (frees_itself)
            continue;
        pthread_mutex_lock(&f->lock);
        feed->is_done = true;
        pthread_mutex_unlock(&f->lock);
        pthread_cond_broadcast(&f->done);
    }
    return NULL;
}

struct feeding *feeding_start(void)
{
    struct feeding *f = calloc(1, sizeof(*f));

    if (f == NULL)
        return NULL;
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->work, NULL);
    tick_condition_init(&f->done);
    f->locked.last = &f->locked.first;
    if (thread_start(&f->thread, feeding_run, f))
        return f;
    free(f);
    return NULL;
}

void feeding_stop(struct feeding *f)
{
    if (f == NULL)
        return;
    pthread_mutex_lock(&f->lock);
    f->locked.ending = true;
    pthread_cond_signal(&f->work);
    pthread_mutex_unlock(&f->lock);
    pthread_join(f->thread, NULL);
    pthread_cond_destroy(&f->work);
    pthread_cond_destroy(&f->done);
    pthread_mutex_destroy(&f->lock);
    free(f);
}

void feeding_add_later(struct feeding *f, struct feeding_task *feed)
{
    feed->next = NULL;
    pthread_mutex_lock(&f->lock);
    *f->locked.last = feed;
    f->locked.last = &feed->next;
    pthread_mutex_unlock(&f->lock);
}

void feeding_add(struct feeding *f, struct feeding_task *feed)
{
    feeding_add_later(f, feed);
    /* signal after unlocking, because otherwise the thread would wake up and wait for the lock */
    pthread_cond_signal(&f->work);
}

bool feeding_is_done(struct feeding *f, const struct feeding_task *feed)
{
    bool is_done;

    pthread_mutex_lock(&f->lock);
    is_done = feed->is_done;
    pthread_mutex_unlock(&f->lock);
    return is_done;
}

bool feeding_wait(struct feeding *f, struct feeding_task *feed)
{
    const struct timespec at = next_tick();
    bool is_done;

    pthread_mutex_lock(&f->lock);
    while (!feed->is_done && pthread_cond_timedwait(&f->done, &f->lock, &at) == 0)
        ;
    is_done = feed->is_done;
    pthread_mutex_unlock(&f->lock);
    return is_done;
}

void feeding_leave(struct feeding *f, struct feeding_task *feed)
{
    feed->is_left = true;
    while (!feeding_wait(f, feed))
        ;
}
