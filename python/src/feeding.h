/* SPDX-License-Identifier: MIT
 *
 * A thread that runs tasks one after another, while the program does other work. The thread never
 * needs the GIL. */
#ifndef PYTHON_FEEDING_H
#define PYTHON_FEEDING_H

#include <stdbool.h>

/* A task of the thread. The owner of the task sets `run`, the function to call. If nobody needs the
 * result of the task any more, the owner sets `is_left`, and `run` should then return soon. */
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
/* Waits until all tasks are done, and ends the thread. `feeding` may be NULL. */
void feeding_stop(struct feeding *feeding);

void feeding_add(struct feeding *feeding, struct feeding_task *feed);
/* Adds a task that is not urgent, without waking the thread. The thread runs this task before the
 * next task that is added with feeding_add, or before the thread ends. */
void feeding_add_later(struct feeding *feeding, struct feeding_task *feed);
bool feeding_is_done(struct feeding *feeding, const struct feeding_task *feed);
/* Waits until the task is done, but at most about a tenth of a second. Returns whether the task is
 * done. */
bool feeding_wait(struct feeding *feeding, struct feeding_task *feed);
/* Abandons a task whose result is not needed any more. A task that has not begun is not run. Waits
 * until the thread no longer uses the task, so that the caller can free it. */
void feeding_leave(struct feeding *feeding, struct feeding_task *feed);

#endif
