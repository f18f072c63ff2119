/* SPDX-License-Identifier: MIT
 *
 * Stages keep a run that has lost a directory from changing it, even in the middle of a call.
 *
 * A stage is a directory in DIR/.sheaf-partial whose name is the number of a run. Each file to
 * which the run gives a name in DIR, and each file that it removes there, is first renamed into the
 * stage:
 *
 *     write     .sheaf-partial/NAME.<random>.tmp -> .sheaf-partial/RUN.stage/... -> NAME
 *     remove    NAME -> .sheaf-partial/RUN.stage/... -> gone
 *
 * Another run takes the directory by renaming the stage, which only one of several runs can do.
 * From then on no call of the earlier run finds the stage under its name, so what that run was
 * about to do fails. This needs neither locks nor clocks. A store without stages compares and acts
 * in one step instead (store/over.h). */
#ifndef STORE_STAGE_H
#define STORE_STAGE_H

#include "store/store.h"

#define STAGE_SUFFIX ".stage"

/* Makes the stage of a new run in the directory `partial`, a .sheaf-partial. *stage becomes its
 * path, which the caller frees, or NULL if the store has no stages. */
int stage_make(const char *partial, const char *run, char **stage, struct sheaf_error *err);
/* Takes over the stage of the run `from`, or of a later run that has taken it over meanwhile, and
 * empties it. Makes a new stage if there is none. */
int stage_take(const char *partial, const char *from, const char *run, char **stage,
               struct sheaf_error *err);
/* Finds the stage of a run that several processes share. *stage becomes NULL if there is none. */
int stage_find(const char *partial, const char *run, char **stage, struct sheaf_error *err);
/* Removes stages in the directory: only the stage `only`, or all stages except `except`, or all
 * stages if both are NULL. */
int stage_drop(const char *partial, const char *only, const char *except,
               struct sheaf_error *err);

/* Removes the object that was seen, like store_remove_over, through a stage (NULL for none).
 * Returns SHEAF_ERR_CHANGED also if another run has taken the stage. */
int stage_remove(const char *url, const struct store_seen *seen, const char *stage,
                 struct sheaf_error *err);

#endif
