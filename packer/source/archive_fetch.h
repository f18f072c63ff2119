/* SPDX-License-Identifier: MIT
 *
 * Copies an archive from a store into a temporary file. The members of the copy can be read in the
 * order of the plan, while each member in the store would need a request. */
#ifndef PACKER_SOURCE_ARCHIVE_FETCH_H
#define PACKER_SOURCE_ARCHIVE_FETCH_H

#include <stdint.h>

#include "base/watch.h"

/* Copies an archive into the file `to`. *stamp identifies its content. Returns SHEAF_ERR_CHANGED if
 * the archive was replaced meanwhile. `watch` is NULL, or receives the progress. */
int archive_fetch(const char *url, int to, uint64_t *bytes, uint64_t *stamp, struct watch *watch,
                  struct sheaf_error *err);

#endif
