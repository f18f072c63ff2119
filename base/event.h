/* SPDX-License-Identifier: MIT
 *
 * An event that happens once: one thread signals it, and another thread waits for it. */
#ifndef BASE_EVENT_H
#define BASE_EVENT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

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

/* Waits until the event happens, but at most timeout_ns nanoseconds of the monotonic clock. Returns
 * whether the event has happened. */
static inline bool event_wait_for(struct event *event, uint64_t timeout_ns)
{
    struct timespec until;
    bool happened;
    int failed = 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    timeout_ns += (uint64_t)until.tv_nsec;
    until.tv_sec += (time_t)(timeout_ns / 1000000000u);
    until.tv_nsec = (long)(timeout_ns % 1000000000u);
    pthread_mutex_lock(&event->lock);
    while (!event->happened && failed == 0)
        failed = pthread_cond_clockwait(&event->changed, &event->lock, CLOCK_MONOTONIC, &until);
    happened = event->happened;
    pthread_mutex_unlock(&event->lock);
    return happened;
}

/* Waits for the event and destroys it. */
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
