/* SPDX-License-Identifier: MIT
 *
 * The options --quiet and --verbose, which every command has, and functions for the output that
 * only --verbose prints. */
#ifndef TOOLS_DETAILS_H
#define TOOLS_DETAILS_H

#include "tools/option_table.h"
#include "tools/verbosity.h"

/* Table with the rows of the options --quiet and --verbose. The last row has no name. */
extern const struct option verbosity_options[];

/* Checks the options --quiet and --verbose. Must be called after the options of the command were
 * parsed. Returns -1 on success. If the user gave both --quiet and --verbose, prints an error and
 * returns the exit status. */
int verbosity_begin(void);

/* If the user gave --verbose, prints one line in the form "sheaf: ..." on standard error. */
void detail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* With --verbose, detail_reading prints what a reader has read, and detail_packing prints how much
 * memory a packer needed. */
void detail_reading(const struct sheaf_reader_stats *stats);
void detail_packing(const struct sheaf_pack_result *result);

/* With --verbose, prints the command's time by stage, its memory and its number of requests. Called
 * at the end of the command. */
void verbosity_end(void);

#endif
