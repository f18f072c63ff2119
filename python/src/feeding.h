/* SPDX-License-Identifier: MIT
 *
 * A thread that does tasks one after another, for a program that has other work meanwhile. It
 * never needs the GIL. */
#ifndef PYTHON_FEEDING_H
#define PYTHON_FEEDING_H

#include <stdbool.h>

/* A task. The owner sets `run`, and *is_left once nobody needs the result any more; `run` should
 * then return soon. */
struct feeding_task {
    void (*run)(struct feeding_task *feed);
    _Atomic bool is_left;
    struct feeding_task *next;
    bool is_done;                   /* the thread no longer uses the task; has the thread's lock */
};

struct feeding;

/* Starts the thread. Returns NULL if that fails. */
struct feeding *feeding_start(void);
/* Ends the thread, which must have no tasks. NULL is allowed. */
void feeding_stop(struct feeding *feeding);

void feeding_add(struct feeding *feeding, struct feeding_task *feed);
/* Waits for the task, for at most about a tenth of a second. Returns whether it is done. */
bool feeding_wait(struct feeding *feeding, struct feeding_task *feed);
/* Waits until the thread no longer uses the task. The task is not run if it has not begun. */
void feeding_leave(struct feeding *feeding, struct feeding_task *feed);

#endif
