/* SPDX-License-Identifier: MIT
 *
 * How much a command prints with --quiet and --verbose. complain() always prints: errors, and the
 * findings of `sheaf verify`. say() prints notes, unless --quiet was given. detail() prints
 * everything else, only with --verbose.
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
