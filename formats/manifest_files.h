/* SPDX-License-Identifier: MIT
 *
 * Finds the names of a data set's files from its manifest alone. Used if the store cannot list a
 * directory. */
#ifndef FORMATS_MANIFEST_FILES_H
#define FORMATS_MANIFEST_FILES_H

#include "formats/manifest.h"

/* A function of the caller that gets a file's name, relative to the data set's directory.
 * `may_lack` is true if some data sets do not have this file. */
typedef int manifest_file_fn(void *context, const char *name, bool may_lack,
                             struct sheaf_error *err);

/* Calls `each` with the name of every file of a data set except the manifest. */
int manifest_each_file(const struct manifest *manifest, manifest_file_fn *each, void *context,
                       struct sheaf_error *err);

#endif
