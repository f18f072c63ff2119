/* SPDX-License-Identifier: MIT
 *
 * SIGINT, SIGTERM and SIGHUP for commands that have something to clean up.  The first one asks
 * the work to end; a second one kills.  When all is clean the command dies of the signal it got,
 * so that a shell or scheduler sees what happened. */
#ifndef TOOLS_SIGNALS_H
#define TOOLS_SIGNALS_H

#include "sheaf.h"

/* The signal that was caught; 0: none.  What the library's `interrupt` options point to. */
extern volatile int signals_caught;

/* From now on.  A signal that is ignored (nohup) stays so. */
void signals_catch(void);

/* The reader to be interrupted by a signal; NULL before it is freed. */
void signals_watch(struct sheaf_reader *reader);

/* Ends the process by the signal that was caught; returns if there was none. */
void signals_die(void);

/* From now on a write to a pipe without a reader fails with EPIPE. */
void signals_hold_pipe(void);

/* Ends the process by SIGPIPE, as such a write would have; returns if that was ignored before. */
void signals_die_of_pipe(void);

#endif
