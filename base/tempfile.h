/* SPDX-License-Identifier: MIT
 *
 * Bytes that do not fit into memory: a temporary file, written once from its start to its end and
 * then read, as often as need be.  It has no name, so nothing is left of it however the process
 * ends. */
#ifndef BASE_TEMPFILE_H
#define BASE_TEMPFILE_H

#include <stddef.h>
#include <stdint.h>

#include "sheaf.h"

/* The directory of temporary files: TMPDIR, else that of `path` if it is not NULL, else /var/tmp.
 * In memory of its own. */
char *spool_directory(const char *path);

/* A new file in a directory, without a name; -1 and an error. */
int spool_create(const char *directory, struct sheaf_error *err);
/* All bytes or an error. */
int spool_write_at(int fd, uint64_t offset, const void *data, size_t size,
                   struct sheaf_error *err);
int spool_read_at(int fd, uint64_t offset, void *data, size_t size, struct sheaf_error *err);

/* With a buffer.  Zero-initialised with fd -1. */
struct spool {
    int fd;
    uint8_t *buffer;
    size_t used, at;            /* of the buffer: its bytes, and those that were read */
    uint64_t size;              /* of the file, once it is all written */
    uint64_t offset;            /* where the buffer's next bytes are in it */
};

int spool_open(struct spool *spool, const char *directory, struct sheaf_error *err);
void spool_close(struct spool *spool);
int spool_put(struct spool *spool, const void *data, size_t size, struct sheaf_error *err);
int spool_put_varint(struct spool *spool, uint64_t value, struct sheaf_error *err);
/* To the beginning, to read. */
int spool_rewind(struct spool *spool, struct sheaf_error *err);
int spool_get(struct spool *spool, void *data, size_t size, struct sheaf_error *err);
int spool_get_varint(struct spool *spool, uint64_t *value, struct sheaf_error *err);

#endif
