/* SPDX-License-Identifier: MIT
 *
 * The memory for upload parts, shared by all writers of a run. A writer that finds it full waits
 * until a part of any writer is acknowledged.
 *
 *     0                     used            limit
 *     | filling, sent, idle |               |          0 <= used <= peak <= limit
 *
 * Idle buffers are kept for the next part of any writer, as long as parts have that size.
 *
 * The writers also share a window of parts that are under way (base/transfer_window.h). It lives as
 * long as the run, so a new writer begins with what earlier ones have found out. */
#ifndef STORE_PART_MEMORY_H
#define STORE_PART_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "sheaf.h"

struct part_memory;

int part_memory_open(struct part_memory **memory, uint64_t limit_bytes, struct sheaf_error *err);
/* Frees the memory. Every buffer must have been given back. */
void part_memory_close(struct part_memory *memory);         /* NULL is fine */

/* Takes a buffer of that size. Returns SHEAF_END if there is no room before another buffer is given
 * back, and SHEAF_ERR_LIMIT if there never will be. */
int part_memory_take(struct part_memory *memory, size_t size, uint8_t **data,
                     struct sheaf_error *err);
/* Waits until more has been given back than `seen`, an earlier result of part_memory_given(). */
void part_memory_wait(struct part_memory *memory, uint64_t seen);
uint64_t part_memory_given(struct part_memory *memory);
void part_memory_give(struct part_memory *memory, uint8_t *data, size_t size);

/* Notes that a part was given to the store, and that it was acknowledged or failed. */
void part_memory_begin(struct part_memory *memory);
void part_memory_end(struct part_memory *memory, size_t size);
/* Returns whether a writer should wait before it fills another part. */
bool part_memory_is_busy(struct part_memory *memory);

uint64_t part_memory_peak(struct part_memory *memory);      /* NULL is fine */

#endif
