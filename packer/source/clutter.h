/* SPDX-License-Identifier: MIT
 *
 * Files and directories that are ignored in trees, prefixes and archives. These are directories
 * whose names begin with a dot (.git, .ipynb_checkpoints), which other readers of class directories
 * also ignore, and files that operating systems create (.DS_Store, ._*, Thumbs.db, desktop.ini).
 * Any other hidden file may be data, so it is reported as a bad file. A list names its files, so
 * nothing in a list is ignored. */
#ifndef PACKER_SOURCE_CLUTTER_H
#define PACKER_SOURCE_CLUTTER_H

#include <stdbool.h>

/* Examines a name in a directory. */
bool clutter_is_directory(const char *name);
bool clutter_is_file(const char *name);

/* Returns whether a path below the root is such a file or is in such a directory. */
bool clutter_is_path(const char *path);

#endif
