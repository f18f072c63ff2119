/* SPDX-License-Identifier: MIT
 *
 * The names of a data set's files, found from its manifest alone. Used for a directory that cannot
 * be listed. */
#ifndef FORMATS_MANIFEST_FILES_H
#define FORMATS_MANIFEST_FILES_H

#include "formats/manifest.h"

/* Receives a file's name relative to the data set's directory. `may_lack` is set if the file is
 * optional, so that a data set may lack it. */
typedef int manifest_file_fn(void *context, const char *name, bool may_lack,
                             struct sheaf_error *err);

/* Calls `each` for every file of a data set except its manifest. */
int manifest_each_file(const struct manifest *manifest, manifest_file_fn *each, void *context,
                       struct sheaf_error *err);

#endif
