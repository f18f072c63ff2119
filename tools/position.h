/* SPDX-License-Identifier: MIT
 *
 * Positions in files. */
#ifndef TOOLS_POSITION_H
#define TOOLS_POSITION_H

#include "tools/order.h"

/* Checks, before anything is read, that a position can later be written to `path`. Returns the exit
 * status. */
int position_prepare(const char *path);

/* Writes the reader's position of `back` samples ago to `path`, completely or not at all. Returns
 * the exit status. */
int position_save(struct sheaf_reader *reader, uint64_t back, const char *path);

/* Moves the reader to the position in the file, unless a given option contradicts it. Returns the
 * exit status. */
int position_load(struct sheaf_reader *reader, const char *path,
                  const struct order_options *order, const struct sheaf_reader_options *options);

#endif
