/* SPDX-License-Identifier: MIT
 *
 * Classes whose numbers are given: by a file of names, or by a data set that has them. */
#ifndef PACKER_CLASS_LIST_H
#define PACKER_CLASS_LIST_H

#include "packer/plan/plan.h"
#include "sheaf.h"

struct class_list {             /* zero-initialised */
    char **names;
    size_t count;
    struct plan_classes classes;    /* as a plan takes them */
};

/* Reads the classes that options->classes names, if it names any.  Those of a data set also give
 * options->label_base.  SHEAF_ERR_ARGUMENT: the two do not go together. */
int class_list_take(struct class_list *list, struct sheaf_pack_options *options,
                    struct sheaf_error *err);
void class_list_free(struct class_list *list);

/* Tells if a data set beside `dest` gives a class of the plan another number.  Only data sets whose
 * names are those of parts of some data (train, val, ...) are compared. */
void class_list_tell_siblings(const char *dest, const struct plan *plan, int label_base,
                              const struct problems *problems);

#endif
