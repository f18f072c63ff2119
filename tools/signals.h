/* SPDX-License-Identifier: MIT
 *
 * Handles SIGINT, SIGTERM and SIGHUP, for commands that have something to clean up. The first
 * signal asks the work to end, and a second one kills the process. After cleaning up, the command
 * ends itself with the same signal, so that a shell or scheduler sees the reason. */
#ifndef TOOLS_SIGNALS_H
#define TOOLS_SIGNALS_H

#include "sheaf.h"

/* Number of the signal that was caught, or 0. The `interrupt` options of library calls point to
 * this variable, so that a signal ends the call. */
extern volatile int signals_caught;

/* Begins to catch SIGINT, SIGTERM and SIGHUP. A signal that was ignored when the process started
 * (as with nohup) stays ignored. */
void signals_catch(void);

/* Sets the reader that is interrupted when a signal arrives. The function must be called with NULL
 * before the reader is freed. */
void signals_watch(struct sheaf_reader *reader);

/* Ends the process by the signal that was caught, so that its parent sees the reason. Returns if no
 * signal was caught. */
void signals_die(void);

/* Ignores SIGPIPE. After this call, a write to a pipe without a reader fails with EPIPE instead of
 * killing the process. */
void signals_hold_pipe(void);

/* Ends the process by SIGPIPE, as a write to a pipe without a reader normally does. Returns only if
 * SIGPIPE was ignored when the process started. */
void signals_die_of_pipe(void);

#endif
