/* SPDX-License-Identifier: MIT
 *
 * A window of outstanding work: one thread starts jobs ahead of time and collects them, in order or
 * as they finish, while other threads do them.
 *
 *     IDLE --inflight_idle, inflight_begin--> BUSY --inflight_done--> DONE --inflight_next--+
 *       ^                                     (any thread)                                  |
 *       +------------------------------- inflight_add --------------------------------------+
 *
 * An item is the first member of a struct of the caller. Either the caller adds all items at the
 * start, and then there is never more work than items; or the caller allocates an item for each
 * piece of work and limits their number by `count`, inflight_busy or a memory budget.
 *
 * The window does not need to know who does the work. It may be a pool of workers (inflight_run) or
 * anything that finally calls inflight_done, such as a read that a store has under way
 * (store/read_item.h). The result is in the caller's struct, beside the item, so a caller that
 * collects a failed item knows which one it is. Only inflight_done may be called on other threads.
 */
#ifndef BASE_INFLIGHT_H
#define BASE_INFLIGHT_H

#include <pthread.h>

#include "base/workers.h"

struct inflight_item;
typedef void inflight_fn(struct inflight_item *item);

struct inflight_item {
    inflight_fn *run;               /* the work of inflight_run, set by the caller */
    struct job job;                 /* used by the window only, like all fields below */
    struct inflight *window;
    struct inflight_item *next;
    bool is_done;                   /* guarded by the window's lock */
};

enum inflight_order { INFLIGHT_OLDEST, INFLIGHT_ANY };      /* which item inflight_next collects */

struct inflight {
    struct inflight_item *first, **last;    /* started and not collected, the oldest first */
    size_t count;                   /* of these */
    struct inflight_item *idle;
    enum inflight_order order;
    inflight_fn *cancel;
    const volatile int *interrupt;
    /* nonzero after the work was cancelled; from then on, work that has not begun is skipped */
    int is_cancelled;
    pthread_mutex_t lock;
    pthread_cond_t landed;
    struct {
        size_t busy;
        const struct inflight_item *awaited;    /* NULL: any */
        bool any_landed;            /* whether an item finished since the last wait */
    } locked;
};

/* Opens a window (a list of jobs and requests that are under way). `interrupt` is a flag of the
 * caller, or NULL. If the flag is set, inflight_next cancels all work. It then calls `cancel` for
 * each running item, so that its work ends soon. If `cancel` is NULL, running work continues to its
 * end. Jobs that inflight_run has queued are skipped, unless a worker has started them. */
void inflight_open(struct inflight *window, enum inflight_order order, inflight_fn *cancel,
                   const volatile int *interrupt);
/* Cancels all work of the window that is not done, and waits until this work has ended. Must be
 * called before the workers (the threads that do the work) are closed. */
void inflight_close(struct inflight *window);

/* Adds an idle item to the window (the list of jobs and requests that are under way). An idle item
 * has no work. It is either new, or was collected and can be used again. */
void inflight_add(struct inflight *window, struct inflight_item *item);
/* Removes an idle item (an item without work) from the window and returns it, so that the caller
 * can begin work with it. Returns NULL if the window has no idle item. */
struct inflight_item *inflight_idle(struct inflight *window);

/* Marks an item as begun. The caller must start the work of the item right after this call. */
void inflight_begin(struct inflight *window, struct inflight_item *item);
/* Reports that the work of an item is done. Another thread may collect and free the item before
 * this call returns, so the caller must not use the item any more. */
void inflight_done(struct inflight_item *item);
/* Lets one of the workers call item->run, or calls item->run on this thread if `workers` is
 * NULL. */
void inflight_run(struct inflight *window, struct workers *workers, struct inflight_item *item);
/* Returns the number of items that are not done. */
size_t inflight_busy(struct inflight *window);

/* Waits for the next item in the window's order, removes it from the window (the list of work that
 * is under way) and returns it. Returns NULL if no item is left. If the interrupt flag is set,
 * cancels all work, so that the remaining items can be collected soon. Their work may then have
 * failed because of the cancellation. */
struct inflight_item *inflight_next(struct inflight *window);
/* Returns the next item like inflight_next, but does not wait. Returns NULL if the work of the next
 * item is not done. */
struct inflight_item *inflight_take(struct inflight *window);
bool inflight_is_ready(struct inflight *window);    /* Returns whether inflight_take would return
                                                       an item. */
/* Waits until the work of at least one item in the window is done, but at most 50 ms. If the work
 * of an item has ended since the previous call for this window, returns at once. */
void inflight_wait(struct inflight *window);
/* Makes all work that was started end soon. */
void inflight_cancel(struct inflight *window);

#endif
