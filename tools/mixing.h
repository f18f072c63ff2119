/* SPDX-License-Identifier: MIT
 *
 * Prints how well an epoch is shuffled, as numbers and as a plot. */
#ifndef TOOLS_MIXING_H
#define TOOLS_MIXING_H

#include <stdbool.h>
#include <stdio.h>

#include "sheaf.h"

/* Prints one line for each measure: its name, its value, and the value of an ideal shuffle. Then
 * prints a verdict in words, and settings that would shuffle better. `options` must be those for
 * which the measures were computed. */
void mixing_print(const struct sheaf_mixing *mixing, const struct sheaf_reader_options *options);

/* Prints the mixing as a JSON object. */
void mixing_print_json(const struct sheaf_mixing *mixing,
                       const struct sheaf_reader_options *options);

/* Prints only the verdict, and settings that would shuffle better. If the shuffle is good, says
 * so. */
void mixing_write_verdict(FILE *f, const struct sheaf_mixing *mixing);
void mixing_write_advice(FILE *f, const struct sheaf_mixing *mixing,
                         const struct sheaf_reader_options *options);
bool mixing_is_good(const struct sheaf_mixing *mixing);

/* A text in each plot. */
#define MIXING_PLOT_MARK "where it lay in the data set"

/* Plots the position of samples in the data set against their position in the epoch. An ideal
 * shuffle fills the square evenly; a weak one shows the diagonal, or steps. Returns the exit
 * status. */
int mixing_plot(const struct sheaf_mixing *mixing, const char *path);

#endif
