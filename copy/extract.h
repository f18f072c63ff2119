/* SPDX-License-Identifier: MIT
 *
 * Writes files below one directory, and never anywhere else, whatever their names say.
 *
 * A path is walked component by component from the root's descriptor, and no symbolic link is
 * followed on the way; so what anybody puts into the tree meanwhile cannot lead out of it.
 * Directories are kept open in a small table, since samples come shuffled over all of them. */
#ifndef COPY_EXTRACT_H
#define COPY_EXTRACT_H

#include <stdbool.h>
#include <stddef.h>

#include "sheaf.h"

struct extract;

/* Creates the directory if necessary, and those above it.  Borrows `directory` until it is closed.
 * `resume`: a file that is there already, with the same content, is taken for one that an earlier
 * run wrote. */
int extract_open(const char *directory, bool resume, struct extract **extract,
                 struct sheaf_error *error);

/* Writes a new file of that content; directories on the way are made.  Refuses an absolute path,
 * a component that is empty, "." or "..", a symbolic link on the way, and a file that exists
 * (but see `resume`).  Whenever this process ends, a file is there whole or not at all. */
int extract_file(struct extract *extract, const char *path, const void *data, size_t size,
                 struct sheaf_error *error);

/* Makes what was written durable. */
int extract_sync(const struct extract *extract, struct sheaf_error *error);

void extract_close(struct extract *extract);

#endif
