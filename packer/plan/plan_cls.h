/* SPDX-License-Identifier: MIT
 *
 * Looks into a file called .cls while the plan is made. */
#ifndef PACKER_PLAN_PLAN_CLS_H
#define PACKER_PLAN_PLAN_CLS_H

#include "packer/source/source.h"

/* Sets *is_number to whether the file called .cls, of the files of a sample, holds numbers.  A file
 * that is too large for a label does not, and one that cannot be read may: packing says so then. */
int plan_cls_is_number(const struct source *source, const struct catalog_file *files,
                       uint32_t count, bool *is_number, struct sheaf_error *err);

#endif
