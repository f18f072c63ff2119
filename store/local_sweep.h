/* SPDX-License-Identifier: MIT
 *
 * Removes temporary files that killed processes were writing. A writer holds a lock on its file
 * until its process ends, so a file without a lock has no living writer. */
#ifndef STORE_LOCAL_SWEEP_H
#define STORE_LOCAL_SWEEP_H

#include "sheaf.h"

/* Takes the lock of a temporary file. On a file system without locks, temporary files of killed
 * writers are not removed. */
void local_sweep_hold(int fd);
/* Removes from the directory `partial` the temporary files for `name` that have no living writer.
 * The directory need not exist. */
int local_sweep(const char *partial, const char *name, struct sheaf_error *err);

#endif
