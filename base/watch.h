/* SPDX-License-Identifier: MIT
 *
 * Progress reports and interruption of a long call. */
#ifndef BASE_WATCH_H
#define BASE_WATCH_H

#include "sheaf.h"

struct watch {
    sheaf_progress_fn *progress;        /* NULL: none */
    void *context;
    const volatile int *interrupt;      /* NULL: never */
    uint64_t shown_ns;                  /* time of the last progress call */
    const char *stage;                  /* stage that is reported while a thread waits for a job */
};

/* Returns SHEAF_ERR_INTERRUPTED if the caller's interrupt flag is set, otherwise SHEAF_OK. */
int watch_check(const struct watch *w, struct sheaf_error *err);

/* Calls the progress function of the program, but at most ten times a second during one stage of
 * the work (struct sheaf_progress). */
void watch_show(struct watch *w, const struct sheaf_progress *progress);

#endif
