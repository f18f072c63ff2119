/* SPDX-License-Identifier: MIT
 *
 * Copies an archive from a store into a temporary file. In the copy, the members can be read in the
 * order in which the plan packs them; in the store, each member would need a request of its own. */
#ifndef PACKER_SOURCE_ARCHIVE_FETCH_H
#define PACKER_SOURCE_ARCHIVE_FETCH_H

#include <stdint.h>

#include "base/watch.h"

/* Copies an archive into the open file `to`. Sets *stamp to a number that identifies the content.
 * Returns SHEAF_ERR_CHANGED if the archive was replaced meanwhile. `watch` may be NULL; otherwise
 * it receives the progress. */
int archive_fetch(const char *url, int to, uint64_t *bytes, uint64_t *stamp, struct watch *watch,
                  struct sheaf_error *err);

#endif
