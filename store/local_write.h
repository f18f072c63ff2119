/* SPDX-License-Identifier: MIT
 *
 * Writes a local file from start to end, with two buffers (pieces). While a second thread writes
 * one piece to the file, the calling thread fills the other piece.
 *
 * A file with more than one piece is written directly to the disk, if the file system can do this.
 * Writing through the kernel's page cache would take longer, because it needs new memory for all
 * bytes. It would not even save the wait for the disk: the file must be on the disk before it gets
 * its name. A file of one piece is written through the page cache.
 *
 * If a write fails, one of the next calls returns the error. */
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

/* Size in bytes of a piece (one of the two buffers). It is large enough that a disk reaches its
 * full rate while only one piece is being written. */
#define LOCAL_PIECE ((size_t)2 << 20)

struct local_write {
    int fd;                     /* borrowed, like the url */
    const char *url;            /* of the errors */
    struct workers *thread;     /* NULL until a piece is full */
    struct local_piece pieces[2];
    unsigned filling;           /* of the pieces */
    /* The fields from here on belong to the writing thread while it writes a piece (a buffer). In
     * this time, the calling thread must not use them. */
    bool is_direct;             /* past the page cache */
    uint64_t written;
    /* error code of the first write that failed, or SHEAF_OK if no write has failed; after a
     * failure, nothing more is written */
    int code;
    struct sheaf_error error;
};

void local_write_open(struct local_write *write, int fd, const char *url);
int local_write_add(struct local_write *write, const void *data, size_t size,
                    struct sheaf_error *err);
/* Waits until all bytes were passed to the kernel. */
int local_write_end(struct local_write *write, struct sheaf_error *err);
/* Waits until the write in progress has ended, and frees both buffers. Does not close the
 * descriptor. */
void local_write_close(struct local_write *write);

#endif
