/* SPDX-License-Identifier: MIT
 *
 * Examines files called .cls while the plan is made. */
#ifndef PACKER_PLAN_PLAN_CLS_H
#define PACKER_PLAN_PLAN_CLS_H

#include "packer/source/source.h"

/* Sets *is_number to whether the file .cls among the sample's files consists of numbers. Sets it to
 * false for a file that is too large for a label. Sets it to true if the file cannot be read,
 * because packing will report this error later. */
int plan_cls_is_number(const struct source *source, const struct catalog_file *files,
                       uint32_t count, bool *is_number, struct sheaf_error *err);

#endif
