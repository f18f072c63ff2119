/* SPDX-License-Identifier: MIT
 *
 * Sequential reading of a remote object: large reads are issued ahead of the current offset, so
 * that the link stays busy while earlier bytes are processed.
 *
 *     object    |.....|#####|#####|#####|#####|.............|
 *                     ^ here      under way    ^ begun next */
#ifndef READER_READ_AHEAD_H
#define READER_READ_AHEAD_H

#include "store/store.h"

#define AHEAD_PIECES_MOST 16u

/* Makes *object one that is read that way: store_read at ascending places.  It has the other's
 * name and size, gives up once its `interrupt` says so, and closes the other with itself.
 * `memory_bytes` is as ahead_memory gave it for `pieces`, which are read at once.  On failure
 * *object is as it was. */
int ahead_wrap(struct store_object **object, uint64_t memory_bytes, unsigned pieces,
               struct sheaf_error *err);

/* The memory that so many pieces take, of a budget of so much: a sixteenth, or less. */
uint64_t ahead_memory(uint64_t budget_bytes, unsigned pieces);

#endif
