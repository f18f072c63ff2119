/* SPDX-License-Identifier: MIT
 *
 * The retry policy: how long to wait before another attempt, and when to give up. http_error.c
 * decides which failures may be tried again. The clock and the random numbers are arguments, so the
 * functions have no side effects.
 *
 * Waits grow exponentially. They are random, because many ranks that meet an overload together
 * would otherwise all try again together. The wait before attempt n + 1 is drawn evenly from 0 to
 * min(longest, base * 2^(n-1)). If the server sends the header Retry-After, the wait is at least as
 * long as this header says. */
#ifndef STORE_RETRY_H
#define STORE_RETRY_H

#include <stdbool.h>
#include <stdint.h>

struct retry_policy {
    /* number of failed attempts in a row, without a received byte, after which no further attempt
     * is made; at least 1 */
    unsigned attempts;
    /* If this time in nanoseconds has passed since the first attempt, no further attempt begins. */
    uint64_t time_ns;
    uint64_t base_ns;
    uint64_t longest_ns;        /* longest wait, except for Retry-After */
};

struct retry {
    uint64_t began_ns;          /* when the first attempt began */
    unsigned failures;          /* since there was progress */
    unsigned total;             /* failures in all, for messages */
};

/* Decides whether another attempt follows an attempt that failed temporarily at the time now_ns. If
 * another attempt follows, returns true and sets *wait_ns to the time before this attempt.
 * retry_after_ns is the wait that the server's header Retry-After demands, or 0 if there is no such
 * header. `dice` is a random number of 64 bits, from which the wait is drawn. */
bool retry_again(const struct retry_policy *policy, struct retry *retry, uint64_t now_ns,
                 uint64_t retry_after_ns, uint64_t dice, uint64_t *wait_ns);

/* Records that bytes have arrived. A later failure then counts as a new fault, and the full number
 * of attempts is available for it. */
static inline void retry_progress(struct retry *retry)
{
    retry->failures = 0;
}

#endif
