/* SPDX-License-Identifier: MIT
 *
 * Checks that a destination does not contain the source of the run. Otherwise the source would be
 * deleted with the destination's old data set. */
#ifndef PUBLISH_OWN_SOURCE_H
#define PUBLISH_OWN_SOURCE_H

#include <stddef.h>

#include "sheaf.h"

/* Returns SHEAF_ERR_ARGUMENT if one of the sources is `dest`, or lies directly in it or in one of
 * its subdirectories, under whatever name. Sources are directories, files and objects; sources that
 * do not exist are ignored. Local directories are compared by device and inode, so `dest` must
 * exist. Remote ones are compared by bucket and key. */
int refuse_own_source(const char *dest, const char *const *sources, size_t count,
                      struct sheaf_error *err);

#endif
