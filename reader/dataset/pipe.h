/* SPDX-License-Identifier: MIT
 *
 * The pipes of a channel in Amazon SageMaker's Pipe mode. They are called PREFIX_0, PREFIX_1 and so
 * on, and there is one pipe for each epoch. SageMaker creates each pipe when it is needed. */
#ifndef READER_PIPE_H
#define READER_PIPE_H

#include "formats/attributes.h"
#include "store/store.h"

/* A channel of pipes. Each epoch of the data set is read from one pipe of the channel. */
struct pipe_source {
    char *prefix;               /* path without the number, such as "/opt/ml/input/data/train" */
    /* longest time, in nanoseconds, for which a reader waits until a pipe exists and a process
     * writes to it */
    uint64_t wait_ns;
    /* True if a pipe may be empty. If SageMaker divides objects among hosts, some hosts may get
     * none. */
    bool may_be_empty;
    /* Names of the attributes, if an augmented manifest is read. Each record is then one attribute
     * of a sample. The list is empty if each record is a whole sample. */
    struct attributes attributes;
};

/* Difference between the number of a pipe and the number of its epoch: pipe = epoch + `shift`,
 * modulo 2^64. Usually the shift is 0. It is not 0 in two cases:
 * - A program resumes with epoch 5 in a new container, in which pipes begin at 0.
 * - A program begins with epoch 0 again in a container in which SageMaker continues to count
 *   pipes. */
struct pipe_shift {
    bool known;
    uint64_t shift;
};

/* Opens the pipe of `epoch`. Waits until the pipe exists and a process writes to it. The wait ends
 * early when *interrupt is not zero.
 *
 * If the shift (struct pipe_shift) is known, the number of the pipe is the epoch plus the shift. If
 * the shift is not known, the function opens the pipe with the number `epoch` if this pipe exists.
 * If it does not exist, the function opens the pipe with the lowest number, but only if a process
 * writes to this pipe. It then sets the shift. */
int pipe_open(const struct pipe_source *source, uint64_t epoch, struct pipe_shift *shift,
              const volatile int *interrupt, struct store_object **object,
              struct sheaf_error *err);

/* Sets *number to the lowest number among the pipes whose names begin with `prefix`. Returns
 * SHEAF_ERR_NOT_FOUND if no pipe has such a name. */
int pipe_lowest(const char *prefix, uint64_t *number, struct sheaf_error *err);

#endif
