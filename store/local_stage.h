/* SPDX-License-Identifier: MIT
 *
 * Stages of local directories; see store/stage.h. */
#ifndef STORE_LOCAL_STAGE_H
#define STORE_LOCAL_STAGE_H

#include <stdbool.h>

#include "sheaf.h"

/* The functions for stages, which the table of the local store contains (struct store_ops). A stage
 * is a directory through which a run publishes its files (see store/stage.h). */
int local_stage_take(const char *partial, const char *from, const char *stage,
                     struct sheaf_error *err);
bool local_stage_is_there(const char *stage);
int local_stage_drop(const char *partial, const char *only, const char *except,
                     struct sheaf_error *err);
int local_stage_remove(const char *url, const char *stage, struct sheaf_error *err);

/* Renames a temporary file into the directory `stage` (see store/stage.h), and replaces *path by
 * the new path. If the stage is on another file system, the file stays where it is. Returns
 * SHEAF_ERR_CHANGED if the stage does not exist. */
int local_stage_enter(const char *url, char **path, const char *stage, struct sheaf_error *err);
/* Returns SHEAF_ERR_CHANGED if the directory `stage` no longer exists. In that case, another run
 * has renamed this directory, and has thereby taken over the destination. */
int local_stage_check(const char *url, const char *stage, struct sheaf_error *err);

#endif
