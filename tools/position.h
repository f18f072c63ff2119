/* SPDX-License-Identifier: MIT
 *
 * Positions in files. */
#ifndef TOOLS_POSITION_H
#define TOOLS_POSITION_H

#include "tools/order.h"

/* Checks that a position can later be written to the file `path`. Called before the command reads
 * data. Returns an exit status. */
int position_prepare(const char *path);

/* Writes to the file `path` the position that the reader had `back` samples ago. The file is either
 * written completely or does not change. Returns an exit status. */
int position_save(struct sheaf_reader *reader, uint64_t back, const char *path);

/* Moves the reader to the position that is stored in the file `path`. If an option of the user
 * contradicts the position, prints an error. Returns an exit status. */
int position_load(struct sheaf_reader *reader, const char *path,
                  const struct order_options *order, const struct sheaf_reader_options *options);

#endif
