/* SPDX-License-Identifier: MIT
 *
 * Fields that a few samples lack, which is probably a mistake. The packer reports them before
 * packing and the command afterwards, in the same words. */
#ifndef BASE_FEW_LACK_H
#define BASE_FEW_LACK_H

#include <inttypes.h>
#include <stdbool.h>

/* "Few" means fewer than one sample in this many. */
#define FEW_LACK_PART 10

/* The arguments are the number of samples, "" or "s", the field, and the key of the first sample.
 */
#define FEW_LACK_TEXT "%" PRIu64 " sample%s without a field %s; the first: %s"

/* Returns whether few of `samples` lack a field that `having` of them have. */
static inline bool few_lack(uint64_t having, uint64_t samples)
{
    return having < samples && samples - having < samples / FEW_LACK_PART + 1;
}

#endif
