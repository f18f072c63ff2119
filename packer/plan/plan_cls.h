/* SPDX-License-Identifier: MIT
 *
 * Examines files called .cls while the plan is made. */
#ifndef PACKER_PLAN_PLAN_CLS_H
#define PACKER_PLAN_PLAN_CLS_H

#include "packer/source/source.h"

/* Sets *is_number to whether the sample's file .cls contains numbers. If the file is too large for
 * a label, *is_number becomes false. If the file cannot be read, *is_number becomes true, because
 * packing will then report the error. */
int plan_cls_is_number(const struct source *source, const struct catalog_file *files,
                       uint32_t count, bool *is_number, struct sheaf_error *err);

#endif
