/* SPDX-License-Identifier: MIT
 *
 * Finds the paths of a list below its root. A path is relative to the root, or absolute. An
 * absolute path must be below one of the names of the root: the given name, the name with the
 * shell's name of the working directory, or the name without symbolic links. */
#ifndef PACKER_SOURCE_LIST_ROOT_H
#define PACKER_SOURCE_LIST_ROOT_H

#include <stdbool.h>

#include "base/buf.h"

#define LIST_ROOT_NAMES 3

struct list_root {
    bool is_remote;
    char *root;                 /* the given name */
    char *names[LIST_ROOT_NAMES];   /* local roots: clean and absolute names without a slash at
                                       the end */
    size_t name_count;          /* the last name is the one without symbolic links */
    struct buf text;            /* the path that was found last */
    char *directory;            /* the last directory whose symbolic links were resolved; or NULL */
    char *below;                /* path below the root of that directory; NULL if it is not below
                                   the root */
};

/* list_root_close must be called also after an error. */
int list_root_open(struct list_root *root, const char *name, bool is_remote,
                   struct sheaf_error *err);
void list_root_close(struct list_root *root);

/* Sets *below to the path below the root, which is valid until the next call. With a local root it
 * is a clean path (name_clean), else the part of the URL after the root. Returns SHEAF_END if the
 * path is absolute and not below the root. */
int list_root_find(struct list_root *root, const char *path, const char **below,
                   struct sheaf_error *err);

#endif
