/* SPDX-License-Identifier: MIT
 *
 * Checks that a destination does not contain the source of the run, which would be deleted with
 * it. */
#ifndef PUBLISH_OWN_SOURCE_H
#define PUBLISH_OWN_SOURCE_H

#include <stddef.h>

#include "sheaf.h"

/* SHEAF_ERR_ARGUMENT if one of the sources (directories, files, objects; what is not there is
 * passed over) is `dest`, or lies right in it or in a directory of it, however either is written.
 * Local directories are compared by device and inode, so `dest` must be there already; others by
 * bucket and key. */
int refuse_own_source(const char *dest, const char *const *sources, size_t count,
                      struct sheaf_error *err);

#endif
