/* SPDX-License-Identifier: MIT
 *
 * Zip archives: finds their members and reads a member, for source_archive.c. */
#ifndef PACKER_SOURCE_ZIP_H
#define PACKER_SOURCE_ZIP_H

#include <stdbool.h>

#include "packer/source/archive_file.h"

/* Detects a zip by its first bytes: those of a member, or of the end of an empty directory. */
bool zip_is(const struct archive_file *file);
/* Calls `take` for the members in the order of the directory. Returns SHEAF_ERR_CORRUPT, _TRUNCATED
 * or _UNSUPPORTED if the file is not a complete zip archive. */
int zip_scan(const struct archive_file *file, archive_member_fn *take, void *context,
             struct sheaf_error *err);
/* Reads a whole member. `where` is "OFFSET SIZE METHOD CRC": the offset of its own header and the
 * size of its stored bytes. Any number of threads may read. */
int zip_read(const struct archive_file *file, const char *where, void *data, uint64_t bytes,
             struct sheaf_error *err);

#endif
