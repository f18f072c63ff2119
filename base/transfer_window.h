/* SPDX-License-Identifier: MIT
 *
 * Decides how many transfers to or from a remote store run at once. Transfers are reads ahead of
 * their consumer, or uploads of parts after their producer. More transfers are started only as long
 * as they raise the throughput. The comments here describe reads. For uploads, an acknowledged part
 * counts like a consumed read, and a waiting producer like a waiting consumer.
 *
 * A near server is not faster with 32 requests than with 4, and each request needs memory of its
 * own, which is then never in a CPU cache. A distant server is faster with more requests. So at
 * first only a few requests are started. If the consumer still waits for data after a while, twice
 * the number is tried. If the throughput is then hardly higher, the number is set back, and the
 * next trial comes much later. For example, 4 reads are followed by a trial with 8 reads if the
 * consumer waits. If 8 reads are faster, the next trial has 16 reads, otherwise the number is 4
 * again. For a slow link, the number is doubled after each round without a trial, up to its limit
 * (`most`), because the memory costs little compared with the waiting. If even the first reads are
 * slow, the number rises in one step, by the factor by which the link is too slow.
 *
 * The functions use no clock and no threads. */
#ifndef BASE_TRANSFER_WINDOW_H
#define BASE_TRANSFER_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

struct window {
    /* largest number of reads at once that memory allows; 0 if this window does not limit the
     * reads */
    unsigned most;
    uint64_t read_bytes;        /* size of a usual read */
    unsigned now;               /* number of reads that may be under way */
    /* value of `now` before the current trial; 0 if no trial is running */
    unsigned before;
    double before_rate;         /* bytes per nanosecond before the trial */
    unsigned rest;              /* number of rounds until the next trial may begin */
    /* whether the reads that are now finishing were started after the last change of `now` */
    bool is_settled;
    unsigned reads;             /* number of reads in the current round of measurement */
    uint64_t bytes,             /* of these reads */
        began_ns,               /* time at which the round began */
        stall_ns;               /* the consumer's total waiting time when the round began */
};

/* Sets or changes the limits for the number of reads at once. The present number, which earlier
 * rounds have found to be best, stays unchanged if it is within the new limits. */
void window_fit(struct window *window, unsigned least, unsigned most, uint64_t read_bytes);

/* Reports that the consumer took a read of `bytes` bytes at the time `now_ns`. `stall_ns` is the
 * total time that the consumer has waited so far. Returns whether the number of reads at once has
 * changed. */
bool window_took(struct window *window, uint64_t bytes, uint64_t stall_ns, uint64_t now_ns);

#endif
