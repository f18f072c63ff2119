/* SPDX-License-Identifier: MIT
 *
 * Writes files into one directory tree, and never anywhere else, whatever their names say.
 *
 * A path is walked component by component from the root's descriptor, and symbolic links are not
 * followed. So nothing that is put into the tree meanwhile can lead out of it. Some directories are
 * kept open in a small table, since shuffled samples alternate between all directories. */
#ifndef COPY_EXTRACT_H
#define COPY_EXTRACT_H

#include <stdbool.h>
#include <stddef.h>

#include "sheaf.h"

struct extract;

/* Opens the directory, and creates it and its parents if necessary. `directory` is borrowed until
 * extract_close. With `resume`, an existing file with the same content counts as written by an
 * earlier run. */
int extract_open(const char *directory, bool resume, struct extract **extract,
                 struct sheaf_error *error);

/* Writes a new file with that content and creates its parent directories. Refuses an absolute path,
 * a component that is empty, "." or "..", a symbolic link on the way, and an existing file (but see
 * `resume`). If the process ends at any point, the file is complete or does not exist. */
int extract_file(struct extract *extract, const char *path, const void *data, size_t size,
                 struct sheaf_error *error);

/* Makes what was written durable. */
int extract_sync(const struct extract *extract, struct sheaf_error *error);

void extract_close(struct extract *extract);

#endif
