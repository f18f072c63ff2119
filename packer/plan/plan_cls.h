/* SPDX-License-Identifier: MIT
 *
 * Examines files called .cls while the plan is made. */
#ifndef PACKER_PLAN_PLAN_CLS_H
#define PACKER_PLAN_PLAN_CLS_H

#include "packer/source/source.h"

/* Sets *is_number to whether the file .cls of a sample consists of numbers. Sets it to false if
 * there is no such file, or if the file is too large for a label. If the file cannot be read, sets
 * it to true and returns no error, because packing will report the error later. */
int plan_cls_is_number(const struct source *source, const struct catalog_file *files,
                       uint32_t count, bool *is_number, struct sheaf_error *err);

#endif
