/* SPDX-License-Identifier: MIT
 *
 * How well an epoch is mixed, as numbers and as a plot. */
#ifndef TOOLS_MIXING_H
#define TOOLS_MIXING_H

#include <stdbool.h>
#include <stdio.h>

#include "sheaf.h"

/* Lines of name, value, and the same of an ideal shuffle; then a verdict in words, and what would
 * mix it better.  `options` are those with which it was judged. */
void mixing_print(const struct sheaf_mixing *mixing, const struct sheaf_reader_options *options);

/* The same as a JSON object. */
void mixing_print_json(const struct sheaf_mixing *mixing,
                       const struct sheaf_reader_options *options);

/* Only the verdict, and what would mix it better; whether there is nothing to mend. */
void mixing_write_verdict(FILE *f, const struct sheaf_mixing *mixing);
void mixing_write_advice(FILE *f, const struct sheaf_mixing *mixing,
                         const struct sheaf_reader_options *options);
bool mixing_is_good(const struct sheaf_mixing *mixing);

/* A plot of where samples lay against when they came: an ideal shuffle fills the square evenly,
 * a weak one shows the diagonal or steps.  The exit status. */
int mixing_plot(const struct sheaf_mixing *mixing, const char *path);

#endif
