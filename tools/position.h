/* SPDX-License-Identifier: MIT
 *
 * Positions in files. */
#ifndef TOOLS_POSITION_H
#define TOOLS_POSITION_H

#include "tools/order.h"

/* Checks that a position can later be written to `path`. Called before anything is read. Returns
 * the exit status. */
int position_prepare(const char *path);

/* Writes the position that the reader had `back` samples ago to `path`, completely or not at all.
 * Returns the exit status. */
int position_save(struct sheaf_reader *reader, uint64_t back, const char *path);

/* Moves the reader to the position in the file. Refuses if an option of the user contradicts the
 * position. Returns the exit status. */
int position_load(struct sheaf_reader *reader, const char *path,
                  const struct order_options *order, const struct sheaf_reader_options *options);

#endif
