/* SPDX-License-Identifier: MIT
 *
 * SIGINT, SIGTERM and SIGHUP for commands that have something to clean up. The first signal asks
 * the work to end, and a second one kills the process. After cleaning up, the command dies of the
 * signal it got, so that a shell or scheduler sees what happened. */
#ifndef TOOLS_SIGNALS_H
#define TOOLS_SIGNALS_H

#include "sheaf.h"

/* The caught signal, or 0. The library's `interrupt` options point to it. */
extern volatile int signals_caught;

/* Starts catching the signals. A signal that was ignored (nohup) stays ignored. */
void signals_catch(void);

/* Sets the reader that a signal interrupts. Must be called with NULL before the reader is freed. */
void signals_watch(struct sheaf_reader *reader);

/* Ends the process by the caught signal. Returns if there was none. */
void signals_die(void);

/* Makes writes to a pipe without a reader fail with EPIPE from now on. */
void signals_hold_pipe(void);

/* Ends the process by SIGPIPE, as such a write would have done. Returns if SIGPIPE was ignored
 * before. */
void signals_die_of_pipe(void);

#endif
