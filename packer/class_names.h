/* SPDX-License-Identifier: MIT
 *
 * Collects the class names that the samples state, by label, while samples are packed. The manifest
 * needs this list if the container cannot store a class name in each record. */
#ifndef PACKER_CLASS_NAMES_H
#define PACKER_CLASS_NAMES_H

#include <stdbool.h>

#include "formats/format.h"
#include "sheaf.h"

struct class_names {            /* zero-initialised */
    /* class names, indexed by label; NULL for a label whose samples had no class name so far */
    char **names;
    size_t count, capacity;
    /* true if the names cannot form a list with one name for each label; the names are then stored
     * in the records only */
    bool unlistable;
};

/* Makes sure that the class name of a sample will be stored somewhere in the data set. It is stored
 * if each record contains its class name (`in_record`), or if the class list of `context` contains
 * the name. If `context` has no list and `may_list` is set, adds the name to `names`, from which
 * the list will be made.
 *
 * Returns SHEAF_ERR_ARGUMENT if the name would be lost. */
int class_names_check(struct class_names *names, const struct encode_context *context,
                      bool in_record, bool may_list, const struct sheaf_sample *sample,
                      struct sheaf_error *err);

/* Makes the list of class names for the manifest from the collected names. Sets *base to the label
 * of the first name, which is 0 or 1. If a label has no name, its number becomes its name. Sets
 * *count to the number of names, or to 0 if no names were collected. The caller frees each name and
 * the list. */
int class_names_give(struct class_names *names, char ***list, size_t *count, int *base,
                     struct sheaf_error *err);

void class_names_free(struct class_names *names);

#endif
