/* SPDX-License-Identifier: MIT
 *
 * The writing end of a named pipe. The reading program may open the pipe late and close it early.
 *
 * The bytes go through a buffer. The last byte is always held back until more bytes come or the
 * epoch ends. So if the writing process dies, the stream ends in the middle of an object. The
 * reading program then notices that data is missing. */
#ifndef MODES_FIFO_H
#define MODES_FIFO_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/watch.h"

struct fifo {
    int fd;
    /* used while the pipe is full: shows the progress, and says whether the call was interrupted */
    struct watch *watch;
    const struct sheaf_progress *progress;
    struct buf held;
    uint64_t written;           /* bytes written to the pipe */
    size_t pipe_bytes;          /* of the pipe's own buffer */
};

/* Creates the named pipe at `path`, unless it exists already. Returns SHEAF_ERR_EXISTS if another
 * kind of file exists there. */
int fifo_make(const char *path, struct sheaf_error *err);

/* Opens the pipe for writing. Returns SHEAF_END if no program has opened the pipe for reading
 * yet. */
int fifo_open(struct fifo *fifo, const char *path, struct watch *watch,
              const struct sheaf_progress *progress, struct sheaf_error *err);

/* fifo_put, fifo_flush and fifo_end write to the pipe. They return SHEAF_END if the program at the
 * other end has closed the pipe. fifo_put writes further bytes. */
int fifo_put(struct fifo *fifo, const void *data, size_t size, struct sheaf_error *err);
/* Writes the bytes in the buffer to the pipe, except the last byte. Called before the caller waits
 * for something else, so that the reading program gets these bytes. */
int fifo_flush(struct fifo *fifo, struct sheaf_error *err);
int fifo_end(struct fifo *fifo, struct sheaf_error *err);

/* Closes the pipe, and drops the bytes in the buffer. */
void fifo_close(struct fifo *fifo);

/* fifo_tear and fifo_abandon are for a feeder that fails. Without them, a reading program could
 * wait for a writer forever. It could also mistake an empty stream for an epoch without objects.
 *
 * fifo_tear makes the stream of an open pipe incomplete. If nothing was written before, it writes
 * one byte, 0. Otherwise it does nothing, because the stream already lacks its last byte, which is
 * still in the buffer. */
void fifo_tear(struct fifo *fifo);
/* Removes a pipe that this process has not opened. A program that waits for the pipe's writer gets
 * one byte, 0, and then the end of the stream. Does nothing if the file is not a pipe. */
void fifo_abandon(const char *path);

#endif
