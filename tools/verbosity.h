/* SPDX-License-Identifier: MIT
 *
 * How much a command says: --quiet and --verbose.
 *
 *   complain()   errors, and what verify finds   always
 *   say()        notes                           not with --quiet
 *   detail()     the rest                        only with --verbose
 *
 * On standard output, results are always printed; the summary of what a command has written is
 * not with --quiet. */
#ifndef TOOLS_VERBOSITY_H
#define TOOLS_VERBOSITY_H

#include <stdbool.h>

/* The options, which details.c has the rows of; 0 or 1. */
extern struct verbosity { int quiet, verbose; } verbosity;

static inline bool is_quiet(void)
{
    return verbosity.quiet != 0;
}

#endif
