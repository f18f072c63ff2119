/* SPDX-License-Identifier: MIT
 *
 * A window of outstanding work: one thread starts jobs ahead of time and collects them, in order or
 * as they finish, while other threads do them.
 *
 *     IDLE --inflight_idle, inflight_begin--> BUSY --inflight_done--> DONE --inflight_next--+
 *       ^                                     (any thread)                                  |
 *       +------------------------------- inflight_add --------------------------------------+
 *
 * Items are embedded, as the first member, in structs of the caller.  Either they are given to the
 * window at its start, and there is never more work than there are items; or each is allocated for
 * its work, and the caller limits them, by `count`, inflight_busy or a memory budget.
 *
 * The window does not care what does the work: a pool of workers (inflight_run), or whatever
 * calls inflight_done in the end, such as a read that a store has under way (store/read_item.h).
 * The result is in the caller's struct, beside the item: a caller that takes a failed one back
 * knows which one it is.  All calls but inflight_done are for the one thread. */
#ifndef BASE_INFLIGHT_H
#define BASE_INFLIGHT_H

#include <pthread.h>

#include "base/workers.h"

struct inflight_item;
typedef void inflight_fn(struct inflight_item *item);

struct inflight_item {
    inflight_fn *run;               /* the work of inflight_run; the caller's */
    struct job job;                 /* the rest is the window's */
    struct inflight *window;
    struct inflight_item *next;
    bool is_done;                   /* guarded by the window's lock */
};

enum inflight_order { INFLIGHT_OLDEST, INFLIGHT_ANY };      /* which is taken back */

struct inflight {
    struct inflight_item *first, **last;    /* started and not taken back, the oldest first */
    size_t count;                   /* of these */
    struct inflight_item *idle;
    enum inflight_order order;
    inflight_fn *cancel;
    const volatile int *interrupt;
    int is_cancelled;               /* a flag: what runs from here on does nothing */
    pthread_mutex_t lock;
    pthread_cond_t landed;
    struct {
        size_t busy;
        const struct inflight_item *awaited;    /* NULL: any */
        bool any_landed;            /* since the last wait */
    } locked;
};

/* `cancel` makes an item's work end soon, if it has not ended; NULL: nothing does, but for work of
 * inflight_run that waits for its turn, which is left out.  `interrupt`: see inflight_next; NULL:
 * it never rises. */
void inflight_open(struct inflight *window, enum inflight_order order, inflight_fn *cancel,
                   const volatile int *interrupt);
/* Cancels, and waits for what is under way; before the workers that do it are closed. */
void inflight_close(struct inflight *window);

/* Gives an item to the window, new or taken back, to be used for other work. */
void inflight_add(struct inflight *window, struct inflight_item *item);
/* An item that was added and not begun; it leaves the idle ones.  NULL: there is none. */
struct inflight_item *inflight_idle(struct inflight *window);

/* The caller starts the item's work right after this. */
void inflight_begin(struct inflight *window, struct inflight_item *item);
/* The work is done.  The item may be taken back, and be gone, before this returns. */
void inflight_done(struct inflight_item *item);
/* Begins item->run on one of the workers; NULL: does it here. */
void inflight_run(struct inflight *window, struct workers *workers, struct inflight_item *item);
/* How many are not done. */
size_t inflight_busy(struct inflight *window);

/* Waits for the one whose turn it is, and takes it back; NULL: none is left.  Once the interrupt
 * has risen, everything is cancelled and comes back soon, with whatever result. */
struct inflight_item *inflight_next(struct inflight *window);
/* The same, without waiting: NULL also if it is not done. */
struct inflight_item *inflight_take(struct inflight *window);
bool inflight_is_ready(struct inflight *window);    /* whether there would be one */
/* Waits until any has landed since the last such wait, for 50 ms at most. */
void inflight_wait(struct inflight *window);
/* Makes all work that was started end soon. */
void inflight_cancel(struct inflight *window);

#endif
