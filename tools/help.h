/* SPDX-License-Identifier: MIT
 *
 * --help of a subcommand, from its table of options. */
#ifndef TOOLS_HELP_H
#define TOOLS_HELP_H

#include "tools/option_table.h"

/* Prints the help of a command on standard output. Must be called before the value of any option is
 * stored. The help shows the defaults, which are the values that the options' variables have at
 * that time. */
void help_print(const struct command *command, const struct option *options);

#endif
