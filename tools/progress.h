/* SPDX-License-Identifier: MIT
 *
 * Shows the progress of a command as a line on the terminal, with bytes, count, rate and time left.
 * Shows nothing with --quiet, or if standard error is not a terminal. */
#ifndef TOOLS_PROGRESS_H
#define TOOLS_PROGRESS_H

#include "sheaf.h"

/* Shows the progress `progress`; a function of the type sheaf_progress_fn, which ignores `context`.
 * The function may be called any number of times, because it writes the line at most ten times a
 * second. */
void progress_show(void *context, const struct sheaf_progress *progress);

/* A further function for progress reports, or NULL. progress_show passes each report to this
 * function, even if there is no terminal. */
extern sheaf_progress_fn *progress_also;

/* Removes the progress line, if one is shown, so that other text can be written. */
void progress_clear(void);

#define STAGES_ROOM 400
/* Writes to `text` how long each stage of the command took, as in ": scan 0.161 s, pack 0.058 s".
 * Writes an empty text if the command has no stages. Returns `text`. */
const char *progress_stages(char text[STAGES_ROOM]);

/* Seconds of the monotonic clock. */
double seconds_now(void);

#endif
