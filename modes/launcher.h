/* SPDX-License-Identifier: MIT
 *
 * What launchers put into the environment, beyond the two public functions
 * (sheaf_world_from_environment, sheaf_part_from_environment). */
#ifndef MODES_LAUNCHER_H
#define MODES_LAUNCHER_H

#include "sheaf.h"

/* The rank among the processes of this host alone; SHEAF_END: no launcher says. */
int launcher_of_host(uint32_t *rank, uint32_t *world_size, const char **source,
                     struct sheaf_error *err);

#endif
