/* SPDX-License-Identifier: MIT
 *
 * Merges the classes of several data sets into one list, by name. The first data set keeps its
 * labels. In each later data set, a class whose name is already in the list gets the label of that
 * name. The other classes get new labels in their own order. The functions have no side effects. */
#ifndef READER_CLASSES_H
#define READER_CLASSES_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/format.h"

/* The class names of one data set. The struct does not own the memory of its pointers. */
struct named_classes {
    const char *url;            /* for messages */
    const char *const *names;
    size_t count;
    int label_base;
};

/* Merges `count` lists of class names. Sets *names to the merged list with *name_count names; the
 * caller frees each name and the list. The label of a class is the first list's label_base plus the
 * index of its name in the merged list. Sets maps[i] to NULL if the labels of list i do not change.
 * Otherwise maps[i][c] is the index in the merged list of class c of list i, and the caller frees
 * maps[i]. Returns SHEAF_ERR_UNSUPPORTED if the names do not show which classes are the same: one
 * list is empty and another is not, or lists differ and a name occurs twice in one of them. */
int classes_merge(const struct named_classes *lists, size_t count, char ***names,
                  size_t *name_count, uint32_t **maps, struct sheaf_error *err);

/* Merges lists like classes_merge, but renames classes: the function `other` returns the new name
 * of a class. If it returns the same name for several classes, they become one class. No list may
 * be empty. */
typedef const char *class_name_fn(const void *context, const char *name);
int classes_rename(const struct named_classes *lists, size_t count, class_name_fn *other,
                   const void *context, char ***names, size_t *name_count, uint32_t **maps,
                   struct sheaf_error *err);

/* A map from the labels of one data set to the labels of the merged classes. */
struct class_numbers {
    const uint32_t *map;
    size_t count;
    bool rest_stays;            /* labels outside the map stay as they are */
    /* `first` is the first label in the map. `merged_base` is the label of the first class in the
     * merged list. */
    int first, merged_base;
};

/* Replaces the label of a decoded sample by the merged label of its class. Returns
 * SHEAF_ERR_UNSUPPORTED if the label does not belong to a class, because it would be mistaken for
 * the label of another class. */
int classes_renumber(const struct class_numbers *numbers, struct decode_scratch *scratch,
                     const struct sheaf_sample *sample, struct sheaf_error *err);

#endif
