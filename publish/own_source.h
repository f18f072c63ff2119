/* SPDX-License-Identifier: MIT
 *
 * Checks that a destination does not contain the source of the run, which would be deleted with
 * it. */
#ifndef PUBLISH_OWN_SOURCE_H
#define PUBLISH_OWN_SOURCE_H

#include <stddef.h>

#include "sheaf.h"

/* Returns SHEAF_ERR_ARGUMENT if one of the sources is `dest`, or is directly in it or in a
 * directory of it, whatever their names are. Sources are directories, files and objects; missing
 * ones are ignored. Local directories are compared by device and inode, so `dest` must exist.
 * Others are compared by bucket and key. */
int refuse_own_source(const char *dest, const char *const *sources, size_t count,
                      struct sheaf_error *err);

#endif
