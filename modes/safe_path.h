/* SPDX-License-Identifier: MIT
 *
 * Safe file names for objects: which names are allowed, and how a file gets its name without ever
 * leaving the directory. */
#ifndef MODES_SAFE_PATH_H
#define MODES_SAFE_PATH_H

#include <stddef.h>

#include "sheaf.h"

/* Returns why no file in a directory can have the name, or NULL if one can. Pure. */
const char *safe_path_problem(const char *name);

/* Compares names in an order that makes colliding names adjacent: byte order, but with '/' before
 * everything else. Pure, like the next function. */
int safe_path_compare(const char *a, const char *b);
/* Returns whether `b`, which comes after `a` in that order, needs a directory where `a` is a
 * file. */
int safe_path_is_below(const char *a, const char *b);

/* Opens the directory for the file `name`, and creates missing directories. Symbolic links are not
 * followed. */
int safe_path_open(int root_fd, const char *name, int *directory_fd, struct sheaf_error *err);
/* Returns the part of a name after its last slash. */
const char *safe_path_base(const char *name);

#endif
