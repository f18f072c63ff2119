/* SPDX-License-Identifier: MIT
 *
 * Opens the files of a plan before they are needed. The kernel then fetches these files while
 * others are read. A disk with many outstanding requests is several times as fast as with one. For
 * a file that is already in memory, opening it early costs only one fast call. */
#ifndef PACKER_FILE_AHEAD_H
#define PACKER_FILE_AHEAD_H

#include "packer/plan/plan.h"

/* Number of files that each thread opens in advance. This number is per thread, because each thread
 * packs one block at a time. */
#define FILES_AHEAD 16u

struct file_ahead {
    const struct plan *plan;
    int root_fd;
    /* `sample` is the number of the sample whose file is opened next. No files are opened for
     * sample `end` and later samples. */
    uint64_t sample, end;
    /* the next file to open, as an index into the files of this sample */
    uint32_t file;
    unsigned head, count;           /* of the ring */
    struct { int fd, errnum; } ring[FILES_AHEAD];
};

/* Begins to open the files of the samples from `first` up to, but not including, `end`. */
void file_ahead_begin(struct file_ahead *ahead, const struct plan *plan, int root_fd,
                      uint64_t first, uint64_t end);
/* Returns the descriptor of the next file, which the caller must close. Returns -1 and sets errno
 * if the file cannot be opened. */
int file_ahead_take(struct file_ahead *ahead);
/* Closes the files that were not taken. */
void file_ahead_end(struct file_ahead *ahead);

#endif
