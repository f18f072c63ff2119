/* SPDX-License-Identifier: MIT
 *
 * Finds fields that look like parts of keys: names with several dots, such as IMG.2024.01.02.jpg,
 * are cut at the first, and then most fields with a dot come in one sample alone. */
#ifndef PACKER_PLAN_ODD_FIELDS_H
#define PACKER_PLAN_ODD_FIELDS_H

#include "base/keyset.h"
#include "packer/source/problems.h"

/* Zero-initialised. */
struct odd_fields {
    struct keyset different;    /* fields with a dot */
    uint64_t files;             /* that have such fields */
    char *example;              /* the first file of them */
};

/* Counts a file, by its path and its field. */
int odd_fields_count(struct odd_fields *odd, const char *path, const char *suffix,
                     struct sheaf_error *err);
/* Tells of them, if there are any. */
void odd_fields_tell(const struct odd_fields *odd, const struct problems *problems);
void odd_fields_free(struct odd_fields *odd);

#endif
