/* SPDX-License-Identifier: MIT
 *
 * The writing end of a named pipe, whose reader may open it late and close it early.
 *
 * The bytes go through a buffer. Its last byte is held back until more bytes come or the epoch
 * ends. So a feeder that dies never ends the stream where an object ends, and its reader cannot
 * take a part of the data for the whole. */
#ifndef MODES_FIFO_H
#define MODES_FIFO_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/watch.h"

struct fifo {
    int fd;
    struct watch *watch;        /* shows the progress, and tells whether the call was interrupted
                                   while the pipe is full */
    const struct sheaf_progress *progress;
    struct buf held;
    uint64_t written;           /* bytes written to the pipe */
    size_t pipe_bytes;          /* of the pipe's own buffer */
};

/* Creates the pipe or uses an existing one. Returns SHEAF_ERR_EXISTS if the path is something
 * else. */
int fifo_make(const char *path, struct sheaf_error *err);

/* Opens the pipe if it has a reader. Returns SHEAF_OK, or SHEAF_END if there is no reader yet. */
int fifo_open(struct fifo *fifo, const char *path, struct watch *watch,
              const struct sheaf_progress *progress, struct sheaf_error *err);

/* Write to the pipe. These functions return SHEAF_END once the reader has gone. */
int fifo_put(struct fifo *fifo, const void *data, size_t size, struct sheaf_error *err);
/* Writes the buffered bytes except for the last one. Used before waiting for something. */
int fifo_flush(struct fifo *fifo, struct sheaf_error *err);
int fifo_end(struct fifo *fifo, struct sheaf_error *err);

/* Closes it, whatever is held. */
void fifo_close(struct fifo *fifo);

#endif
