/* SPDX-License-Identifier: MIT
 *
 * Reads and writes the members of a tar. Reads ustar, pax and GNU headers. Writes ustar headers,
 * with a pax header in addition if a path or size does not fit.
 *
 * A member consists of extension headers (pax 'x', GNU 'L' and 'K', each with data), the member's
 * own header, and its data. All parts are padded to whole blocks of 512 bytes. */
#ifndef FORMATS_TAR_H
#define FORMATS_TAR_H

#include <stdbool.h>

#include "base/buf.h"
#include "sheaf.h"

#define TAR_BLOCK 512
#define TAR_END_BLOCKS 2
/* Limits for the total size, in bytes, of the extension headers before one member. Up to the first
 * limit, the member is usable. Between the two limits, the headers are read only in order to tell
 * which sample is damaged. Above the second limit, they are refused. */
#define TAR_EXTENSION_LIMIT ((size_t)1 << 20)
#define TAR_EXTENSION_MOST  ((size_t)3 << 20)

enum tar_kind {
    TAR_FILE,           /* regular */
    TAR_DIRECTORY,
    TAR_OTHER,          /* links, devices, vendors' types */
    TAR_GLOBAL,         /* a global pax header, which belongs to no member */
    TAR_ZERO,           /* a zero block */
};

/* A parsed member of a tar. Its path consists of `prefix`, a slash if `prefix` is not empty, and
 * `name`. Both texts lie in the parsed data and are not NUL-terminated. */
struct tar_member {
    enum tar_kind kind;
    size_t header_bytes;        /* bytes from the first extension header to the data */
    uint64_t bytes;             /* size of the data in bytes */
    const char *prefix, *name;
    size_t prefix_size, name_size;
    bool is_label;              /* whether tar_write made the member of the labels */
    /* static text that says why the content of the file cannot be read (such as a sparse file), or
     * NULL if it can */
    const char *problem;
};

static inline uint64_t tar_padded(uint64_t bytes)
{
    return (bytes + TAR_BLOCK - 1) & ~(uint64_t)(TAR_BLOCK - 1);
}

/* Parses the tar member that begins at `data`, where `size` bytes are available. On success, sets
 * *need to 0 and fills *member. If more bytes are needed, returns SHEAF_OK and sets *need to the
 * number of bytes with which the caller must call again.
 *
 * On failure returns SHEAF_ERR_CORRUPT or SHEAF_ERR_LIMIT. If the damage also affects all later
 * members, member->kind is then TAR_GLOBAL. Otherwise member->kind may be unchanged, so the caller
 * must set it to another value before the call. The rest of *member is not valid. */
int tar_parse(const uint8_t *data, size_t size, struct tar_member *member, size_t *need,
              struct sheaf_error *err);

/* Parses a tar member like tar_parse(), but faster, because it examines less of the header. This is
 * safe only if the checksums of the member's headers were verified before; the caller must have
 * done this. */
int tar_parse_checked(const uint8_t *data, size_t size, struct tar_member *member, size_t *need,
                      struct sheaf_error *err);

/* Appends the header of a tar member with `size` bytes of data. `is_label` marks the member as made
 * by our packer from the sample's labels. On failure `out` is unchanged. */
int tar_write_header(struct buf *out, const char *path, uint64_t size, bool is_label,
                     struct sheaf_error *err);

/* How many bytes tar_write_header() appends. */
size_t tar_header_bytes(const char *path, uint64_t size);

/* Appends a whole member. */
int tar_write(struct buf *out, const char *path, const void *data, size_t size, bool is_label,
              struct sheaf_error *err);

/* Appends the blocks that end an archive. */
int tar_write_end(struct buf *out, struct sheaf_error *err);

#endif
