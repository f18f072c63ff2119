/* SPDX-License-Identifier: MIT
 *
 * The retry policy: when to try again, and when to give up.  Pure: the clock and the random numbers
 * are arguments.
 *
 * Exponential backoff with full jitter: before attempt n + 1 a wait drawn evenly from
 * [0, min(longest, base * 2^(n-1))], since many ranks meet the same overload at the same moment
 * and must not come back together.  A server's Retry-After is a lower bound. */
#ifndef STORE_RETRY_H
#define STORE_RETRY_H

#include <stdbool.h>
#include <stdint.h>

struct retry_policy {
    unsigned attempts;          /* in a row without progress; at least 1 */
    uint64_t time_ns;           /* no attempt begins later than this after the first */
    uint64_t base_ns;
    uint64_t longest_ns;        /* of one wait, but for Retry-After */
};

struct retry {
    uint64_t began_ns;          /* when the first attempt began */
    unsigned failures;          /* since there was progress */
    unsigned total;             /* failures in all, for messages */
};

/* An attempt failed at `now_ns`, in a way that may pass.  True: try again after *wait_ns.
 * `retry_after_ns` is 0 if the server named none; `dice` is 64 random bits. */
bool retry_again(const struct retry_policy *policy, struct retry *retry, uint64_t now_ns,
                 uint64_t retry_after_ns, uint64_t dice, uint64_t *wait_ns);

/* Something was got, so the failures after it are not the same trouble. */
static inline void retry_progress(struct retry *retry)
{
    retry->failures = 0;
}

#endif
