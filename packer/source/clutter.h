/* SPDX-License-Identifier: MIT
 *
 * Files and directories that are ignored in trees, prefixes and archives: directories whose names
 * begin with a dot (.git, .ipynb_checkpoints), as other readers of class directories ignore them,
 * and files that operating systems create (.DS_Store, ._*, Thumbs.db, desktop.ini).  Any other
 * hidden file may be data, so it is reported as a bad file.  A list names its files, so nothing in
 * a list is ignored. */
#ifndef PACKER_SOURCE_CLUTTER_H
#define PACKER_SOURCE_CLUTTER_H

#include <stdbool.h>

/* Of a name in a directory. */
bool clutter_is_directory(const char *name);
bool clutter_is_file(const char *name);

/* Of a path below the root: it is such a file, or below such a directory. */
bool clutter_is_path(const char *path);

#endif
