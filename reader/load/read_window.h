/* SPDX-License-Identifier: MIT
 *
 * Decides how many remote reads run at once. More reads are issued only if they raise the
 * throughput.
 *
 * A near server is not faster with 32 requests than with 4. But each request needs memory of its
 * own, which is new and not in any cache. A distant server is faster with more. So a reader begins
 * with a few reads. If the consumer later waits for data, twice the number is tried. If the
 * throughput hardly rises, the window returns to the former number and tries again much later. On a
 * slow link, where waiting costs more than memory, the window grows at once without a trial.
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
    unsigned most;              /* largest number of reads that memory allows; 0: no window */
    uint64_t read_bytes;        /* size of a usual read */
    unsigned now;               /* number of reads that may be under way */
    unsigned before;            /* value of `now` before the trial; 0 if there is no trial */
    double before_rate;         /* bytes per nanosecond before the trial */
    unsigned rest;              /* number of rounds until the next trial may begin */
    bool is_settled;            /* the reads that finish now were requested with the current
                                   window */
    /* The current round: number of reads since the window settled. */
    unsigned reads;
    uint64_t bytes, began_ns, stall_ns;
};

/* Sets or changes the limits. The window keeps what it has learnt, within the new limits. */
void window_fit(struct window *window, unsigned least, unsigned most, uint64_t read_bytes);

/* Reports that a read of `bytes` bytes was consumed at `now_ns`. `stall_ns` is the total time that
 * the consumer has waited so far. Returns whether `now` has changed. */
bool window_took(struct window *window, uint64_t bytes, uint64_t stall_ns, uint64_t now_ns);

#endif
