/* SPDX-License-Identifier: MIT
 *
 * Copies an archive from a store into a temporary file.  There its members can be read in the order
 * of the plan; in the store, each would be a request. */
#ifndef PACKER_SOURCE_ARCHIVE_FETCH_H
#define PACKER_SOURCE_ARCHIVE_FETCH_H

#include <stdint.h>

#include "base/watch.h"

/* Copies an archive, of which store_identify has said bytes and stamp, into the file `to`.
 * SHEAF_ERR_CHANGED: it is another one by now.  `watch`: NULL, or what is shown the progress. */
int archive_fetch(const char *url, uint64_t bytes, uint64_t stamp, int to, struct watch *watch,
                  struct sheaf_error *err);

#endif
