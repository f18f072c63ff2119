/* SPDX-License-Identifier: MIT
 *
 * Copies an archive from a store into a temporary file.  There its members can be read in the order
 * of the plan; in the store, each would be a request. */
#ifndef PACKER_SOURCE_ARCHIVE_FETCH_H
#define PACKER_SOURCE_ARCHIVE_FETCH_H

#include <stdint.h>

#include "base/watch.h"

/* Copies an archive into the file `to`.  *stamp: another content has another one.
 * SHEAF_ERR_CHANGED: it has become another one meanwhile.  `watch`: NULL, or what is shown the
 * progress. */
int archive_fetch(const char *url, int to, uint64_t *bytes, uint64_t *stamp, struct watch *watch,
                  struct sheaf_error *err);

#endif
