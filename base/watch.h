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
    uint64_t shown_ns;                  /* when progress was called last */
};

/* SHEAF_OK, or SHEAF_ERR_INTERRUPTED. */
int watch_check(const struct watch *w, struct sheaf_error *err);

/* Calls back, unless that was done less than a tenth of a second ago and the stage goes on. */
void watch_show(struct watch *w, const struct sheaf_progress *progress);

#endif
