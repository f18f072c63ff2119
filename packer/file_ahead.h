/* SPDX-License-Identifier: MIT
 *
 * Opens files of a plan before they are needed. The kernel then fetches them while others are read,
 * and a disk with many outstanding requests is several times as fast as with one. For a file that
 * is in memory this costs one fast call. */
#ifndef PACKER_FILE_AHEAD_H
#define PACKER_FILE_AHEAD_H

#include "packer/plan/plan.h"

/* Files that are open in advance per thread. A thread packs one block at a time. */
#define FILES_AHEAD 16u

struct file_ahead {
    const struct plan *plan;
    int root_fd;
    uint64_t sample, end;           /* the sample of the next file, and the end of the samples */
    uint32_t file;                  /* the next file to be opened, an index in the sample's files */
    unsigned head, count;           /* of the ring */
    struct { int fd, errnum; } ring[FILES_AHEAD];
};

/* Begins to open the files of the samples from `first` up to, not including, `end`. */
void file_ahead_begin(struct file_ahead *ahead, const struct plan *plan, int root_fd,
                      uint64_t first, uint64_t end);
/* Returns the next file, which the caller closes, or -1 and errno if it cannot be opened. */
int file_ahead_take(struct file_ahead *ahead);
/* Closes the files that were not taken. */
void file_ahead_end(struct file_ahead *ahead);

#endif
