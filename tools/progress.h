/* SPDX-License-Identifier: MIT
 *
 * A progress line on the terminal, with bytes, count, rate and time left. Prints nothing with
 * --quiet, or if standard error is not a terminal. */
#ifndef TOOLS_PROGRESS_H
#define TOOLS_PROGRESS_H

#include "sheaf.h"

/* A function of the type sheaf_progress_fn that ignores `context`. It may be called at any rate;
 * the line is written at most ten times a second. */
void progress_show(void *context, const struct sheaf_progress *progress);

/* A further function that receives each progress report, whether there is a terminal or not. May be
 * NULL. */
extern sheaf_progress_fn *progress_also;

/* Removes the progress line, if one is shown, so that other text can be written. */
void progress_clear(void);

#define STAGES_ROOM 400
/* Writes the time that each stage of the command took to `text`, as in ": scan 0.161 s, pack
 * 0.058 s". Writes "" if there are no stages. Returns `text`. */
const char *progress_stages(char text[STAGES_ROOM]);

/* Seconds of the monotonic clock. */
double seconds_now(void);

#endif
