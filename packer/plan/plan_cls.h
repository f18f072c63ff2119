/* SPDX-License-Identifier: MIT
 *
 * Examines files called .cls while the plan is made. */
#ifndef PACKER_PLAN_PLAN_CLS_H
#define PACKER_PLAN_PLAN_CLS_H

#include "packer/source/source.h"

/* Sets *is_number to whether the file .cls among the sample's files consists of numbers. A file
 * that is too large for a label does not. If the file cannot be read, *is_number becomes true, and
 * packing will report the error later. */
int plan_cls_is_number(const struct source *source, const struct catalog_file *files,
                       uint32_t count, bool *is_number, struct sheaf_error *err);

#endif
