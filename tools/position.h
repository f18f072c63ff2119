/* SPDX-License-Identifier: MIT
 *
 * Positions in files. */
#ifndef TOOLS_POSITION_H
#define TOOLS_POSITION_H

#include "tools/order.h"

/* Whether a position can be written to `path` later: found out before anything is read.  The exit
 * status. */
int position_prepare(const char *path);

/* Writes the reader's position of `back` samples ago to `path`, whole or not at all.  The exit
 * status. */
int position_save(struct sheaf_reader *reader, uint64_t back, const char *path);

/* Takes the reader to the position in the file, unless options that were given contradict it.  The
 * exit status. */
int position_load(struct sheaf_reader *reader, const char *path,
                  const struct order_options *order, const struct sheaf_reader_options *options);

#endif
