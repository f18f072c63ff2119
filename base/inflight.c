/* SPDX-License-Identifier: MIT
 *
 * Implements the window of outstanding work (see inflight.h). An item stands for one job or
 * request. Only the thread that starts and collects the work uses the list of items. A lock guards
 * the state that worker threads change. If a thread waits for one particular item, it is woken only
 * when this item is done. */
#include "base/inflight.h"

#include <stddef.h>

#include "base/flag.h"
#include "base/timed_wait.h"

#define LOOK_NS 50000000        /* how often the interrupt flag is checked */

void inflight_open(struct inflight *w, enum inflight_order order, inflight_fn *cancel,
                   const volatile int *interrupt)
{
    *w = (struct inflight){ .order = order, .cancel = cancel, .interrupt = interrupt };
    w->last = &w->first;
    pthread_mutex_init(&w->lock, NULL);
    timed_cond_init(&w->landed);
}

void inflight_close(struct inflight *w)
{
    inflight_cancel(w);
    while (inflight_next(w) != NULL)
        ;
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->landed);
}

void inflight_add(struct inflight *w, struct inflight_item *item)
{
    item->next = w->idle;
    w->idle = item;
}

struct inflight_item *inflight_idle(struct inflight *w)
{
    struct inflight_item *item = w->idle;

    if (item != NULL)
        w->idle = item->next;
    return item;
}

/* ---- Work ------------------------------------------------------------------------------------ */

void inflight_begin(struct inflight *w, struct inflight_item *item)
{
    item->window = w;
    item->next = NULL;
    *w->last = item;
    w->last = &item->next;
    w->count++;
    pthread_mutex_lock(&w->lock);
    item->is_done = false;
    w->locked.busy++;
    pthread_mutex_unlock(&w->lock);
}

void inflight_done(struct inflight_item *item)
{
    struct inflight *w = item->window;

    pthread_mutex_lock(&w->lock);
    item->is_done = true;
    w->locked.busy--;
    w->locked.any_landed = true;
    if (w->locked.awaited == NULL || w->locked.awaited == item)
        pthread_cond_signal(&w->landed);
    pthread_mutex_unlock(&w->lock);
}

static void run_item(struct job *job)
{
    struct inflight_item *item = (struct inflight_item *)(void *)((char *)job -
                                     offsetof(struct inflight_item, job));

    if (!flag_is_raised(&item->window->is_cancelled))
        item->run(item);
    inflight_done(item);
}

void inflight_run(struct inflight *w, struct workers *workers, struct inflight_item *item)
{
    inflight_begin(w, item);
    item->job = (struct job){ .run = run_item, .detached = true };
    if (workers != NULL)
        workers_submit(workers, &item->job);
    else
        run_item(&item->job);
}

size_t inflight_busy(struct inflight *w)
{
    size_t busy;

    pthread_mutex_lock(&w->lock);
    busy = w->locked.busy;
    pthread_mutex_unlock(&w->lock);
    return busy;
}

/* ---- Taking back ----------------------------------------------------------------------------- */

/* Finds the item that the caller collects next. With the order INFLIGHT_ANY, this is the oldest
 * item whose work is done. With the order INFLIGHT_OLDEST, it is the oldest item in the window, but
 * only if the work of this item is done. Returns the address of the pointer to the item in the
 * list, or NULL if no item can be collected now. */
static struct inflight_item **inflight_find(struct inflight *w)
{
    struct inflight_item **link = &w->first;

    pthread_mutex_lock(&w->lock);
    while (w->order == INFLIGHT_ANY && *link != NULL && !(*link)->is_done)
        link = &(*link)->next;
    if (*link == NULL || !(*link)->is_done)
        link = NULL;
    pthread_mutex_unlock(&w->lock);
    return link;
}

bool inflight_is_ready(struct inflight *w)
{
    return inflight_find(w) != NULL;
}

struct inflight_item *inflight_take(struct inflight *w)
{
    struct inflight_item **link = inflight_find(w), *item;

    if (link == NULL)
        return NULL;
    item = *link;
    *link = item->next;
    if (w->last == &item->next)
        w->last = link;
    if (--w->count == 0)
        (void)flag_take(&w->is_cancelled);
    return item;
}

/* Waits until `item` is done, or until at least one item is done if `item` is NULL. Waits at most
 * 50 ms. */
static void wait_a_little(struct inflight *w, const struct inflight_item *item)
{
    pthread_mutex_lock(&w->lock);
    w->locked.awaited = item;
    if (item == NULL ? !w->locked.any_landed : !item->is_done)
        (void)wait_for(&w->landed, &w->lock, LOOK_NS);
    w->locked.any_landed = false;
    pthread_mutex_unlock(&w->lock);
}

void inflight_wait(struct inflight *w)
{
    wait_a_little(w, NULL);
}

struct inflight_item *inflight_next(struct inflight *w)
{
    struct inflight_item *item;

    while ((item = inflight_take(w)) == NULL && w->count != 0) {
        wait_a_little(w, w->order == INFLIGHT_OLDEST ? w->first : NULL);
        if (flag_is_raised(w->interrupt))
            inflight_cancel(w);
    }
    return item;
}

void inflight_cancel(struct inflight *w)
{
    if (w->count != 0)
        flag_raise(&w->is_cancelled);
    for (struct inflight_item *i = w->first; i != NULL && w->cancel != NULL; i = i->next)
        w->cancel(i);
}
