/* SPDX-License-Identifier: MIT
 *
 * The classes of several data sets as one list.  Names are merged, and numbers follow them: the
 * first data set keeps its numbers, and each later one is given those of the names that are there
 * already, and new ones, in its own order, for the rest.  Pure functions. */
#ifndef READER_CLASSES_H
#define READER_CLASSES_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/format.h"

/* The classes of one data set.  All borrowed. */
struct class_list {
    const char *url;            /* for messages */
    const char *const *names;
    size_t count;
    int label_base;
};

/* Merges `count` lists.  *names (*name_count of them) are the merged ones, each to be freed; the
 * label base is that of the first list.  maps[i]: NULL if the numbers of list i stay; else the
 * merged number of each of its classes, from 0, to be freed.  SHEAF_ERR_UNSUPPORTED where names
 * do not say which classes are the same: one list is empty and another is not, or a name stands
 * twice in lists that differ. */
int classes_merge(const struct class_list *lists, size_t count, char ***names, size_t *name_count,
                  uint32_t **maps, struct sheaf_error *err);

/* The same with other names: `other` gives the name that a class is to have, which may be that of
 * several.  Lists must have names. */
typedef const char *class_name_fn(const void *context, const char *name);
int classes_rename(const struct class_list *lists, size_t count, class_name_fn *other,
                   const void *context, char ***names, size_t *name_count, uint32_t **maps,
                   struct sheaf_error *err);

/* A class label and the map that it goes through. */
struct class_numbers {
    const uint32_t *map;
    size_t count;
    bool rest_stays;            /* labels that are not in the map are as they are */
    int first, merged_base;     /* the map's first label; the number of the first merged class */
};

/* Gives a decoded sample the merged number of its class.  SHEAF_ERR_UNSUPPORTED for labels that
 * are no class: their numbers would be read as those of other classes. */
int classes_renumber(const struct class_numbers *numbers, struct decode_scratch *scratch,
                     const struct sheaf_sample *sample, struct sheaf_error *err);

#endif
