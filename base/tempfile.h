/* SPDX-License-Identifier: MIT
 *
 * Stores data that may not fit into memory. The data is written once, from start to end, and can
 * then be read any number of times. Large data goes to a temporary file without a name. The system
 * deletes this file when the process ends, even after a crash. */
#ifndef BASE_TEMPFILE_H
#define BASE_TEMPFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "sheaf.h"

/* Returns the directory for temporary files, as allocated memory. If the variable TMPDIR is set,
 * this is TMPDIR. Otherwise it is the directory of `path`, if `path` is not NULL and this directory
 * is writable. Otherwise it is /var/tmp. */
char *tempfile_directory(const char *path);

/* Creates a file without a name in a directory. Returns its descriptor, or sets the error and
 * returns -1. */
int tempfile_create(const char *directory, struct sheaf_error *err);
/* Writes all bytes or returns an error. */
int tempfile_write_at(int fd, uint64_t offset, const void *data, size_t size,
                      struct sheaf_error *err);
int tempfile_read_at(int fd, uint64_t offset, void *data, size_t size, struct sheaf_error *err);

/* Storage for bytes. The bytes are first in a buffer of at most memory_bytes. If this buffer
 * becomes too small, the bytes move to a temporary file. Before tempfile_open, `fd` must be -1 and
 * all other fields must be zero. */
struct tempfile {
    char *directory;            /* where the file will be created */
    size_t memory_bytes;        /* largest buffer before a file is created */
    int fd;
    uint8_t *buffer;
    /* `capacity` is the size of the buffer in bytes, `used` the number of bytes in it, and `at` the
     * number of these bytes that were already read */
    size_t capacity, used, at;
    bool is_written;
    uint64_t size;              /* total number of bytes written */
    uint64_t offset;            /* file offset of the bytes that follow the buffer's */
};

int tempfile_open(struct tempfile *file, const char *directory, size_t memory_bytes,
                  struct sheaf_error *err);
void tempfile_close(struct tempfile *file);
int tempfile_put(struct tempfile *file, const void *data, size_t size, struct sheaf_error *err);
int tempfile_put_varint(struct tempfile *file, uint64_t value, struct sheaf_error *err);
/* Ends writing, and moves the read position to the beginning of the data. */
int tempfile_rewind(struct tempfile *file, struct sheaf_error *err);
int tempfile_get(struct tempfile *file, void *data, size_t size, struct sheaf_error *err);
int tempfile_get_varint(struct tempfile *file, uint64_t *value, struct sheaf_error *err);
/* Sets *data to the `size` bytes at `offset`. If the storage still has its bytes in memory, *data
 * points there. Otherwise the bytes are read from the file into `room`. tempfile_rewind must have
 * been called before. */
int tempfile_view(const struct tempfile *file, uint64_t offset, size_t size, struct buf *room,
                  const uint8_t **data, struct sheaf_error *err);

#endif
