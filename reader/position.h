/* SPDX-License-Identifier: MIT
 *
 * Positions in an epoch, as a line of text. sheaf_reader_position and sheaf_reader_resume are in
 * position.c, too. */
#ifndef READER_POSITION_H
#define READER_POSITION_H

#include "reader/reader_state.h"

/* One more sample is being handed out. */
int position_count(struct sheaf_reader *r);

#endif
