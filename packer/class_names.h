/* SPDX-License-Identifier: MIT
 *
 * Class names that come with the samples. They are collected by label, so that the manifest can
 * have the class names if the container cannot store a name for each sample. */
#ifndef PACKER_CLASS_NAMES_H
#define PACKER_CLASS_NAMES_H

#include <stdbool.h>

#include "formats/format.h"
#include "sheaf.h"

struct class_names {            /* zero-initialised */
    char **names;               /* class names by label; NULL if no sample with that label had a
                                   name */
    size_t count, capacity;
    bool unlistable;            /* whether no list can hold the names, so that only the records
                                   have them */
};

/* Checks that a reader can find the sample's class name again: in its record (`in_record`), in the
 * list of `context`, or, without such a list and with `may_list`, among these names. Returns
 * SHEAF_ERR_ARGUMENT if the name would be lost. */
int class_names_check(struct class_names *names, const struct encode_context *context,
                      bool in_record, bool may_list, const struct sheaf_sample *sample,
                      struct sheaf_error *err);

/* Returns the names as a list whose first label is *base, 0 or 1. The caller frees each name and
 * the list. *count is 0 if there are no names. A label without a name gets its number as its
 * name. */
int class_names_give(struct class_names *names, char ***list, size_t *count, int *base,
                     struct sheaf_error *err);

void class_names_free(struct class_names *names);

#endif
