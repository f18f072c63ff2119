/* SPDX-License-Identifier: MIT
 *
 * A progress line on the terminal: bytes, count, rate, time left.  Silent if standard error is not
 * a terminal. */
#ifndef TOOLS_PROGRESS_H
#define TOOLS_PROGRESS_H

#include "sheaf.h"

/* A sheaf_progress_fn; `context` is not used.  May be called as often as one likes: the line is
 * written at most ten times a second. */
void progress_show(void *context, const struct sheaf_progress *progress);

/* Takes the line away, if there is one, so that other text can be written. */
void progress_clear(void);

/* Seconds of the monotonic clock. */
double seconds_now(void);

#endif
