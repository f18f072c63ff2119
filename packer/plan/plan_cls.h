/* SPDX-License-Identifier: MIT
 *
 * Examines files called .cls while the plan is made. */
#ifndef PACKER_PLAN_PLAN_CLS_H
#define PACKER_PLAN_PLAN_CLS_H

#include "packer/source/source.h"

/* Sets *is_number to whether the file called .cls among the files of a sample contains numbers. It
 * is false for a file that is too large for a label, and true for a file that cannot be read,
 * because packing then reports the error. */
int plan_cls_is_number(const struct source *source, const struct catalog_file *files,
                       uint32_t count, bool *is_number, struct sheaf_error *err);

#endif
