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
    /* nonzero after a cancellation; work that has not begun yet is then skipped */
    int is_cancelled;
    pthread_mutex_t lock;
    pthread_cond_t landed;
    struct {
        size_t busy;
        const struct inflight_item *awaited;    /* NULL: any */
        bool any_landed;            /* whether an item finished since the last wait */
    } locked;
};

/* Opens a window. The function `cancel` makes the running work of an item end soon. If `cancel` is
 * NULL, a cancellation only skips the items that were passed to inflight_run and that no worker has
 * started. `interrupt` is the flag that inflight_next checks, or NULL. */
void inflight_open(struct inflight *window, enum inflight_order order, inflight_fn *cancel,
                   const volatile int *interrupt);
/* Cancels all outstanding work and waits until it has ended. It must be called before the workers
 * are closed. */
void inflight_close(struct inflight *window);

/* Gives an idle item to the window. The item is either new, or was collected and can be used for
 * other work. */
void inflight_add(struct inflight *window, struct inflight_item *item);
/* Removes one idle item (an item that was added and not begun) from the window and returns it.
 * Returns NULL if there is no idle item. */
struct inflight_item *inflight_idle(struct inflight *window);

/* Marks an item as begun. The caller starts the item's work right after this call. */
void inflight_begin(struct inflight *window, struct inflight_item *item);
/* Reports that the item's work is done. Another thread may collect and free the item even before
 * this call returns. */
void inflight_done(struct inflight_item *item);
/* Runs item->run on one of the workers, or in this thread if `workers` is NULL. */
void inflight_run(struct inflight *window, struct workers *workers, struct inflight_item *item);
/* Returns the number of items that are not done. */
size_t inflight_busy(struct inflight *window);

/* Waits for the next item in the window's order, removes it from the window and returns it. Returns
 * NULL if no item is left. If the interrupt flag is set, cancels all work. The remaining items are
 * then returned soon, whether their work has succeeded or not. */
struct inflight_item *inflight_next(struct inflight *window);
/* Like inflight_next, but does not wait. Returns NULL if the next item is not done. */
struct inflight_item *inflight_take(struct inflight *window);
bool inflight_is_ready(struct inflight *window);    /* Returns whether inflight_take would return
                                                       an item. */
/* Waits until an item is done, but at most 50 ms. Only an item that was done after the previous
 * call of this function ends the wait. */
void inflight_wait(struct inflight *window);
/* Makes all work that was started end soon. */
void inflight_cancel(struct inflight *window);

#endif
