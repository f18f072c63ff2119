/* SPDX-License-Identifier: MIT
 *
 * Zip archives: finds their members, and reads one; for source_archive.c. */
#ifndef PACKER_SOURCE_ZIP_H
#define PACKER_SOURCE_ZIP_H

#include <stdbool.h>

#include "packer/source/archive_file.h"

/* By its first bytes: a member, or the end of an empty directory. */
bool zip_is(const struct archive_file *file);
/* Members in the order of the directory.  SHEAF_ERR_CORRUPT, _TRUNCATED, _UNSUPPORTED: it is no
 * whole zip archive. */
int zip_scan(const struct archive_file *file, archive_member_fn *take, void *context,
             struct sheaf_error *err);
/* All of the member that is at a place: "OFFSET SIZE METHOD CRC", the offset of its own header and
 * the size of its stored bytes.  Any number of threads may read. */
int zip_read(const struct archive_file *file, const char *where, void *data, uint64_t bytes,
             struct sheaf_error *err);

#endif
