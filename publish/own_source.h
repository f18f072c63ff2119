/* SPDX-License-Identifier: MIT
 *
 * Checks that no source of a run lies in the destination of the run. Otherwise the source would be
 * deleted together with the old data set. */
#ifndef PUBLISH_OWN_SOURCE_H
#define PUBLISH_OWN_SOURCE_H

#include <stddef.h>

#include "sheaf.h"

/* Returns SHEAF_ERR_ARGUMENT if a source is `dest` itself, or lies in it or in one of its
 * subdirectories. Sources are directories, files or objects. A source that does not exist is
 * ignored. Local directories are compared by device and inode, so `dest` must exist. Remote URLs
 * are compared by bucket and key. */
int refuse_own_source(const char *dest, const char *const *sources, size_t count,
                      struct sheaf_error *err);

#endif
