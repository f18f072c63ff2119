/* SPDX-License-Identifier: MIT
 *
 * Requests for the sizes of objects: many at a time, answered in the order of the requests. */
#ifndef PACKER_SOURCE_SIZE_QUEUE_H
#define PACKER_SOURCE_SIZE_QUEUE_H

#include "store/store.h"

struct questions;

/* An answer about what was asked.  `stat` NULL: there will be none, as the questions are closed;
 * the result then does not count. */
typedef int question_fn(void *context, void *about, const struct store_stat *stat,
                        struct sheaf_error *err);

int questions_open(struct questions **questions, question_fn *take, void *context,
                   struct sheaf_error *err);
/* Waits for what is under way.  NULL is fine. */
void questions_close(struct questions *questions);

/* Asks for the object at `url`, which is taken, also on failure (NULL: out of memory).  May wait
 * for earlier answers, and fail as `take` does of one; `about` is then the caller's still. */
int questions_ask(struct questions *questions, char *url, void *about, struct sheaf_error *err);
/* Waits for all answers, until `take` fails. */
int questions_drain(struct questions *questions, struct sheaf_error *err);

#endif
