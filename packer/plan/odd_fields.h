/* SPDX-License-Identifier: MIT
 *
 * Finds field names that are probably parts of keys. A file name with several dots, such as
 * IMG.2024.01.02.jpg, is split at the first dot, so its field is called 2024.01.02.jpg. A source
 * probably has such files if most of its field names that contain a dot occur in one sample
 * only. */
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

/* Counts a file of the source, whose path is `path`. `suffix` is the name of the field that the
 * file becomes. */
int odd_fields_count(struct odd_fields *odd, const char *path, const char *suffix,
                     struct sheaf_error *err);
/* Reports such fields, if there are any. */
void odd_fields_tell(const struct odd_fields *odd, const struct problems *problems);
void odd_fields_free(struct odd_fields *odd);

#endif
