/* SPDX-License-Identifier: MIT
 *
 * Reads an archive file at any offset. Also declares struct archive_member, which has the facts
 * about one member of an archive. */
#ifndef PACKER_SOURCE_ARCHIVE_FILE_H
#define PACKER_SOURCE_ARCHIVE_FILE_H

#include <stdint.h>

#include "sheaf.h"

struct archive_file {
    int fd;
    uint64_t bytes;
};

struct archive_member {
    const char *path;
    uint64_t bytes;
    const char *problem;        /* NULL; or why it cannot be packed */
    /* position of the member in the archive, as a text; the form of the text is different for a zip
     * and for a tar */
    char where[80];
};
typedef int archive_member_fn(void *context, const struct archive_member *member,
                              struct sheaf_error *err);

/* Reads exactly `size` bytes, or fails. */
int archive_read_at(const struct archive_file *file, uint64_t offset, void *data, uint64_t size,
                    struct sheaf_error *err);

#endif
