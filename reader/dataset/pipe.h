/* SPDX-License-Identifier: MIT
 *
 * The pipes of a channel in Pipe mode: PREFIX_0, PREFIX_1, ..., one per epoch.  The platform
 * creates each when it is needed. */
#ifndef READER_PIPE_H
#define READER_PIPE_H

#include "formats/attributes.h"
#include "store/store.h"

/* What a data set that is a channel of pipes consists of. */
struct pipe_source {
    char *prefix;               /* "/opt/ml/input/data/train" */
    uint64_t wait_ns;           /* for a pipe, and then for its writer */
    bool may_be_empty;          /* the platform shares objects out: some get none */
    struct attributes attributes;   /* each record is one of them; none: each is a sample */
};

/* Which pipe is which epoch's: the number of the one less that of the other, modulo 2^64.  The
 * two differ if a program resumes with epoch 5 in a new container, whose pipes begin at 0, or
 * starts anew beside pipes that have gone on. */
struct pipe_shift {
    bool known;
    uint64_t shift;
};

/* Waits for the pipe of `epoch` and its writer.  Its name has that number; or, while the shift is
 * not known and there is none of that number, it is the one with the lowest, if that is written
 * to.  Notes the shift.  Gives up when *interrupt is nonzero. */
int pipe_open(const struct pipe_source *source, uint64_t epoch, struct pipe_shift *shift,
              const volatile int *interrupt, struct store_object **object,
              struct sheaf_error *err);

/* The lowest number of a pipe of the prefix; SHEAF_ERR_NOT_FOUND: there is none. */
int pipe_lowest(const char *prefix, uint64_t *number, struct sheaf_error *err);

#endif
