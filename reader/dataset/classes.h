/* SPDX-License-Identifier: MIT
 *
 * Merges the class lists of several data sets into one list, by name. The classes of the first data
 * set keep their labels. A class of a later data set gets the label of the class with the same name
 * in the merged list. If there is no such class, the class is appended to the list, and gets a new
 * label. */
#ifndef READER_CLASSES_H
#define READER_CLASSES_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/format.h"

/* The class names of one data set. The pointers belong to the data set, and this struct does not
 * free them. */
struct named_classes {
    const char *url;            /* URL of the data set, for messages */
    const char *const *names;
    size_t count;
    int label_base;
};

/* Merges `count` lists of class names into one list. Sets *names to the merged list of *name_count
 * names. The caller must free each name and the list. The label of a class is the label_base of the
 * first list, plus the index of its name in the merged list.
 *
 * Sets maps[i] to NULL if the labels of list i stay as they are. Otherwise maps[i][c] is the index
 * that class c of list i has in the merged list. The caller must free maps[i].
 *
 * Returns SHEAF_ERR_UNSUPPORTED if the names do not show which classes are the same. There are two
 * such cases:
 * - Some lists are empty, and others are not.
 * - The lists differ, and one of them contains a name twice. */
int classes_merge(const struct named_classes *lists, size_t count, char ***names,
                  size_t *name_count, uint32_t **maps, struct sheaf_error *err);

/* A function of the caller that returns the new name of the class `name`. */
typedef const char *class_name_fn(const void *context, const char *name);
/* Renames the classes with the function `other`, and then merges the lists like classes_merge.
 * Classes that get the same new name become one class. Each list must have at least one name. */
int classes_rename(const struct named_classes *lists, size_t count, class_name_fn *other,
                   const void *context, char ***names, size_t *name_count, uint32_t **maps,
                   struct sheaf_error *err);

/* Maps the labels of one data set to the labels of the merged list of classes. */
struct class_numbers {
    const uint32_t *map;
    size_t count;
    bool rest_stays;            /* labels outside the map stay as they are */
    /* `first` is the lowest label of the data set, which belongs to element 0 of the map.
     * `merged_base` is the label of the first class in the merged list. */
    int first, merged_base;
};

/* Replaces the label of a decoded sample by the label that its class has in the merged list. If the
 * label is not in the map and numbers->rest_stays is set, the label does not change. If rest_stays
 * is not set, the function returns SHEAF_ERR_UNSUPPORTED, because the label could be taken for
 * another class. */
int classes_renumber(const struct class_numbers *numbers, struct decode_scratch *scratch,
                     const struct sheaf_sample *sample, struct sheaf_error *err);

#endif
