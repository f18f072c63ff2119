/* SPDX-License-Identifier: MIT
 *
 * Attributes of files, requested by several threads and answered in order: in a directory that is
 * not in memory, each answer comes from the disk or from a server. */
#ifndef PACKER_SOURCE_STAT_QUEUE_H
#define PACKER_SOURCE_STAT_QUEUE_H

#include <sys/stat.h>

#include "sheaf.h"

struct stats;

/* An answer; `errnum` not 0: there is none, for that reason.  It adds no paths. */
typedef int stats_fn(void *context, const char *path, uint32_t label, int errnum,
                     const struct stat *st, struct sheaf_error *err);

/* Paths are relative to `root_fd`. */
int stats_open(struct stats **stats, int root_fd, stats_fn *take, void *context,
               struct sheaf_error *err);
/* Drops what was not answered.  NULL is fine. */
void stats_close(struct stats *stats);

/* Asks; `label` comes back with the answer.  May take earlier answers, and fail as `take` does. */
int stats_add(struct stats *stats, const char *path, uint32_t label, struct sheaf_error *err);
/* Takes all answers, until `take` fails. */
int stats_drain(struct stats *stats, struct sheaf_error *err);

#endif
