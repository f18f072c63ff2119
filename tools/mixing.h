/* SPDX-License-Identifier: MIT
 *
 * Prints how well an epoch is shuffled, as numbers, in words and as a plot. */
#ifndef TOOLS_MIXING_H
#define TOOLS_MIXING_H

#include <stdbool.h>
#include <stdio.h>

#include "sheaf.h"

/* Prints one line for each measure of the shuffle, with its name, its value, and the value of an
 * ideal shuffle. Then prints a verdict in words, and settings that would shuffle better. `options`
 * must be the reader's options for which the measures were computed. */
void mixing_print(const struct sheaf_mixing *mixing, const struct sheaf_reader_options *options);

/* Prints the mixing as a JSON object. */
void mixing_print_json(const struct sheaf_mixing *mixing,
                       const struct sheaf_reader_options *options);

/* mixing_write_verdict writes in words how well an epoch is shuffled. mixing_write_advice writes
 * settings that would shuffle better. */
void mixing_write_verdict(FILE *f, const struct sheaf_mixing *mixing);
void mixing_write_advice(FILE *f, const struct sheaf_mixing *mixing,
                         const struct sheaf_reader_options *options);
bool mixing_is_good(const struct sheaf_mixing *mixing);

/* A text in each plot. */
#define MIXING_PLOT_MARK "where it lay in the data set"

/* Writes a plot to the file `path`. The plot shows the position of samples in the data set against
 * their position in the epoch. An ideal shuffle fills the square evenly. A weak shuffle shows the
 * diagonal, or steps. Returns an exit status. */
int mixing_plot(const struct sheaf_mixing *mixing, const char *path);

#endif
