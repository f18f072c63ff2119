/* SPDX-License-Identifier: MIT
 *
 * Stages: how a run that has lost a directory is kept from changing it, even in the middle of a
 * call.
 *
 * A stage is a directory in DIR/.sheaf-partial that has the number of a run as its name.  Each file
 * to which the run gives a name in DIR, and each that it removes there, is first renamed into the
 * stage or out of it:
 *
 *     write     .sheaf-partial/NAME.<random>.tmp -> .sheaf-partial/RUN.stage/... -> NAME
 *     remove    NAME -> .sheaf-partial/RUN.stage/... -> gone
 *
 * Another run takes the directory by renaming the stage, which only one of several can do.  From
 * then on no call of the run before finds the stage under its name, so what that run was about to
 * do fails. This needs neither locks nor clocks.  A store without stages compares and acts at once
 * instead (store/over.h). */
#ifndef STORE_STAGE_H
#define STORE_STAGE_H

#include "store/store.h"

#define STAGE_SUFFIX ".stage"

/* Makes the stage of a new run in the directory `partial`, a .sheaf-partial.  *stage is its path,
 * which the caller frees, or NULL where a store has no stages. */
int stage_make(const char *partial, const char *run, char **stage, struct sheaf_error *err);
/* Takes the stage of the run `from`, or of whichever run has taken it since, and empties it.  Makes
 * a new one if there is none. */
int stage_take(const char *partial, const char *from, const char *run, char **stage,
               struct sheaf_error *err);
/* Finds the stage of a run in which others take part.  *stage is NULL if there is none. */
int stage_find(const char *partial, const char *run, char **stage, struct sheaf_error *err);
/* Removes the stages in the directory: all of them, or only one, or all except one (both NULL or
 * one of them). */
int stage_drop(const char *partial, const char *only, const char *except,
               struct sheaf_error *err);

/* Removes what was seen, as store_remove_over, through a stage (NULL: without one).
 * SHEAF_ERR_CHANGED also if another run has the stage. */
int stage_remove(const char *url, const struct store_seen *seen, const char *stage,
                 struct sheaf_error *err);

#endif
