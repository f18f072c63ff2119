/* SPDX-License-Identifier: MIT
 *
 * Recognises clutter: files and directories that are ignored in trees, prefixes and archives,
 * because they are not data.
 *
 * There are two kinds of clutter: hidden directories (.git, .ipynb_checkpoints), and files that
 * operating systems create (.DS_Store, ._*, Thumbs.db, desktop.ini). Other programs that read class
 * directories ignore hidden directories as well.
 *
 * Any other hidden file may be data, so it is reported as a bad file. A list names its files
 * explicitly, so nothing in a list is ignored. */
#ifndef PACKER_SOURCE_CLUTTER_H
#define PACKER_SOURCE_CLUTTER_H

#include <stdbool.h>

/* Examines a name in a directory. */
bool clutter_is_directory(const char *name);
bool clutter_is_file(const char *name);

/* Returns whether a path, relative to the source's root, is clutter (not data) or lies in a
 * directory that is clutter. */
bool clutter_is_path(const char *path);

#endif
