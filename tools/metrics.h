/* SPDX-License-Identifier: MIT
 *
 * --metrics FILE: how far a command is, in the text format of Prometheus.  The file is replaced as
 * a whole, at most once a second and at the end, so that a collector (node_exporter's textfile
 * directory) never sees a part of it. */
#ifndef TOOLS_METRICS_H
#define TOOLS_METRICS_H

#include "tools/options.h"

#define METRICS_ROW(path)                                                                       \
    { "metrics", OPTION_TEXT, "FILE", .text = (path), .standard = "none",                       \
      .meaning = "keep counts of the work in FILE, in the text format of Prometheus: "          \
                 "replaced once a second, and at the end" }

/* Writes the first one, and from then on what progress_show is told; NULL: there will be none.
 * -1, or the exit status if it cannot be written. */
int metrics_begin(const char *path);
/* The reader's counts; `last`: before it is freed. */
void metrics_reader(const struct sheaf_reader *reader, bool last);
/* A count of the result, which is final. */
void metrics_total(const char *name, uint64_t value);
/* At the end of the command, with its exit status. */
void metrics_end(int status);

#endif
