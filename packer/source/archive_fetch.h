/* SPDX-License-Identifier: MIT
 *
 * Copies an archive from a store into a temporary file. The members of an archive are packed in the
 * order of the plan, and not in the order of the archive. From the copy, members can be read in any
 * order. From the store, each member would need a request of its own. */
#ifndef PACKER_SOURCE_ARCHIVE_FETCH_H
#define PACKER_SOURCE_ARCHIVE_FETCH_H

#include <stdint.h>

#include "base/watch.h"

/* Copies the archive at `url` into the open file `to`. Sets *bytes to the archive's size. Sets
 * *stamp to a number that will be different if the archive is replaced later. Returns
 * SHEAF_ERR_CHANGED if the archive was replaced during the copy. `watch` receives the progress
 * unless it is NULL. */
int archive_fetch(const char *url, int to, uint64_t *bytes, uint64_t *stamp, struct watch *watch,
                  struct sheaf_error *err);

#endif
