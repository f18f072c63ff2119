/* SPDX-License-Identifier: MIT
 *
 * The options --quiet and --verbose, which every command has, as it has --help; and what only
 * --verbose says. */
#ifndef TOOLS_DETAILS_H
#define TOOLS_DETAILS_H

#include "tools/option_table.h"
#include "tools/verbosity.h"

/* The rows of both, up to one without a name. */
extern const struct option verbosity_options[];

/* After the options are parsed: -1, or the exit status where both were given. */
int verbosity_begin(void);

/* With --verbose: one line, as complain() has them. */
void detail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* What a reader has read, and what a packer needed. */
void detail_reading(const struct sheaf_reader_stats *stats);
void detail_packing(const struct sheaf_pack_result *result);

/* At the end of the command: with --verbose, its time by stage, memory and requests. */
void verbosity_end(void);

#endif
