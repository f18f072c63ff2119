/* SPDX-License-Identifier: MIT
 *
 * Removes temporary files of local writers that were killed.  A writer holds a lock on its file
 * until its process ends, so a file without a lock has no owner. */
#ifndef STORE_LOCAL_SWEEP_H
#define STORE_LOCAL_SWEEP_H

#include "sheaf.h"

/* Takes the lock.  On a file system that has none, the file stays if its writer is killed. */
void local_sweep_hold(int fd);
/* Removes the abandoned temporary files of `name` in the directory `partial`, which need not
 * exist. */
int local_sweep(const char *partial, const char *name, struct sheaf_error *err);

#endif
