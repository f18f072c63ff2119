/* SPDX-License-Identifier: MIT
 *
 * Class names that the samples themselves state, collected by label. If the container cannot store
 * a class name in each record, the manifest needs this list. */
#ifndef PACKER_CLASS_NAMES_H
#define PACKER_CLASS_NAMES_H

#include <stdbool.h>

#include "formats/format.h"
#include "sheaf.h"

struct class_names {            /* zero-initialised */
    /* class names by label; NULL if no sample with this label had a class name */
    char **names;
    size_t count, capacity;
    /* whether the names cannot form a list with one name for each label; they are then stored in
     * the records only */
    bool unlistable;
};

/* Checks that the sample's class name will be stored in the data set. It is stored if the sample's
 * record contains it (`in_record`), or if the class list of `context` contains it. If `context` has
 * no list and `may_list` is set, this function adds the name to the collected names, which will
 * become the list. Returns SHEAF_ERR_ARGUMENT if the name would be lost. */
int class_names_check(struct class_names *names, const struct encode_context *context,
                      bool in_record, bool may_list, const struct sheaf_sample *sample,
                      struct sheaf_error *err);

/* Returns the collected names as a list that begins with label *base, which is 0 or 1. The caller
 * frees each name and the list. *count is 0 if there are no names. A label without a name gets its
 * number as the name. */
int class_names_give(struct class_names *names, char ***list, size_t *count, int *base,
                     struct sheaf_error *err);

void class_names_free(struct class_names *names);

#endif
