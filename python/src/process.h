/* SPDX-License-Identifier: MIT
 *
 * Counts the forks of this process, and starts threads of this module. This file and the files of
 * the serving thread (serving.h) do not use Python, so tests can link them without Python. */
#ifndef PYTHON_PROCESS_H
#define PYTHON_PROCESS_H

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

/* Number of forks between this process and the process that loaded the module. A forked child does
 * not have its parent's threads. So an object with threads can be used only while the number is the
 * same as when the object was made. */
extern volatile unsigned fork_count;

/* Counts the forks in which this process was the parent or the child. If the count has changed
 * since an object was made, another process may have a copy of the object. */
extern volatile unsigned forks_begun;

/* Begins to count the forks of this process. Each forked child calls the function `in_child`.
 * Returns false if memory is exhausted. */
bool forks_watch(void (*in_child)(void));

/* Starts a thread that calls run(argument), with all signals blocked, because only the program's
 * own threads should handle signals. */
bool thread_start(pthread_t *thread, void *(*run)(void *), void *argument);
/* next_tick returns the time at which a waiting thread should check for signals again, about a
 * tenth of a second from now. tick_condition_init initialises a condition variable for waits until
 * such a time. */
struct timespec next_tick(void);
void tick_condition_init(pthread_cond_t *condition);

#endif
