/* SPDX-License-Identifier: MIT
 *
 * Variables that launchers set, beyond those read by the public functions
 * sheaf_world_from_environment and sheaf_part_from_environment. */
#ifndef MODES_LAUNCHER_H
#define MODES_LAUNCHER_H

#include <stdbool.h>

#include "modes/host_shards.h"

/* Finds the rank among the processes of this host alone, which is 0 of 1 if no launcher says more.
 * Returns SHEAF_ERR_ARGUMENT unless the world consists of equally many processes on all hosts, or
 * of this host's processes. `config` is the argument of sheaf_world_from_environment. */
int launcher_of_host(const char *config, uint32_t *rank, uint32_t *world_size,
                     const char **source, struct sheaf_error *err);

/* Finds the number of this host among SageMaker's hosts. Returns SHEAF_END if nothing states it. */
int launcher_host(const char *config, struct host *host, struct sheaf_error *err);

#endif
