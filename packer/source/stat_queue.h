/* SPDX-License-Identifier: MIT
 *
 * Requests the attributes of files (size, time) on several threads, and returns the answers in
 * order. Several threads are faster, because each answer must come from the disk or a server if the
 * kernel does not have the directory in memory. */
#ifndef PACKER_SOURCE_STAT_QUEUE_H
#define PACKER_SOURCE_STAT_QUEUE_H

#include <sys/stat.h>

#include "sheaf.h"

struct stat_queue;

/* A question about a file. */
struct stat_question {
    const char *path;
    /* path under which the file is packed, or NULL if this is the file's own path */
    const char *named;
    uint32_t label;
};

/* A function that receives the attributes of a file. `errnum` is 0, or the reason why the
 * attributes could not be read. The function must not add further paths to the queue. */
typedef int stat_queue_fn(void *context, const struct stat_question *asked, int errnum,
                     const struct stat *st, struct sheaf_error *err);

/* Paths are relative to `root_fd`. */
int stat_queue_open(struct stat_queue **queue, int root_fd, stat_queue_fn *take, void *context,
               struct sheaf_error *err);
/* Drops questions without an answer. NULL is accepted. */
void stat_queue_close(struct stat_queue *queue);

/* Adds a request for the attributes of a file. The function `take` later receives the question and
 * its answer. The call may first pass earlier answers to `take`, and fails if `take` fails. */
int stat_queue_add(struct stat_queue *queue, const struct stat_question *question,
                   struct sheaf_error *err);
/* Takes all answers, until `take` fails. */
int stat_queue_drain(struct stat_queue *queue, struct sheaf_error *err);

#endif
