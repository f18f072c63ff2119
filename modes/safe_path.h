/* SPDX-License-Identifier: MIT
 *
 * Safe file names for objects: which names are allowed, and how a file is created without ever
 * leaving the directory. */
#ifndef MODES_SAFE_PATH_H
#define MODES_SAFE_PATH_H

#include <stddef.h>

#include "sheaf.h"

/* Returns why a file in a directory cannot have this name, or NULL if it can. The function has no
 * side effects. */
const char *safe_path_problem(const char *name);

/* Compares names in an order in which colliding names are adjacent: byte order, but with '/' before
 * all other bytes. The function has no side effects. */
int safe_path_compare(const char *a, const char *b);
/* Returns whether a file named `b` could not exist beside a file named `a`, because `a` would have
 * to be a directory. `b` must come after `a` in the order of safe_path_compare. */
int safe_path_is_below(const char *a, const char *b);

/* Opens the directory of the file `name`, and creates missing directories. Does not follow symbolic
 * links. */
int safe_path_open(int root_fd, const char *name, int *directory_fd, struct sheaf_error *err);
/* Returns the base name, which is the part after the last slash. */
const char *safe_path_base(const char *name);

#endif
