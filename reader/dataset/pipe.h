/* SPDX-License-Identifier: MIT
 *
 * The pipes of a channel in Amazon SageMaker's Pipe mode: PREFIX_0, PREFIX_1, and so on, one for
 * each epoch. SageMaker ("the platform") creates each pipe when it is needed. */
#ifndef READER_PIPE_H
#define READER_PIPE_H

#include "formats/attributes.h"
#include "store/store.h"

/* Describes a data set that is a channel of pipes. */
struct pipe_source {
    char *prefix;               /* "/opt/ml/input/data/train" */
    /* limit in nanoseconds of the total time in which the pipe must appear and a process must begin
     * to write to it */
    uint64_t wait_ns;
    /* whether an empty pipe is allowed: the platform divides objects among hosts, and some hosts
     * may get none */
    bool may_be_empty;
    /* if there are attributes, each record is one attribute of a sample; otherwise each record
     * is a sample */
    struct attributes attributes;
};

/* Pipe number = epoch + `shift`, modulo 2^64. The shift is not 0 in two cases: a program resumes
 * with epoch 5 in a new container, whose pipes begin at 0; or a program begins with epoch 0 a
 * second time in one container, where SageMaker continues to count pipes. */
struct pipe_shift {
    bool known;
    uint64_t shift;
};

/* Waits for the pipe of `epoch`, and for a process that writes to it. Looks for the pipe whose
 * number follows from the epoch and the shift. If the shift is unknown and there is no such pipe,
 * accepts the pipe with the lowest number, provided that a process writes to it. Then records the
 * shift. Stops when *interrupt is not zero. */
int pipe_open(const struct pipe_source *source, uint64_t epoch, struct pipe_shift *shift,
              const volatile int *interrupt, struct store_object **object,
              struct sheaf_error *err);

/* Finds the lowest number among the pipes with this prefix. Returns SHEAF_ERR_NOT_FOUND if there
 * are no pipes. */
int pipe_lowest(const char *prefix, uint64_t *number, struct sheaf_error *err);

#endif
