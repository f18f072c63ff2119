/* SPDX-License-Identifier: MIT
 *
 * Classes with given numbers: from a file of names, or from a data set. */
#ifndef PACKER_CLASS_LIST_H
#define PACKER_CLASS_LIST_H

#include "packer/plan/plan.h"
#include "sheaf.h"

struct class_list {             /* zero-initialised */
    char **names;
    size_t count;
    struct plan_classes classes;    /* in the form that a plan takes */
};

/* Reads the classes that options->classes names, if it is set. The classes of a data set also
 * determine options->label_base. Returns SHEAF_ERR_ARGUMENT if the two contradict each other. */
int class_list_take(struct class_list *list, struct sheaf_pack_options *options,
                    struct sheaf_error *err);
void class_list_free(struct class_list *list);

/* Reports if a data set next to `dest` gives a class of the plan another number. Only data sets
 * with the names of usual splits (train, val, ...) are compared. */
void class_list_tell_siblings(const char *dest, const struct plan *plan, int label_base,
                              const struct problems *problems);

#endif
