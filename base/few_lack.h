/* SPDX-License-Identifier: MIT
 *
 * Finds fields that only a few samples lack, which is probably a mistake in the data. The packer
 * reports such fields before packing, and the command-line tool reports them after packing, in the
 * same words. */
#ifndef BASE_FEW_LACK_H
#define BASE_FEW_LACK_H

#include <inttypes.h>
#include <stdbool.h>

/* "Few" means fewer than one sample in this many. */
#define FEW_LACK_PART 10

/* printf format of the report. Its arguments are the number of samples, the plural ending ("" or
 * "s"), the field's name, and the key of the first sample without the field. */
#define FEW_LACK_TEXT "%" PRIu64 " sample%s without a field %s; the first: %s"

/* Returns whether only a few samples lack a field. `samples` is the number of samples, and `having`
 * is the number of samples that have the field. */
static inline bool few_lack(uint64_t having, uint64_t samples)
{
    return having < samples && samples - having < samples / FEW_LACK_PART + 1;
}

#endif
