/* SPDX-License-Identifier: MIT
 *
 * Removes temporary files that killed processes have left. A writer holds a lock on its file until
 * its process ends, so a file without a lock is abandoned. */
#ifndef STORE_LOCAL_SWEEP_H
#define STORE_LOCAL_SWEEP_H

#include "sheaf.h"

/* Locks a temporary file, so that other processes know that its writer is running. On a file system
 * without locks, abandoned temporary files are never removed. */
void local_sweep_hold(int fd);
/* Removes the abandoned temporary files for `name` from the directory `partial`. A temporary file
 * is abandoned if its writer no longer runs. The directory need not exist. */
int local_sweep(const char *partial, const char *name, struct sheaf_error *err);

#endif
