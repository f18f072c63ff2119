/* SPDX-License-Identifier: MIT
 *
 * Requests for the sizes of objects: many at a time, answered in the order of the requests. */
#ifndef PACKER_SOURCE_SIZE_QUEUE_H
#define PACKER_SOURCE_SIZE_QUEUE_H

#include "store/store.h"

struct size_queue;

/* An answer about what was asked.  `stat` NULL: there will be none, since the queue is closed;
 * the result then does not count. */
typedef int size_queue_fn(void *context, void *about, const struct store_stat *stat,
                        struct sheaf_error *err);

int size_queue_open(struct size_queue **queue, size_queue_fn *take, void *context,
                   struct sheaf_error *err);
/* Waits for what is under way.  NULL is fine. */
void size_queue_close(struct size_queue *queue);

/* Asks for the object at `url`, which is taken, also on failure (NULL: out of memory).  May wait
 * for earlier answers, and fail as `take` does of one; `about` is then the caller's still. */
int size_queue_ask(struct size_queue *queue, char *url, void *about, struct sheaf_error *err);
/* Waits for all answers, until `take` fails. */
int size_queue_drain(struct size_queue *queue, struct sheaf_error *err);

#endif
