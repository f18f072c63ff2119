/* SPDX-License-Identifier: MIT
 *
 * A thread that does tasks one after another, while the program does other work. It never needs the
 * GIL. */
#ifndef PYTHON_FEEDING_H
#define PYTHON_FEEDING_H

#include <stdbool.h>

/* A task. The owner sets `run`. When nobody needs the result of the task any more, the owner sets
 * `is_left`, and `run` should then return soon. */
struct feeding_task {
    void (*run)(struct feeding_task *feed);
    _Atomic bool is_left;
    bool frees_itself;              /* run() frees the task, and nobody waits for it */
    struct feeding_task *next;
    /* whether the thread no longer uses the task; protected by the thread's lock */
    bool is_done;
};

struct feeding;

/* Starts the thread. Returns NULL if that fails. */
struct feeding *feeding_start(void);
/* Ends the thread when its tasks are done. NULL is allowed. */
void feeding_stop(struct feeding *feeding);

void feeding_add(struct feeding *feeding, struct feeding_task *feed);
/* Adds a task that is done before the next task that feeding_add adds, at the latest before the
 * thread ends. */
void feeding_add_later(struct feeding *feeding, struct feeding_task *feed);
bool feeding_is_done(struct feeding *feeding, const struct feeding_task *feed);
/* Waits for the task, for at most about a tenth of a second. Returns whether it is done. */
bool feeding_wait(struct feeding *feeding, struct feeding_task *feed);
/* Called when nobody needs the task's result any more. Waits until the thread no longer uses the
 * task. If the task has not begun, it is not run. */
void feeding_leave(struct feeding *feeding, struct feeding_task *feed);

#endif
