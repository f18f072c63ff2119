/* SPDX-License-Identifier: MIT
 *
 * --metrics FILE: the progress of a command in Prometheus' text format. The file is replaced as a
 * whole, at most once a second and at the end, so that a collector (node_exporter's textfile
 * directory) never sees a part of it. */
#ifndef TOOLS_METRICS_H
#define TOOLS_METRICS_H

#include "tools/options.h"

#define METRICS_ROW(path)                                                                       \
    { "metrics", OPTION_TEXT, "FILE", .text = (path), .standard = "none",                       \
      .meaning = "keep counts of the work in FILE, in the text format of Prometheus: "          \
                 "replaced once a second, and at the end" }

/* Writes the first file, and updates it with everything that progress_show receives. Every metric
 * has the labels command, dataset (the data set that is read or written) and job (SHEAF_JOB, or
 * the name of the file). `path` may be NULL if no metrics are wanted. Returns -1, or the exit
 * status if the file cannot be written. */
int metrics_begin(const char *path, const char *dataset);
/* Records the reader's counts. `last` marks the call before the reader is freed. */
void metrics_reader(const struct sheaf_reader *reader, bool last);
/* Records a final count of the result. */
void metrics_total(const char *name, uint64_t value);
/* Writes the last file at the end of the command, with its exit status. */
void metrics_end(int status);

#endif
