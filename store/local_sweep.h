/* SPDX-License-Identifier: MIT
 *
 * Removes temporary files of killed local writers. A writer holds a lock on its file until its
 * process ends, so a file without a lock has no owner. */
#ifndef STORE_LOCAL_SWEEP_H
#define STORE_LOCAL_SWEEP_H

#include "sheaf.h"

/* Takes the lock. On a file system without locks, the file of a killed writer is not removed. */
void local_sweep_hold(int fd);
/* Removes the abandoned temporary files for `name` in the directory `partial`, which need not
 * exist. */
int local_sweep(const char *partial, const char *name, struct sheaf_error *err);

#endif
