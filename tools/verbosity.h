/* SPDX-License-Identifier: MIT
 *
 * States how much a command prints. complain() prints errors and the findings of `sheaf verify`,
 * even with --quiet. say() prints notes, but not with --quiet. detail() prints details, only with
 * --verbose. Results are always printed on standard output, but with --quiet the summary of a
 * command that has written data is not printed. */
#ifndef TOOLS_VERBOSITY_H
#define TOOLS_VERBOSITY_H

#include <stdbool.h>

/* The options --quiet and --verbose: 1 if the user gave the option, otherwise 0. details.c has the
 * rows for these options in the table of options. */
extern struct verbosity { int quiet, verbose; } verbosity;

static inline bool is_quiet(void)
{
    return verbosity.quiet != 0;
}

#endif
