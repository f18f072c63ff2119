/* SPDX-License-Identifier: MIT
 *
 * Data that may not fit into memory: written once from start to end, then read any number of times.
 * Large data goes to a temporary file.  The file has no name, so nothing is left of it however the
 * process ends. */
#ifndef BASE_TEMPFILE_H
#define BASE_TEMPFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "sheaf.h"

/* The directory of temporary files: TMPDIR, else that of `path` if it is not NULL and can be
 * written to, else /var/tmp.  In memory of its own. */
char *tempfile_directory(const char *path);

/* A new file in a directory, without a name; -1 and an error. */
int tempfile_create(const char *directory, struct sheaf_error *err);
/* All bytes or an error. */
int tempfile_write_at(int fd, uint64_t offset, const void *data, size_t size,
                      struct sheaf_error *err);
int tempfile_read_at(int fd, uint64_t offset, void *data, size_t size, struct sheaf_error *err);

/* Bytes in a buffer of at most memory_bytes; beyond that, in a temporary file.  Starts as zeros,
 * with fd -1. */
struct tempfile {
    char *directory;            /* where the file will be */
    size_t memory_bytes;        /* the buffer's most, before there is a file */
    int fd;                     /* -1: the buffer has everything */
    uint8_t *buffer;
    size_t capacity, used, at;  /* of the buffer: its bytes, and those that were read */
    bool is_written;
    uint64_t size;              /* of what is written */
    uint64_t offset;            /* where the bytes after the buffer's are */
};

int tempfile_open(struct tempfile *file, const char *directory, size_t memory_bytes,
                  struct sheaf_error *err);
void tempfile_close(struct tempfile *file);
int tempfile_put(struct tempfile *file, const void *data, size_t size, struct sheaf_error *err);
int tempfile_put_varint(struct tempfile *file, uint64_t value, struct sheaf_error *err);
/* To the beginning, to read: no more is written from then on. */
int tempfile_rewind(struct tempfile *file, struct sheaf_error *err);
int tempfile_get(struct tempfile *file, void *data, size_t size, struct sheaf_error *err);
int tempfile_get_varint(struct tempfile *file, uint64_t *value, struct sheaf_error *err);
/* Bytes from anywhere in it, once it was rewound: where they are, or in `room`. */
int tempfile_view(const struct tempfile *file, uint64_t offset, size_t size, struct buf *room,
                  const uint8_t **data, struct sheaf_error *err);

#endif
