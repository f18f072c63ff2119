/* SPDX-License-Identifier: MIT
 *
 * Progress reports and interruption of long calls. */
#include "base/watch.h"

#include "base/error.h"
#include "base/flag.h"
#include "base/timed_wait.h"

#define EVERY_NS 100000000u

int watch_check(const struct watch *w, struct sheaf_error *err)
{
    if (flag_is_raised(w->interrupt))
        return err_set(err, SHEAF_ERR_INTERRUPTED, "interrupted");
    return SHEAF_OK;
}

static bool is_end_of_stage(const struct sheaf_progress *p)
{
    return p->total_count != 0 ? p->done_count == p->total_count
                               : p->total_bytes != 0 && p->done_bytes == p->total_bytes;
}

void watch_show(struct watch *w, const struct sheaf_progress *progress)
{
    uint64_t now;

    if (w->progress == NULL)
        return;
    now = clock_ns();
    if (w->shown_ns != 0 && now - w->shown_ns < EVERY_NS && !is_end_of_stage(progress))
        return;
    w->shown_ns = now;
    w->progress(w->context, progress);
}
