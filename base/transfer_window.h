/* SPDX-License-Identifier: MIT
 *
 * Decides how many transfers to or from a remote store run at once: reads ahead of their consumer,
 * and parts that are sent behind their producer. More are issued only as long as they raise the
 * throughput. The comments describe reads; a part that was acknowledged counts like a read that was
 * consumed, and a producer that waits like a consumer.
 *
 * A near server is not faster with 32 requests than with 4, and each request has memory of its
 * own, which is then never in a cache. A distant server is faster. So a few requests are issued at
 * first. After a while, if the consumer waits for data, twice the number is tried. If the
 * throughput is hardly higher then, the number is reset, and the next trial is much later. A slow
 * link gets the full number soon and without a trial, because its memory costs little beside the
 * waiting. A link that is slow with the first reads gets it at once.
 *
 *     4 reads  --consumer waits-->  8 on trial  --faster-->       16 on trial ...
 *                                               --hardly so-->    4, at rest
 *
 * Pure: no clock, no threads. */
#ifndef BASE_TRANSFER_WINDOW_H
#define BASE_TRANSFER_WINDOW_H

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
