/* SPDX-License-Identifier: MIT
 *
 * Finds the fields that few samples of a plan lack. A dry run reports them before anything is
 * packed. */
#ifndef PACKER_FEW_FIELDS_H
#define PACKER_FEW_FIELDS_H

#include "formats/tally.h"
#include "packer/source/problems.h"

/* Counts the fields of a sample, which is given by its record in the plan. */
int few_fields_count(struct tally *tally, const uint8_t *record, size_t size,
                     struct sheaf_error *err);
/* Reports each such field, as the command does after packing. */
void few_fields_tell(const struct tally *tally, const struct problems *problems);

#endif
