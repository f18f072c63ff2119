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

/* Makes *object one that is read that way: store_read at ascending places.  It has the other's
 * name and size, gives up once its `interrupt` says so, and closes the other with itself.
 * `memory_bytes` as ahead_memory gave it.  On failure *object is as it was. */
int ahead_wrap(struct store_object **object, uint64_t memory_bytes, struct sheaf_error *err);

/* The memory that it takes, of a budget of so much. */
uint64_t ahead_memory(uint64_t budget_bytes);

#endif
