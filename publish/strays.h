/* SPDX-License-Identifier: MIT
 *
 * Protects stray files: files that another program has written under the name of an index, a table
 * of keys (by which samples are found) or a report (skipped.tsv, converted.tsv). A run replaces
 * such a file only if the user has asked to overwrite the destination.
 *
 * A run that claims a destination looks for stray files first (see INSPECT_STRAY). But another
 * program may write one later, for example between `sheaf plan` and `sheaf commit`. So the
 * functions below are called before a file is written. The content shows whose file it is. For
 * reports, reports_check does this. */
#ifndef PUBLISH_STRAYS_H
#define PUBLISH_STRAYS_H

#include "publish/output.h"
#include "store/store.h"

/* Sets *is to whether the file at `url` is stray, that is, neither an index nor a table of keys.
 * Sets *is to false if there is no such file. */
int strays_is_stray(const char *url, bool *is, struct sheaf_error *err);
/* Checks the file that the caller has seen at `url`, the name of an index or a table of keys.
 * Returns SHEAF_ERR_EXISTS if the file is neither of the two. */
int strays_check_table(const char *url, const struct store_seen *seen, struct sheaf_error *err);
/* Checks that the tables that the run will write in its destination replace no stray file. Returns
 * SHEAF_ERR_EXISTS if they do. */
int strays_check_tables(const struct output *output, struct sheaf_error *err);

/* Removes the stray files of a destination that the user has asked to overwrite. The run must have
 * claimed the destination. An index or a table of keys that Sheaf has written stays. If has_reports
 * is true, also removes files with the names of the reports that the run will write. */
int strays_remove(const struct output *output, bool has_reports, struct sheaf_error *err);

#endif
