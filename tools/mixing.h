/* SPDX-License-Identifier: MIT
 *
 * How well an epoch is mixed, as numbers and as a plot. */
#ifndef TOOLS_MIXING_H
#define TOOLS_MIXING_H

#include <stdbool.h>
#include <stdio.h>

#include "sheaf.h"

/* Prints lines of a name, its value, and the value of an ideal shuffle; then a verdict in words and
 * settings that would mix better. `options` are those that the mixing was computed for. */
void mixing_print(const struct sheaf_mixing *mixing, const struct sheaf_reader_options *options);

/* Prints the mixing as a JSON object. */
void mixing_print_json(const struct sheaf_mixing *mixing,
                       const struct sheaf_reader_options *options);

/* Prints only the verdict and the settings that would mix better, or that none is needed. */
void mixing_write_verdict(FILE *f, const struct sheaf_mixing *mixing);
void mixing_write_advice(FILE *f, const struct sheaf_mixing *mixing,
                         const struct sheaf_reader_options *options);
bool mixing_is_good(const struct sheaf_mixing *mixing);

/* A text in each plot. */
#define MIXING_PLOT_MARK "where it lay in the data set"

/* Plots the position of samples in the data set against the time when they come. An ideal shuffle
 * fills the square evenly; a weak one shows the diagonal, or steps. Returns the exit status. */
int mixing_plot(const struct sheaf_mixing *mixing, const char *path);

#endif
