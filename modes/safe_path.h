/* SPDX-License-Identifier: MIT
 *
 * Functions that write objects to files in a directory. They check that the name of an object can
 * be the name of a file, and never create a file outside of the directory. */
#ifndef MODES_SAFE_PATH_H
#define MODES_SAFE_PATH_H

#include <stddef.h>

#include "sheaf.h"

/* Returns a text that says why a file cannot have this name, or NULL if the name is allowed. The
 * function has no side effects. */
const char *safe_path_problem(const char *name);

/* Compares two names of files for sorting, byte by byte, with '/' before all other bytes. In this
 * order, names that collide (such as "a" and "a/b") are adjacent. The function has no side
 * effects. */
int safe_path_compare(const char *a, const char *b);
/* Returns whether the name `b` is below the name `a`, as "a/b" is below "a". A file named `b` then
 * needs a directory named `a`, so no file can be named `a`. `b` must come after `a` in the order of
 * safe_path_compare. */
int safe_path_is_below(const char *a, const char *b);

/* Opens the directory in which the file `name` is, relative to `root_fd`, and creates missing
 * directories. Does not follow symbolic links. */
int safe_path_open(int root_fd, const char *name, int *directory_fd, struct sheaf_error *err);
/* Returns the base name of an object's name, which is the part after the last slash. */
const char *safe_path_base(const char *name);

#endif
