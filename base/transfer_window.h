/* SPDX-License-Identifier: MIT
 *
 * Decides how many transfers to or from a remote store run at the same time. A transfer is a read
 * ahead of its consumer, or the upload of a part. The comments here describe reads. For uploads, an
 * acknowledged part counts as a consumed read, and a waiting producer as a waiting consumer.
 *
 * Each simultaneous read needs memory of its own, and many reads help only if the server is
 * distant. So only a few reads are started at first. If the consumer still has to wait, a trial
 * begins: for a while, twice the number of reads run at the same time. If the throughput is then
 * hardly higher, the number is set back, and the next trial comes much later. Otherwise the number
 * stays, and a trial of twice this number follows.
 *
 * On a slow link, the number rises without trials (SLOW and QUICK in transfer_window.c). The
 * functions use no clock and no threads. */
#ifndef BASE_TRANSFER_WINDOW_H
#define BASE_TRANSFER_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

struct window {
    /* largest number of simultaneous reads, which the caller has computed from its memory; 0 if
     * this struct does not limit the number */
    unsigned most;
    uint64_t read_bytes;        /* size of a usual read */
    unsigned now;               /* number of reads that may be under way */
    /* value of `now` (the number of simultaneous reads) before the present trial; 0 if there is no
     * trial */
    unsigned before;
    double before_rate;         /* bytes per nanosecond before the trial */
    unsigned rest;              /* number of rounds until the next trial may begin */
    /* false after a change of `now` (the number of simultaneous reads), until this number of reads
     * has been completed. The rate in this time is not judged, because some of these reads were
     * started before the change. */
    bool is_settled;
    unsigned reads;             /* number of reads in the current round of measurement */
    uint64_t bytes,             /* of these reads */
        began_ns,               /* time at which the round began */
        stall_ns;               /* the consumer's total waiting time when the round began */
};

/* Sets or changes the limits of the number of simultaneous reads. The present number stays if it is
 * within the new limits, because earlier rounds of measurement have found it to be best. */
void window_fit(struct window *window, unsigned least, unsigned most, uint64_t read_bytes);

/* Reports that the consumer has taken a read of `bytes` bytes at the time now_ns. stall_ns is the
 * total time that the consumer has waited so far. Returns whether the number of simultaneous reads
 * has changed. */
bool window_took(struct window *window, uint64_t bytes, uint64_t stall_ns, uint64_t now_ns);

#endif
