/* SPDX-License-Identifier: MIT
 *
 * Decides how many transfers to or from a remote store run at the same time. A transfer is a read
 * ahead of its consumer, or the upload of a part. The comments here speak of reads only. Uploads
 * are handled in the same way: an acknowledged part counts as a consumed read, and a waiting
 * producer as a waiting consumer.
 *
 * Each simultaneous read needs memory, and many reads help only if the server is distant. So only a
 * few reads run at first. If the consumer has to wait, a trial begins, in which the number of reads
 * is doubled for a while. If the throughput hardly rises, the old number is restored, and the next
 * trial comes much later. Otherwise the next trial follows at once.
 *
 * On a slow link, the number rises without trials (SLOW and QUICK in transfer_window.c). */
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
    /* number of simultaneous reads (`now`) before the present trial; 0 if there is no trial */
    unsigned before;
    double before_rate;         /* bytes per nanosecond before the trial */
    unsigned rest;              /* number of rounds until the next trial may begin */
    /* false after a change of `now`, the number of simultaneous reads, until the next `now` reads
     * are complete. Some of these reads began before the change, so their rate is not judged. */
    bool is_settled;
    unsigned reads;             /* number of reads in the current round of measurement */
    uint64_t bytes,             /* of these reads */
        began_ns,               /* time at which the round began */
        stall_ns;               /* the consumer's total waiting time when the round began */
};

/* Sets the limits for the number of simultaneous reads. If the present number is within the limits,
 * it stays, because earlier measurements have found it to be good. */
void window_fit(struct window *window, unsigned least, unsigned most, uint64_t read_bytes);

/* Reports that the consumer has taken a read of `bytes` bytes at the time now_ns. stall_ns is the
 * total time that the consumer has waited so far. Returns whether the number of simultaneous reads
 * has changed. */
bool window_took(struct window *window, uint64_t bytes, uint64_t stall_ns, uint64_t now_ns);

#endif
