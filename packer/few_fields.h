/* SPDX-License-Identifier: MIT
 *
 * Finds fields that almost all samples of a plan have and only a few lack, which is probably a
 * mistake. A dry run reports them before anything is packed. */
#ifndef PACKER_FEW_FIELDS_H
#define PACKER_FEW_FIELDS_H

#include "formats/tally.h"
#include "packer/source/problems.h"

/* Counts the fields of one sample of a plan. `record` has the sample in the form in which a plan
 * stores it, and `size` is the length of `record`. */
int few_fields_count(struct tally *tally, const uint8_t *record, size_t size,
                     struct sheaf_error *err);
/* Reports each field that only a few samples lack, in the same words as the report that the command
 * prints after packing. */
void few_fields_tell(const struct tally *tally, const struct problems *problems);

#endif
