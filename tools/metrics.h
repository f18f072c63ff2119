/* SPDX-License-Identifier: MIT
 *
 * The option --metrics FILE, which writes the progress of a command to FILE in Prometheus' text
 * format. The file is replaced as a whole, at most once a second and at the end. So a collector
 * (node_exporter's textfile directory) never sees an incomplete file. */
#ifndef TOOLS_METRICS_H
#define TOOLS_METRICS_H

#include "tools/options.h"

#define METRICS_ROW(path)                                                                       \
    { "metrics", OPTION_TEXT, "FILE", .text = (path), .standard = "none",                       \
      .meaning = "keep counts of the work in FILE, in the text format of Prometheus: "          \
                 "replaced once a second, and at the end" }

/* Writes the first version of the metrics file `path`. Does nothing if `path` is NULL. Later, each
 * progress report that progress_show receives updates the file.
 *
 * Every metric has three labels: `command`, `dataset` (the data set that is read or written) and
 * `job` (the variable SHEAF_JOB, or the name of the file).
 *
 * Returns -1 on success. If the file cannot be written, prints an error and returns the exit
 * status. */
int metrics_begin(const char *path, const char *dataset);
/* Returns -1, or prints an error and returns the exit status if the file of metrics lies in one of
 * the source directories, because it could then be packed. `path` may be NULL. */
int metrics_refuse_in(const char *path, char *const *sources, size_t count);
/* Takes the present counts of the reader for the metrics file. Writes this file at most once a
 * second. In the last call before the reader is freed, `last` must be set, so that the final counts
 * are taken. */
void metrics_reader(const struct sheaf_reader *reader, bool last);
/* Records a final count of the result. */
void metrics_total(const char *name, uint64_t value);
/* Writes the final version of the metrics file, with the command's exit status. */
void metrics_end(int status);

#endif
