/* SPDX-License-Identifier: MIT
 *
 * Reads the list of classes with which a user gives numbers to classes in advance. The list is a
 * file with names, or another data set. */
#ifndef PACKER_CLASS_LIST_H
#define PACKER_CLASS_LIST_H

#include "packer/plan/plan.h"
#include "sheaf.h"

struct class_list {             /* zero-initialised */
    char **names;
    size_t count;
    struct plan_classes classes;    /* in the form that a plan takes */
};

/* If options->classes names a file or a data set, reads the list of classes from it. A data set
 * also determines options->label_base (the number of the first class). Returns SHEAF_ERR_ARGUMENT
 * if the caller has set another label_base. */
int class_list_take(struct class_list *list, struct sheaf_pack_options *options,
                    struct sheaf_error *err);
void class_list_free(struct class_list *list);

/* Looks for data sets next to `dest` that are probably other splits of the same data (train, val,
 * ...). If such a data set has another number for a class of the plan, reports the difference. */
void class_list_tell_siblings(const char *dest, const struct plan *plan, int label_base,
                              const struct problems *problems);

#endif
