/* SPDX-License-Identifier: MIT
 *
 * The retry policy; see retry.h. */
#include "store/retry.h"

#include "base/bytes.h"

/* Returns the upper limit of the wait after `failures` failed attempts: base * 2^(failures - 1),
 * but at most the policy's longest wait. */
static uint64_t ceiling(const struct retry_policy *policy, unsigned failures)
{
    uint64_t wait = policy->base_ns;

    while (--failures != 0 && wait < policy->longest_ns)
        wait *= 2;
    return MIN(wait, policy->longest_ns);
}

bool retry_again(const struct retry_policy *policy, struct retry *retry, uint64_t now_ns,
                 uint64_t retry_after_ns, uint64_t dice, uint64_t *wait_ns)
{
    const uint64_t spent = now_ns - MIN(retry->began_ns, now_ns);
    unsigned __int128 scaled;

    retry->total++;
    if (++retry->failures >= policy->attempts)
        return false;
    scaled = (unsigned __int128)dice * ((unsigned __int128)ceiling(policy, retry->failures) + 1);
    *wait_ns = MAX((uint64_t)(scaled >> 64), retry_after_ns);
    return spent <= policy->time_ns && *wait_ns <= policy->time_ns - spent;
}
