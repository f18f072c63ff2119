/* SPDX-License-Identifier: MIT
 *
 * Writes the reports of a run, skipped.tsv and converted.tsv, and recognises the reports that an
 * earlier run of the same plan has written.
 *
 * The reports are written before the manifest. If the run is killed in between, and the source is
 * changed before the run is resumed, the new reports have other lines. So the journal has a file
 * with the sizes and hashes of all reports that runs of this plan were about to write. A report
 * with another hash belongs to another program. */
#ifndef PUBLISH_REPORTS_H
#define PUBLISH_REPORTS_H

#include "base/buf.h"
#include "publish/output.h"
#include "store/store.h"

/* Checks the file that the caller has seen at `url`, the name of a report with the lines `lines`.
 * Returns SHEAF_ERR_EXISTS if no run of this plan has written the file. */
int reports_check(const struct output *output, const char *url, const struct store_seen *seen,
                  const struct buf *lines, struct sheaf_error *err);
/* Adds the hashes of the two reports to the file in the journal. Must be called before a report is
 * written. */
int reports_note(const struct output *output, const struct buf *const reports[2],
                 struct sheaf_error *err);
/* Writes a report. If it has no lines, removes the report that an earlier run of this plan has
 * written. The caller must have called reports_check for the file `seen`. */
int reports_put(const struct output *output, const char *url, const struct store_seen *seen,
                const struct buf *lines, struct sheaf_error *err);

#endif
