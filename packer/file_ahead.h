/* SPDX-License-Identifier: MIT
 *
 * Opens the files of a plan before they are needed. The kernel then reads them in the background
 * while other files are read. A disk with many outstanding requests is several times as fast as
 * with one. For a file that is already cached, this costs only one fast system call. */
#ifndef PACKER_FILE_AHEAD_H
#define PACKER_FILE_AHEAD_H

#include "packer/plan/plan.h"

/* Number of files that each thread opens in advance. Each thread packs one block at a time. */
#define FILES_AHEAD 16u

struct file_ahead {
    const struct plan *plan;
    int root_fd;
    /* `sample` is the number of the sample whose file is opened next. `end` is the number of the
     * first sample whose files are not opened. */
    uint64_t sample, end;
    /* index of the next file to open, among the files of the sample `sample` */
    uint32_t file;
    unsigned head, count;           /* of the ring */
    struct { int fd, errnum; } ring[FILES_AHEAD];
};

/* Prepares to open the files of the plan's samples `first` to `end` - 1. file_ahead_take() opens
 * them. */
void file_ahead_begin(struct file_ahead *ahead, const struct plan *plan, int root_fd,
                      uint64_t first, uint64_t end);
/* Returns the descriptor of the next file in the order of the plan, and opens more files in
 * advance. The caller must close the descriptor. Returns -1 and sets errno if the file cannot be
 * opened. */
int file_ahead_take(struct file_ahead *ahead);
/* Closes the files that were not taken. */
void file_ahead_end(struct file_ahead *ahead);

#endif
