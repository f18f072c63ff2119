/* SPDX-License-Identifier: MIT
 *
 * Copies an archive from a store into a temporary file. The plan packs the members of an archive in
 * another order than the archive has them. They can be read so from the copy, but would need one
 * request each in the store. */
#ifndef PACKER_SOURCE_ARCHIVE_FETCH_H
#define PACKER_SOURCE_ARCHIVE_FETCH_H

#include <stdint.h>

#include "base/watch.h"

/* Copies the archive at `url` into the open file `to`. Sets *bytes to its size, and *stamp to a
 * number that differs if the archive was replaced. Returns SHEAF_ERR_CHANGED if it was replaced
 * during the copy. `watch` receives the progress unless it is NULL. */
int archive_fetch(const char *url, int to, uint64_t *bytes, uint64_t *stamp, struct watch *watch,
                  struct sheaf_error *err);

#endif
