/* SPDX-License-Identifier: MIT
 *
 * The writing end of a named pipe, whose reader may open it late and close it early.
 *
 * What is written goes through a buffer of which the last byte is kept back until there is more,
 * or the end: so a feeder that dies never ends the stream where an object ends, and its reader
 * cannot take a part for the whole. */
#ifndef MODES_FIFO_H
#define MODES_FIFO_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/watch.h"

struct fifo {
    int fd;
    struct watch *watch;        /* shown the progress, and asked, while the pipe is full */
    const struct sheaf_progress *progress;
    struct buf held;
    uint64_t written;           /* bytes that the pipe has taken */
    size_t pipe_bytes;          /* of the pipe's own buffer */
};

/* Makes the pipe, or takes the one that is there; SHEAF_ERR_EXISTS if that is something else. */
int fifo_make(const char *path, struct sheaf_error *err);

/* Opens it if there is a reader: SHEAF_OK; SHEAF_END: not yet. */
int fifo_open(struct fifo *fifo, const char *path, struct watch *watch,
              const struct sheaf_progress *progress, struct sheaf_error *err);

/* These return SHEAF_END once the reader has gone. */
int fifo_put(struct fifo *fifo, const void *data, size_t size, struct sheaf_error *err);
/* Writes what is held but for the last byte: before waiting for something. */
int fifo_flush(struct fifo *fifo, struct sheaf_error *err);
int fifo_end(struct fifo *fifo, struct sheaf_error *err);

/* Closes it, whatever is held. */
void fifo_close(struct fifo *fifo);

#endif
