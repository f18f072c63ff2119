/* SPDX-License-Identifier: MIT
 *
 * Keeps the first bytes of a pipe. They are needed to detect the container and the codec. They can
 * be read from the pipe only once, and are needed again when the records are read. */
#ifndef READER_PIPE_HEAD_H
#define READER_PIPE_HEAD_H

#include "formats/detect.h"
#include "reader/dataset/pipe.h"

struct pipe_head {              /* Must be all zeros before the first use. */
    struct buf bytes;
    size_t used;                /* number of these bytes that were read again */
};

/* Reads the first bytes of a pipe that was just opened, and detects its container and codec.
 * `source` is the channel (the named sequence of pipes) if the pipe is one of Amazon SageMaker's.
 * `source` is NULL for any other pipe, such as standard input. Returns SHEAF_END if the pipe is
 * empty and source->may_be_empty is set. */
int pipe_head_detect(struct pipe_head *head, struct store_object *object,
                     const struct pipe_source *source, struct detected *found,
                     struct sheaf_error *err);
/* Reads the next bytes of the pipe. The kept first bytes come first. Sets *got to the number of
 * bytes read, which is 0 at the end. */
int pipe_head_read(struct pipe_head *head, struct store_object *object, void *data, size_t size,
                   size_t *got, struct sheaf_error *err);
void pipe_head_free(struct pipe_head *head);

#endif
