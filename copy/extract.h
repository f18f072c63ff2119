/* SPDX-License-Identifier: MIT
 *
 * Writes files into one directory tree, and never outside of this tree, whatever the names of the
 * files are.
 *
 * A path is opened component by component from the root's descriptor, and symbolic links are not
 * followed. So a link that another program puts into the tree cannot lead outside. The directories
 * that were used last stay open in a small table, because shuffled samples alternate between all
 * directories. */
#ifndef COPY_EXTRACT_H
#define COPY_EXTRACT_H

#include <stdbool.h>
#include <stddef.h>

#include "sheaf.h"

struct extract;

/* Opens the root directory of the tree, and creates it and its parents if necessary. `directory` is
 * borrowed until extract_close. If `resume` is set, an existing file that already has the right
 * content is kept, because an earlier run has written it. */
int extract_open(const char *directory, bool resume, struct extract **extract,
                 struct sheaf_error *error);

/* Writes a new file with this content and creates its parent directories. Refuses an absolute path,
 * a symbolic link in the path, and a component that is empty, "." or "..". Also refuses an existing
 * file, but see `resume` in extract_open. If the process ends at any point, the file is complete or
 * does not exist. On failure, removes the directories that it has made, and the caller must end the
 * extraction. */
int extract_file(struct extract *extract, const char *path, const void *data, size_t size,
                 struct sheaf_error *error);

/* Makes what was written durable. */
int extract_sync(const struct extract *extract, struct sheaf_error *error);

/* Ends the extraction. If `failed` is true, removes the root directory and its parents if
 * extract_open has made them and they are still empty. Does nothing if `extract` is NULL. */
void extract_close(struct extract *extract, bool failed);

#endif
