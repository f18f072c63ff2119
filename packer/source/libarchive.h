/* SPDX-License-Identifier: MIT
 *
 * Loads libarchive when the first tar is read, and not when the process starts. libarchive itself
 * loads eight more libraries, with an XML parser and character tables, and most processes read no
 * tar. */
#ifndef PACKER_SOURCE_LIBARCHIVE_H
#define PACKER_SOURCE_LIBARCHIVE_H

#include <archive.h>
#include <archive_entry.h>

#include "sheaf.h"

/* The functions that are used. */
#define LIBARCHIVE_CALLS(CALL) \
    CALL(archive_entry_filetype) CALL(archive_entry_hardlink) CALL(archive_entry_is_encrypted) \
    CALL(archive_entry_pathname) CALL(archive_entry_pathname_utf8) CALL(archive_entry_size) \
    CALL(archive_entry_sparse_count) CALL(archive_errno) CALL(archive_error_string) \
    CALL(archive_filter_bytes) CALL(archive_filter_code) CALL(archive_read_data_block) \
    CALL(archive_read_free) CALL(archive_read_new) CALL(archive_read_next_header) \
    CALL(archive_read_open2) CALL(archive_read_open_fd) CALL(archive_read_set_option) \
    CALL(archive_read_support_filter_bzip2) CALL(archive_read_support_filter_lz4) \
    CALL(archive_read_support_filter_xz) CALL(archive_read_support_format_raw) \
    CALL(archive_read_support_format_tar) CALL(archive_set_error)

#define LIBARCHIVE_MEMBER(name) __typeof__(name) *name;
struct libarchive {
    LIBARCHIVE_CALLS(LIBARCHIVE_MEMBER)
};

/* Loads libarchive and fills in its functions. The library then stays loaded. Returns
 * SHEAF_ERR_UNSUPPORTED if it is not installed. */
int libarchive_load(struct libarchive *libarchive, struct sheaf_error *err);

#endif
