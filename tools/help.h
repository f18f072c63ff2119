/* SPDX-License-Identifier: MIT
 *
 * --help of a subcommand, from its table of options. */
#ifndef TOOLS_HELP_H
#define TOOLS_HELP_H

#include "tools/option_table.h"

/* Prints the help on standard output. Must be called before an option's value is stored, because
 * the variables of the options hold the defaults that the help shows. */
void help_print(const struct command *command, const struct option *options);

#endif
