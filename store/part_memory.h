/* SPDX-License-Identifier: MIT
 *
 * The memory for parts of uploads, which all writers of a run share. A writer that finds no room
 * waits until the store acknowledges a part of any writer. Parts that are being filled, parts that
 * were sent and unused buffers together use at most `limit` bytes.
 *
 * Unused (idle) buffers are kept for the next part of any writer, as long as parts have the same
 * size.
 *
 * The writers also share a window that limits the number of parts sent at once
 * (base/transfer_window.h). The window exists as long as the run. So a new writer begins with the
 * number of parts that was best for earlier writers. */
#ifndef STORE_PART_MEMORY_H
#define STORE_PART_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "sheaf.h"

struct part_memory;

int part_memory_open(struct part_memory **memory, uint64_t limit_bytes, struct sheaf_error *err);
/* Frees all memory. Every buffer must have been given back before. */
void part_memory_close(struct part_memory *memory);         /* NULL is fine */

/* Takes a buffer of this size. Returns SHEAF_END if there is no room until another buffer is given
 * back, and SHEAF_ERR_LIMIT if the buffer is larger than the whole memory. */
int part_memory_take(struct part_memory *memory, size_t size, uint8_t **data,
                     struct sheaf_error *err);
/* Waits until another buffer is given back. `seen` is an earlier result of part_memory_given().
 * Does not wait if a buffer was given back after that result. */
void part_memory_wait(struct part_memory *memory, uint64_t seen);
uint64_t part_memory_given(struct part_memory *memory);
void part_memory_give(struct part_memory *memory, uint8_t *data, size_t size);

/* part_memory_begin records that a part is sent to the store. part_memory_end records that the part
 * was acknowledged or has failed. */
void part_memory_begin(struct part_memory *memory);
void part_memory_end(struct part_memory *memory, size_t size);
/* Returns whether the number of parts being sent is so large that a writer should wait before it
 * fills another one. */
bool part_memory_is_busy(struct part_memory *memory);

uint64_t part_memory_peak(struct part_memory *memory);      /* NULL is fine */

#endif
