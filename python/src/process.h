/* SPDX-License-Identifier: MIT
 *
 * Facts about the process that other files need: forks, and threads of the module's own. It does
 * not use Python, like everything that the serving thread (serving.h) is made of, so that tests can
 * link it alone. */
#ifndef PYTHON_PROCESS_H
#define PYTHON_PROCESS_H

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

/* How often this process became the child of a fork since the module was loaded. An object with
 * threads is usable only while the number is the same as when the object was made. */
extern volatile unsigned fork_count;

/* Number of times that this process forked or was forked. Objects that were made before the last of
 * them may exist in another process as well. */
extern volatile unsigned forks_begun;

/* Starts counting. in_child is called in the child of each fork. Returns false if memory is
 * exhausted. */
bool forks_watch(void (*in_child)(void));

/* Starts a thread with all signals blocked, because signals are for the threads of the program. */
bool thread_start(pthread_t *thread, void *(*run)(void *), void *argument);
/* Return the time at which waiting threads check for a signal again, and initialise a condition for
 * such waits. */
struct timespec next_tick(void);
void tick_condition_init(pthread_cond_t *condition);

#endif
