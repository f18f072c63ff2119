/* SPDX-License-Identifier: MIT
 *
 * Reads a remote object in order. While the caller processes the bytes at the current offset,
 * requests for the next pieces are under way, so that the network stays busy. When the caller has
 * finished a piece, a request for the piece after the last requested one is sent. */
#ifndef STORE_READ_AHEAD_H
#define STORE_READ_AHEAD_H

#include "store/store.h"

#define AHEAD_PIECES_MOST 16u

/* Replaces *object by an object that reads ahead. store_read must then be called with ascending
 * offsets. The new object has the name and size of the original one, and closes it when it is
 * closed. It stops waiting when its `interrupt` flag is set. `pieces` is the number of pieces that
 * are read at the same time, and `memory_bytes` must be the result of ahead_memory for this number.
 * On failure *object does not change. */
int ahead_wrap(struct store_object **object, uint64_t memory_bytes, unsigned pieces,
               struct sheaf_error *err);

/* Returns the memory for `pieces` pieces that are read ahead at the same time. It is at most a
 * sixteenth of the budget. */
uint64_t ahead_memory(uint64_t budget_bytes, unsigned pieces);

#endif
