/* SPDX-License-Identifier: MIT
 *
 * Opens files of a plan ahead of their turn.  The kernel then fetches them while others are read,
 * and a disk with many outstanding requests is several times as fast as with one.  A file that is
 * in memory already costs one quick call. */
#ifndef PACKER_FILE_AHEAD_H
#define PACKER_FILE_AHEAD_H

#include "packer/plan/plan.h"

/* Open files ahead per thread, which packs one block at a time. */
#define FILES_AHEAD 16u

struct file_ahead {
    const struct plan *plan;
    int root_fd;
    uint64_t sample, end;           /* of the plan: that of the next file, and their end */
    uint32_t file;                  /* the next to be opened, among the sample's */
    unsigned head, count;           /* of the ring */
    struct { int fd, errnum; } ring[FILES_AHEAD];
};

/* For the files of the samples from `first` to before `end`. */
void file_ahead_begin(struct file_ahead *ahead, const struct plan *plan, int root_fd,
                      uint64_t first, uint64_t end);
/* The next file, for the caller to close; -1 and errno if it cannot be opened. */
int file_ahead_take(struct file_ahead *ahead);
/* Closes those that were not taken. */
void file_ahead_end(struct file_ahead *ahead);

#endif
