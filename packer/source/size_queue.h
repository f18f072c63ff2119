/* SPDX-License-Identifier: MIT
 *
 * Requests the sizes of objects: many at a time, answered in the order of the requests. */
#ifndef PACKER_SOURCE_SIZE_QUEUE_H
#define PACKER_SOURCE_SIZE_QUEUE_H

#include "store/store.h"

struct size_queue;

/* Receives an answer. `about` is the value that the caller passed to size_queue_ask. When a queue
 * is closed, `stat` is NULL for questions that have no answer, and the result is ignored. */
typedef int size_queue_fn(void *context, void *about, const struct store_stat *stat,
                        struct sheaf_error *err);

int size_queue_open(struct size_queue **queue, size_queue_fn *take, void *context,
                   struct sheaf_error *err);
/* Waits for requests that are under way. NULL is accepted. */
void size_queue_close(struct size_queue *queue);

/* Asks for the size of the object at `url`. The queue takes `url` also after an error (NULL means
 * that memory is exhausted). May wait for earlier answers, and fail as `take` does for one of them.
 * After a failure, the caller still owns `about`. */
int size_queue_ask(struct size_queue *queue, char *url, void *about, struct sheaf_error *err);
/* Waits for all answers, until `take` fails. */
int size_queue_drain(struct size_queue *queue, struct sheaf_error *err);

#endif
