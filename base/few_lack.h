/* SPDX-License-Identifier: MIT
 *
 * Fields that few samples lack: likely a mistake, of which the packer tells before packing, and the
 * command afterwards, in the same words. */
#ifndef BASE_FEW_LACK_H
#define BASE_FEW_LACK_H

#include <inttypes.h>
#include <stdbool.h>

/* Fewer than one sample in this many. */
#define FEW_LACK_PART 10

/* Their number, "" or "s", the field, and the key of the first. */
#define FEW_LACK_TEXT "%" PRIu64 " sample%s without a field %s; the first: %s"

/* Whether few of `samples` lack a field that `having` of them have. */
static inline bool few_lack(uint64_t having, uint64_t samples)
{
    return having < samples && samples - having < samples / FEW_LACK_PART + 1;
}

#endif
