/* SPDX-License-Identifier: MIT
 *
 * A progress line on the terminal: bytes, count, rate, time left.  Silent with --quiet, and if
 * standard error is not a terminal. */
#ifndef TOOLS_PROGRESS_H
#define TOOLS_PROGRESS_H

#include "sheaf.h"

/* A sheaf_progress_fn; `context` is not used.  May be called as often as one likes: the line is
 * written at most ten times a second. */
void progress_show(void *context, const struct sheaf_progress *progress);

/* Told the same, each time, terminal or not; NULL. */
extern sheaf_progress_fn *progress_also;

/* Takes the line away, if there is one, so that other text can be written. */
void progress_clear(void);

/* With --verbose, at the end: ": scan 0.161 s, pack 0.058 s", or ""; `text`. */
#define STAGES_ROOM 400
const char *progress_stages(char text[STAGES_ROOM]);

/* Seconds of the monotonic clock. */
double seconds_now(void);

#endif
