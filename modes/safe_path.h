/* SPDX-License-Identifier: MIT
 *
 * Safe file names for objects: which names are allowed, and how a file gets its name without ever
 * leaving the directory. */
#ifndef MODES_SAFE_PATH_H
#define MODES_SAFE_PATH_H

#include <stddef.h>

#include "sheaf.h"

/* Why no file below a directory can have the name; NULL if one can.  Pure. */
const char *safe_path_problem(const char *name);

/* Puts names into the order in which what collides is adjacent: byte order, but with '/' before
 * everything.  Pure, like the next one. */
int safe_path_compare(const char *a, const char *b);
/* Whether `b`, which comes after `a` in that order, needs a directory where `a` is a file. */
int safe_path_is_below(const char *a, const char *b);

/* Opens the directory that the file `name` belongs into, making what is missing; symbolic links
 * are not followed. */
int safe_path_open(int root_fd, const char *name, int *directory_fd, struct sheaf_error *err);
/* The part of a name after its last slash. */
const char *safe_path_base(const char *name);

#endif
