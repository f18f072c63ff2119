/* SPDX-License-Identifier: MIT
 *
 * Something that happens once, on another thread, and that one thread waits for. */
#ifndef BASE_EVENT_H
#define BASE_EVENT_H

#include <pthread.h>
#include <stdbool.h>

struct event {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool happened;
};

#define EVENT_INIT { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false }

static inline void event_set(struct event *event)
{
    pthread_mutex_lock(&event->lock);
    event->happened = true;
    pthread_cond_signal(&event->changed);
    pthread_mutex_unlock(&event->lock);
}

/* Waits, and ends the event. */
static inline void event_wait(struct event *event)
{
    pthread_mutex_lock(&event->lock);
    while (!event->happened)
        pthread_cond_wait(&event->changed, &event->lock);
    pthread_mutex_unlock(&event->lock);
    pthread_mutex_destroy(&event->lock);
    pthread_cond_destroy(&event->changed);
}

#endif
