/* SPDX-License-Identifier: MIT
 *
 * Requests the sizes of objects in a store. Many requests run at the same time, and their answers
 * come in the order of the requests. */
#ifndef PACKER_SOURCE_SIZE_QUEUE_H
#define PACKER_SOURCE_SIZE_QUEUE_H

#include "store/store.h"

struct size_queue;

/* A function that receives the answer to a request. `about` is the value that the caller passed to
 * size_queue_ask(). If the queue is closed before a request is answered, the function is called
 * with `stat` NULL, and its result is ignored. */
typedef int size_queue_fn(void *context, void *about, const struct store_stat *stat,
                        struct sheaf_error *err);

int size_queue_open(struct size_queue **queue, size_queue_fn *take, void *context,
                   struct sheaf_error *err);
/* Waits for the requests that are still running, and frees the queue. NULL is allowed. */
void size_queue_close(struct size_queue *queue);

/* Starts a request for the size of the object at `url`. The function `take` will receive the
 * answer. The call may first wait for earlier requests and pass their answers to `take`. If `take`
 * fails, this call fails.
 *
 * The queue takes ownership of `url` even after an error, and of `about` only on success. If `url`
 * is NULL, returns SHEAF_ERR_MEMORY. So callers need not check whether the allocation of `url` has
 * failed. */
int size_queue_ask(struct size_queue *queue, char *url, void *about, struct sheaf_error *err);
/* Waits for all answers, until `take` fails. */
int size_queue_drain(struct size_queue *queue, struct sheaf_error *err);

#endif
