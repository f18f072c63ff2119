/* SPDX-License-Identifier: MIT
 *
 * --help of a subcommand, from its table of options. */
#ifndef TOOLS_HELP_H
#define TOOLS_HELP_H

#include "tools/option_table.h"

/* On standard output.  Called before a value was stored: the variables hold the defaults. */
void help_print(const struct command *command, const struct option *options);

#endif
