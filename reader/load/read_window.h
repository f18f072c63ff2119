/* SPDX-License-Identifier: MIT
 *
 * How many remote reads run at once: more are issued only as long as they raise the throughput.
 *
 * A near server is not faster for 32 requests than for 4, but each of them has its memory, which
 * is then never in a cache and is touched for the first time; a far one is.  So a few are begun
 * with, and after a while, if the consumer waits for data, twice as many are tried; if what comes
 * then is hardly more, it goes back, and tries again much later.  A slow link, where the memory
 * costs nothing beside the waiting, gets all of them soon and without a trial; one that shows with
 * the first reads gets them then.
 *
 *     4 reads  --consumer waits-->  8 on trial  --faster-->       16 on trial ...
 *                                               --hardly so-->    4, at rest
 *
 * Pure: no clock, no threads. */
#ifndef READER_READ_WINDOW_H
#define READER_READ_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

struct window {
    unsigned most;              /* reads that the memory is there for; 0: no window */
    uint64_t read_bytes;        /* of a usual read */
    unsigned now;               /* reads that may be under way */
    unsigned before;            /* what it was before the trial; 0: no trial is running */
    double before_rate;         /* bytes a nanosecond then */
    unsigned rest;              /* rounds until the next trial may begin */
    bool is_settled;            /* what comes now was asked for with `now` reads */
    /* The round: reads that are settled, or measured. */
    unsigned reads;
    uint64_t bytes, began_ns, stall_ns;
};

/* Sets the limits, the first time or anew; it keeps what it has found out within them. */
void window_fit(struct window *window, unsigned least, unsigned most, uint64_t read_bytes);

/* A read of `bytes` bytes was consumed at `now_ns`; the consumer has waited `stall_ns` in total so
 * far.  Returns whether `now` has changed. */
bool window_took(struct window *window, uint64_t bytes, uint64_t stall_ns, uint64_t now_ns);

#endif
