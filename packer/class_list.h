/* SPDX-License-Identifier: MIT
 *
 * Classes whose numbers are given in advance: by a file of names, or by a data set. */
#ifndef PACKER_CLASS_LIST_H
#define PACKER_CLASS_LIST_H

#include "packer/plan/plan.h"
#include "sheaf.h"

struct class_list {             /* zero-initialised */
    char **names;
    size_t count;
    struct plan_classes classes;    /* in the form that a plan takes */
};

/* Reads the classes from the file or data set options->classes, if it is set. The classes of a data
 * set also determine options->label_base. Returns SHEAF_ERR_ARGUMENT if the caller has set another
 * label_base. */
int class_list_take(struct class_list *list, struct sheaf_pack_options *options,
                    struct sheaf_error *err);
void class_list_free(struct class_list *list);

/* Looks for data sets beside `dest` that have usual names of splits (train, val, ...). If one of
 * them gives a class of the plan another number, reports this. */
void class_list_tell_siblings(const char *dest, const struct plan *plan, int label_base,
                              const struct problems *problems);

#endif
