/* SPDX-License-Identifier: MIT
 *
 * What the process is doing that other files must know of: forks, and threads of the module's own.
 * Knows nothing of Python, as all that the serving thread (serving.h) is made of: so tests can link
 * it by itself. */
#ifndef PYTHON_PROCESS_H
#define PYTHON_PROCESS_H

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

/* How often this process is the child of a fork since the module was loaded.  An object with
 * threads is of use only while the number is what it was when the object was made. */
extern volatile unsigned fork_count;

/* How often this process has forked, or is the child of one that has.  What was made before may be
 * in another process too. */
extern volatile unsigned forks_begun;

/* Counts from now on; in_child is called in the child of each fork.  False: there is no memory. */
bool forks_watch(void (*in_child)(void));

/* A thread with all signals blocked: they are for the threads of the program. */
bool thread_start(pthread_t *thread, void *(*run)(void *), void *argument);
/* When those who wait look again whether there was a signal; and a condition for such waits. */
struct timespec next_tick(void);
void tick_condition_init(pthread_cond_t *condition);

#endif
