/* SPDX-License-Identifier: MIT
 *
 * Converts the paths in a list to paths relative to the list's root.
 *
 * A path in a list is relative to the root, or absolute. An absolute path must begin with an
 * absolute path of the root. A root has up to three absolute paths:
 * - the path that the user gave; a relative path is taken from the working directory in PWD;
 * - a relative path that the user gave, taken from the working directory of getcwd();
 * - the path without symbolic links. */
#ifndef PACKER_SOURCE_LIST_ROOT_H
#define PACKER_SOURCE_LIST_ROOT_H

#include <stdbool.h>

#include "base/buf.h"

#define LIST_ROOT_NAMES 3

struct list_root {
    bool is_remote;
    char *root;                 /* the given name */
    /* absolute paths of a local root, clean (see name_clean) and without a slash at the end */
    char *names[LIST_ROOT_NAMES];
    size_t name_count;          /* the last name is the one without symbolic links */
    struct buf text;            /* the path that was found last */
    /* directory whose symbolic links were resolved last; NULL before the first directory */
    char *directory;
    /* path of `directory` relative to the root, without symbolic links; NULL if `directory` is not
     * under the root */
    char *below;
};

/* list_root_close must be called also after an error. */
int list_root_open(struct list_root *root, const char *name, bool is_remote,
                   struct sheaf_error *err);
void list_root_close(struct list_root *root);

/* Sets *below to the path relative to the list's root. With a local root, this is a clean path (see
 * name_clean). With a remote root, it is the part of the URL after the root. The result is valid
 * until the next call. Returns SHEAF_END if the path is absolute and not under the root. */
int list_root_find(struct list_root *root, const char *path, const char **below,
                   struct sheaf_error *err);

#endif
