/* SPDX-License-Identifier: MIT
 *
 * How much a command prints, by --quiet and --verbose:
 *
 *     complain()   errors, and the findings of verify   always
 *     say()        notes                                not with --quiet
 *     detail()     everything else                      only with --verbose
 *
 * Results are always printed on standard output. The summary of what a command has written is not
 * printed with --quiet. */
#ifndef TOOLS_VERBOSITY_H
#define TOOLS_VERBOSITY_H

#include <stdbool.h>

/* The values of the options, 0 or 1. details.c has their table rows. */
extern struct verbosity { int quiet, verbose; } verbosity;

static inline bool is_quiet(void)
{
    return verbosity.quiet != 0;
}

#endif
