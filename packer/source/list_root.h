/* SPDX-License-Identifier: MIT
 *
 * Finds the paths of a list below its root.  A path is relative to the root, or absolute and below
 * it by any name that the root has: as it was given, in the working directory as the shell names
 * it, or without symbolic links. */
#ifndef PACKER_SOURCE_LIST_ROOT_H
#define PACKER_SOURCE_LIST_ROOT_H

#include <stdbool.h>

#include "base/buf.h"

#define LIST_ROOT_NAMES 3

struct list_root {
    bool is_remote;
    char *root;                 /* as it was given */
    char *names[LIST_ROOT_NAMES];   /* local: clean and absolute, without a slash at the end */
    size_t name_count;          /* the last name is that without symbolic links */
    struct buf text;            /* the path that was found last */
    char *directory;            /* the last one whose symbolic links had to be followed; or NULL */
    char *below;                /* what it is called below the root; NULL: it is not below it */
};

/* list_root_close must be called in any case. */
int list_root_open(struct list_root *root, const char *name, bool is_remote,
                   struct sheaf_error *err);
void list_root_close(struct list_root *root);

/* Sets *below to the path below the root, until the next call: a clean path (name_clean) if the
 * root is local, and else what follows the root in the URL.  Returns SHEAF_END if the path is
 * absolute and not below the root. */
int list_root_find(struct list_root *root, const char *path, const char **below,
                   struct sheaf_error *err);

#endif
