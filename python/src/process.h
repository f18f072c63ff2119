/* SPDX-License-Identifier: MIT
 *
 * Facts about the process that other files need: forks, and threads of this module. This file and
 * the files of the serving thread (serving.h) do not use Python, so tests can link them without
 * Python. */
#ifndef PYTHON_PROCESS_H
#define PYTHON_PROCESS_H

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

/* Number of times that this process became a forked child since the module was loaded. An object
 * with threads is usable only while the number is the same as when the object was made. */
extern volatile unsigned fork_count;

/* Number of forks in which this process was the parent or the child. If an object was made before
 * the last of these forks, the other process may have it as well. */
extern volatile unsigned forks_begun;

/* Begins to count forks. in_child is called in each forked child. Returns false if memory is
 * exhausted. */
bool forks_watch(void (*in_child)(void));

/* Starts a thread with all signals blocked, because only the program's own threads should handle
 * signals. */
bool thread_start(pthread_t *thread, void *(*run)(void *), void *argument);
/* next_tick returns the time at which a waiting thread should check for signals again.
 * tick_condition_init initialises a condition variable for such waits. */
struct timespec next_tick(void);
void tick_condition_init(pthread_cond_t *condition);

#endif
