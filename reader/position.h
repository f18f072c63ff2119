/* SPDX-License-Identifier: MIT
 *
 * A position in an epoch as a line of text. position.c also contains sheaf_reader_position and
 * sheaf_reader_resume. */
#ifndef READER_POSITION_H
#define READER_POSITION_H

#include "reader/reader_state.h"

/* Counts one more sample that is being handed out. */
int position_count(struct sheaf_reader *r);

#endif
