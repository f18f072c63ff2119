/* SPDX-License-Identifier: MIT
 *
 * Finds fields that look like parts of keys. Names with several dots, such as
 * IMG.2024.01.02.jpg, are cut at the first dot, and then most fields that contain a dot are
 * found in one sample only. */
#ifndef PACKER_PLAN_ODD_FIELDS_H
#define PACKER_PLAN_ODD_FIELDS_H

#include "base/keyset.h"
#include "packer/source/problems.h"

/* Zero-initialised. */
struct odd_fields {
    struct keyset different;    /* fields that contain a dot */
    uint64_t files;             /* number of files with such fields */
    char *example;              /* the first of these files */
};

/* Counts a file, which is given by its path and its field. */
int odd_fields_count(struct odd_fields *odd, const char *path, const char *suffix,
                     struct sheaf_error *err);
/* Reports such fields, if there are any. */
void odd_fields_tell(const struct odd_fields *odd, const struct problems *problems);
void odd_fields_free(struct odd_fields *odd);

#endif
