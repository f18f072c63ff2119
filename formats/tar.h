/* SPDX-License-Identifier: MIT
 *
 * Tar members. Reads ustar, pax and GNU headers; writes ustar headers, with a pax header where
 * ustar is not enough. A member consists of extension headers (pax 'x', GNU 'L' and 'K', each with
 * data), the member's own header, and its data. All parts are padded to whole blocks. */
#ifndef FORMATS_TAR_H
#define FORMATS_TAR_H

#include <stdbool.h>

#include "base/buf.h"
#include "sheaf.h"

#define TAR_BLOCK 512
#define TAR_END_BLOCKS 2
/* Two limits for the total size of the extension headers before one member. Up to the first limit
 * the member is usable. Up to the second limit the headers are still read, but only to find out
 * which sample is damaged. Larger headers are refused. */
#define TAR_EXTENSION_LIMIT ((size_t)1 << 20)
#define TAR_EXTENSION_MOST  ((size_t)3 << 20)

enum tar_kind {
    TAR_FILE,           /* regular */
    TAR_DIRECTORY,
    TAR_OTHER,          /* links, devices, vendors' types */
    TAR_GLOBAL,         /* a global pax header, which belongs to no member */
    TAR_ZERO,           /* a zero block */
};

/* A member. Its path consists of `prefix`, a slash if `prefix` is not empty, and `name`. Both point
 * into the parsed data. */
struct tar_member {
    enum tar_kind kind;
    size_t header_bytes;        /* bytes from the first extension header to the data */
    uint64_t bytes;             /* of data */
    const char *prefix, *name;
    size_t prefix_size, name_size;
    bool is_label;              /* whether tar_write made the member of the labels */
    /* static text that says why a file's data cannot be read; NULL if it can be read */
    const char *problem;
};

static inline uint64_t tar_padded(uint64_t bytes)
{
    return (bytes + TAR_BLOCK - 1) & ~(uint64_t)(TAR_BLOCK - 1);
}

/* Parses the member that begins at `data`. `size` is the number of bytes there. On success, sets
 * *need to 0 and fills *member, or sets *need to the number of bytes with which the caller must
 * call again. On failure (SHEAF_ERR_CORRUPT or SHEAF_ERR_LIMIT), member->kind is TAR_GLOBAL if the
 * damage also affects all later members. Nothing else in *member is valid then, and the caller must
 * have set member->kind to another kind before the call. */
int tar_parse(const uint8_t *data, size_t size, struct tar_member *member, size_t *need,
              struct sheaf_error *err);

/* Parses a member like tar_parse. The caller must just have verified its header checksums, so most
 * of the header is not examined again. */
int tar_parse_checked(const uint8_t *data, size_t size, struct tar_member *member, size_t *need,
                      struct sheaf_error *err);

/* Appends the header of a member of `size` bytes. `is_label` marks the member as made of the
 * sample's labels. On failure `out` is unchanged. */
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
