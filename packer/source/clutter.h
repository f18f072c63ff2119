/* SPDX-License-Identifier: MIT
 *
 * What lies in trees and prefixes and is no data: directories whose names begin with a dot (.git,
 * .ipynb_checkpoints), which the field's readers of class directories leave out too, and the files
 * that systems put beside others (.DS_Store, ._*, Thumbs.db, desktop.ini).  Other hidden files may
 * be somebody's data, so they stay problems; and lists name their files, so nothing of a list is
 * clutter. */
#ifndef PACKER_SOURCE_CLUTTER_H
#define PACKER_SOURCE_CLUTTER_H

#include <stdbool.h>

/* Of a name in a directory. */
bool clutter_is_directory(const char *name);
bool clutter_is_file(const char *name);

/* Of a path below the root: it is such a file, or below such a directory. */
bool clutter_is_path(const char *path);

#endif
