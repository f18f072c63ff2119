/* SPDX-License-Identifier: MIT
 *
 * Writes a local file from start to end, with two pieces of memory. While a thread of its own
 * writes one piece to the file, the writer's thread copies data into the other piece.
 *
 * A file that has more than one piece is written directly, without the kernel's page cache, if the
 * file system supports direct writes. A buffered write would spend most of its time on fresh memory
 * for the page cache, and the file must be on the disk before it gets its name anyway. The next
 * reader of the file reads it from the disk. A file of one piece stays in the page cache. If a
 * write fails, a later call reports the error. */
#ifndef STORE_LOCAL_WRITE_H
#define STORE_LOCAL_WRITE_H

#include "base/workers.h"

struct local_piece {
    struct job job;
    struct local_write *write;
    uint8_t *data;              /* LOCAL_PIECE bytes, aligned; NULL until used */
    size_t size;
    int code;                   /* result of this write or of an earlier one */
};

/* Size of a piece. It is large enough for a disk to reach its full rate with only one piece being
 * written. */
#define LOCAL_PIECE ((size_t)2 << 20)

struct local_write {
    int fd;                     /* borrowed, like the url */
    const char *url;            /* of the errors */
    struct workers *thread;     /* NULL until a piece is full */
    struct local_piece pieces[2];
    unsigned filling;           /* of the pieces */
    /* While a piece is being written, the following fields belong to the writing thread. */
    bool is_direct;             /* past the page cache */
    uint64_t written;
    /* result of the first failed write; after it, nothing more is written */
    int code;
    struct sheaf_error error;
};

void local_write_open(struct local_write *write, int fd, const char *url);
int local_write_add(struct local_write *write, const void *data, size_t size,
                    struct sheaf_error *err);
/* Waits until the kernel has all bytes. */
int local_write_end(struct local_write *write, struct sheaf_error *err);
/* Waits until the present write has ended, and frees the buffers. The descriptor stays open. */
void local_write_close(struct local_write *write);

#endif
