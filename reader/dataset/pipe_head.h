/* SPDX-License-Identifier: MIT
 *
 * The first bytes of a pipe. They show its container and codec, and can be read only once, so they
 * are kept until the records are read. */
#ifndef READER_PIPE_HEAD_H
#define READER_PIPE_HEAD_H

#include "formats/detect.h"
#include "reader/dataset/pipe.h"

struct pipe_head {              /* zero-initialised */
    struct buf bytes;
    size_t used;                /* number of these bytes that were read again */
};

/* Detects the container and codec of a pipe that was just opened. `source` is its channel, or NULL.
 * Returns SHEAF_END if the pipe is empty and the channel allows this. */
int pipe_head_detect(struct pipe_head *head, struct store_object *object,
                     const struct pipe_source *source, struct detected *found,
                     struct sheaf_error *err);
/* Reads the next bytes of the pipe, including its first bytes. Sets *got to 0 at the end. */
int pipe_head_read(struct pipe_head *head, struct store_object *object, void *data, size_t size,
                   size_t *got, struct sheaf_error *err);
void pipe_head_free(struct pipe_head *head);

#endif
