/* SPDX-License-Identifier: MIT
 *
 * --help of a subcommand, from its table of options. */
#ifndef TOOLS_HELP_H
#define TOOLS_HELP_H

#include "tools/option_table.h"

/* Prints the help on standard output. Must be called before any value is stored, because the
 * variables hold the defaults. */
void help_print(const struct command *command, const struct option *options);

#endif
