/* SPDX-License-Identifier: MIT
 *
 * Class names that come with the samples: they are collected by label, so that the manifest can
 * name the classes if the container cannot hold a name per sample. */
#ifndef PACKER_CLASS_NAMES_H
#define PACKER_CLASS_NAMES_H

#include <stdbool.h>

#include "formats/format.h"
#include "sheaf.h"

struct class_names {            /* zero-initialised */
    char **names;               /* by label; NULL: no sample of that label had a name */
    size_t count, capacity;
    bool unlistable;            /* no list can say them: they stay in the records alone */
};

/* What the sample's class is called must be found again: in its record (`in_record`), in the list
 * of `context`, or, where there is none and `may_list`, among these names.  SHEAF_ERR_ARGUMENT if
 * it would be lost. */
int class_names_check(struct class_names *names, const struct encode_context *context,
                      bool in_record, bool may_list, const struct sheaf_sample *sample,
                      struct sheaf_error *err);

/* Gives the names as a list whose first label is *base, 0 or 1, to be freed, each and the list;
 * *count is 0 if there are none.  A label without a name among those that have one is named by its
 * number. */
int class_names_give(struct class_names *names, char ***list, size_t *count, int *base,
                     struct sheaf_error *err);

void class_names_free(struct class_names *names);

#endif
