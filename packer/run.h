/* SPDX-License-Identifier: MIT
 *
 * From a plan into the engine: the shards of a plan, cut into blocks. */
#ifndef PACKER_RUN_H
#define PACKER_RUN_H

#include <stdbool.h>

#include "packer/engine.h"

/* Submits the blocks of every shard of the plan, which is e->setup->plan, but for those that are
 * kept.  Who wants them in place calls engine_drain. */
int run_shards(struct engine *e, const struct plan *plan, const bool *kept,
               struct sheaf_error *err);

/* How many threads: a thread that waits for objects costs nothing, and keeps more requests under
 * way. */
unsigned run_jobs(unsigned jobs, bool is_remote);

#endif
