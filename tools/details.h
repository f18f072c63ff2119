/* SPDX-License-Identifier: MIT
 *
 * The options --quiet and --verbose, which every command has like --help, and the output that only
 * --verbose prints. */
#ifndef TOOLS_DETAILS_H
#define TOOLS_DETAILS_H

#include "tools/option_table.h"
#include "tools/verbosity.h"

/* Table rows of both options, ended by a row without a name. */
extern const struct option verbosity_options[];

/* Must be called after the options are parsed. Returns -1, or the exit status if both were
 * given. */
int verbosity_begin(void);

/* Prints one line in the form of complain(), if --verbose was given. */
void detail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Print what a reader has read, and what a packer needed, if --verbose was given. */
void detail_reading(const struct sheaf_reader_stats *stats);
void detail_packing(const struct sheaf_pack_result *result);

/* Prints the command's time by stage, memory and requests at its end, if --verbose was given. */
void verbosity_end(void);

#endif
