/* SPDX-License-Identifier: MIT
 *
 * Reads a remote object in order, and requests bytes before they are needed. A piece is a range of
 * bytes. While the caller processes a piece, requests for the next pieces are running. When the
 * caller has finished a piece, one more piece is requested. */
#ifndef STORE_READ_AHEAD_H
#define STORE_READ_AHEAD_H

#include "store/store.h"

/* Largest number of requests for one remote object at the same time. Epochs and verify also have
 * about this number in total, and divide it among their lanes or threads. */
#define AHEAD_PIECES_MOST 32u

/* Replaces *object by a new object, which reads the original object ahead. The new object can only
 * be read in order: the offsets in calls of store_read must rise. It has the name and size of the
 * original object, and closes the original object when it is closed. A read stops waiting if the
 * flag `interrupt` of the new object is set.
 *
 * ahead_pieces(memory_bytes, most) pieces are read at the same time. `most` must be at most
 * AHEAD_PIECES_MOST. On failure, *object stays as it is. */
int ahead_wrap(struct store_object **object, uint64_t memory_bytes, unsigned most,
               struct sheaf_error *err);

/* Returns the memory in bytes that a reader may use to read at most `most` ranges of bytes ahead.
 * budget_bytes is the memory limit of the reader. The result is at most a sixteenth of this limit,
 * unless the limit is very small. */
uint64_t ahead_memory(uint64_t budget_bytes, unsigned most);
/* Returns the number of pieces that are read ahead with this memory: `most`, or fewer if the pieces
 * would be very small. */
unsigned ahead_pieces(uint64_t memory_bytes, unsigned most);

#endif
