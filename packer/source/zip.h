/* SPDX-License-Identifier: MIT
 *
 * Finds the members of zip archives and reads a member. source_archive.c uses these functions. */
#ifndef PACKER_SOURCE_ZIP_H
#define PACKER_SOURCE_ZIP_H

#include <stdbool.h>

#include "packer/source/archive_file.h"

/* Returns whether a file is a zip archive. A zip archive begins with the header of a member or, if
 * the archive is empty, with the end record. */
bool zip_is(const struct archive_file *file);
/* Calls `take` for each member of a zip archive, in the order of its directory. Returns
 * SHEAF_ERR_CORRUPT, _TRUNCATED or _UNSUPPORTED if the file is not a complete zip archive. */
int zip_scan(const struct archive_file *file, archive_member_fn *take, void *context,
             struct sheaf_error *err);
/* Reads a whole member of a zip archive into `data`. `where` is the text "OFFSET SIZE METHOD CRC",
 * with the offset of the member's own header and the size of its stored bytes. Any number of
 * threads may read at the same time. */
int zip_read(const struct archive_file *file, const char *where, void *data, uint64_t bytes,
             struct sheaf_error *err);

#endif
