/* SPDX-License-Identifier: MIT
 *
 * Finds fields that only a few samples lack. Such a field is reported, because the few samples
 * without it are probably a mistake in the data. The packer and the command-line tool use the same
 * text for the report, FEW_LACK_TEXT. */
#ifndef BASE_FEW_LACK_H
#define BASE_FEW_LACK_H

#include <inttypes.h>
#include <stdbool.h>

/* "Few" means fewer than one sample in this many. */
#define FEW_LACK_PART 10

/* printf format for reporting a field that a few samples lack. Its arguments are the number of
 * these samples, the plural ending ("" or "s"), the field's name, and the key of the first of these
 * samples. */
#define FEW_LACK_TEXT "%" PRIu64 " sample%s without a field %s; the first: %s"

/* Returns whether only a few samples lack a field. `having` is the number of samples that have the
 * field, and `samples` is the number of all samples. */
static inline bool few_lack(uint64_t having, uint64_t samples)
{
    return having < samples && samples - having < samples / FEW_LACK_PART + 1;
}

#endif
