/* SPDX-License-Identifier: MIT
 *
 * What launchers put into the environment, beyond the two public functions
 * (sheaf_world_from_environment, sheaf_part_from_environment). */
#ifndef MODES_LAUNCHER_H
#define MODES_LAUNCHER_H

#include <stdbool.h>

#include "modes/host_shards.h"

/* The rank among the processes of this host alone; 0 of 1 if no launcher says more.
 * SHEAF_ERR_ARGUMENT: the world is not that of all hosts, which have equally many each, nor that of
 * this one.  `config`: as for sheaf_world_from_environment. */
int launcher_of_host(const char *config, uint32_t *rank, uint32_t *world_size,
                     const char **source, struct sheaf_error *err);

/* Which of SageMaker's hosts this is; SHEAF_END: nothing says. */
int launcher_host(const char *config, struct host *host, struct sheaf_error *err);

#endif
