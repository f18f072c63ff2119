/* SPDX-License-Identifier: MIT
 *
 * Functions that read the environment variables of launchers (Slurm, Open MPI, torchrun, ...). The
 * public functions for this are sheaf_world_from_environment and sheaf_part_from_environment. */
#ifndef MODES_LAUNCHER_H
#define MODES_LAUNCHER_H

#include <stdbool.h>

#include "modes/host_shards.h"

/* Sets *rank to the rank of this process among the processes on this host, and *world_size to the
 * number of these processes. If no launcher has set variables for this, the rank is 0 and the
 * number is 1. `config` is the argument of sheaf_world_from_environment.
 *
 * If the environment states a world size, it must be the number of processes on this host, or this
 * number times the number of hosts. Otherwise it is unknown which processes run on this host, and
 * the function returns SHEAF_ERR_ARGUMENT. */
int launcher_of_host(const char *config, uint32_t *rank, uint32_t *world_size,
                     const char **source, struct sheaf_error *err);

/* Finds the number of this host among the hosts of a SageMaker job. Returns SHEAF_END if neither
 * the environment nor SageMaker's files state it. */
int launcher_host(const char *config, struct host *host, struct sheaf_error *err);

#endif
