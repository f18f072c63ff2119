/* SPDX-License-Identifier: MIT
 *
 * The retry policy: how long to wait before another attempt, and when to give up. (http_error.c
 * decides which failures are worth another attempt.) The functions have no side effects: the clock
 * and the random numbers are arguments. Waits follow an exponential backoff with full jitter: the
 * wait before attempt n + 1 is drawn evenly from [0, min(longest, base * 2^(n-1))]. The jitter
 * matters because many ranks meet the same overload at the same moment, and should not all try
 * again at the same time. A server's Retry-After is a lower bound of the wait. */
#ifndef STORE_RETRY_H
#define STORE_RETRY_H

#include <stdbool.h>
#include <stdint.h>

struct retry_policy {
    /* largest number of consecutive failed attempts without progress; at least 1 */
    unsigned attempts;
    /* no new attempt begins when this time has passed since the first attempt */
    uint64_t time_ns;
    uint64_t base_ns;
    uint64_t longest_ns;        /* longest wait, except for Retry-After */
};

struct retry {
    uint64_t began_ns;          /* when the first attempt began */
    unsigned failures;          /* since there was progress */
    unsigned total;             /* failures in all, for messages */
};

/* Called after an attempt has failed temporarily at the time `now_ns`. Returns true if another
 * attempt should follow after *wait_ns. `retry_after_ns` is the server's Retry-After, or 0. `dice`
 * is a random number of 64 bits. */
bool retry_again(const struct retry_policy *policy, struct retry *retry, uint64_t now_ns,
                 uint64_t retry_after_ns, uint64_t dice, uint64_t *wait_ns);

/* Records that bytes have arrived, so that later failures count as a new fault. */
static inline void retry_progress(struct retry *retry)
{
    retry->failures = 0;
}

#endif
