/* SPDX-License-Identifier: MIT
 *
 * A progress line on the terminal: bytes, count, rate, time left. Nothing is printed with --quiet
 * or if standard error is not a terminal. */
#ifndef TOOLS_PROGRESS_H
#define TOOLS_PROGRESS_H

#include "sheaf.h"

/* A sheaf_progress_fn that ignores `context`. It may be called at any rate; the line is written at
 * most ten times a second. */
void progress_show(void *context, const struct sheaf_progress *progress);

/* Also receives each progress report, with or without a terminal. May be NULL. */
extern sheaf_progress_fn *progress_also;

/* Removes the line if there is one, so that other text can be written. */
void progress_clear(void);

/* Writes the times of the stages into `text` for --verbose, as in ": scan 0.161 s, pack 0.058 s",
 * or "". Returns `text`. */
#define STAGES_ROOM 400
const char *progress_stages(char text[STAGES_ROOM]);

/* Seconds of the monotonic clock. */
double seconds_now(void);

#endif
