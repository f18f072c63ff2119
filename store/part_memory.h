/* SPDX-License-Identifier: MIT
 *
 * The memory for parts of uploads, which all writers of a run share. The limit of the memory covers
 * the parts that are being filled, the parts that are being sent, and unused buffers. A writer that
 * gets no buffer waits until a buffer is given back. Unused buffers are kept until a part of
 * another size is needed.
 *
 * The struct also limits the number of parts that are sent at the same time
 * (base/transfer_window.h). This number is adapted to the network during the whole run. So a new
 * writer begins with the number that was best for earlier writers. */
#ifndef STORE_PART_MEMORY_H
#define STORE_PART_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "sheaf.h"

struct part_memory;

int part_memory_open(struct part_memory **memory, uint64_t limit_bytes, struct sheaf_error *err);
/* Frees all memory; all buffers must be given back before. */
void part_memory_close(struct part_memory *memory);         /* NULL is fine */

/* Takes a buffer of `size` bytes. Returns SHEAF_END if there is no room until another buffer is
 * given back. Returns SHEAF_ERR_LIMIT if the limit is too small for a buffer of this size. */
int part_memory_take(struct part_memory *memory, size_t size, uint8_t **data,
                     struct sheaf_error *err);
/* Waits until a buffer is given back. `seen` must be a result of part_memory_given(). If a buffer
 * was given back after that call of part_memory_given(), the function does not wait. */
void part_memory_wait(struct part_memory *memory, uint64_t seen);
uint64_t part_memory_given(struct part_memory *memory);
void part_memory_give(struct part_memory *memory, uint8_t *data, size_t size);

/* part_memory_begin and part_memory_end count the parts that are being sent. part_memory_begin must
 * be called before a part is sent to the store, and part_memory_end when the store has acknowledged
 * the part or sending has failed. */
void part_memory_begin(struct part_memory *memory);
void part_memory_end(struct part_memory *memory, size_t size);
/* Returns whether enough parts are being sent at present, so that a writer should wait before it
 * fills another part. */
bool part_memory_is_busy(struct part_memory *memory);

uint64_t part_memory_peak(struct part_memory *memory);      /* NULL is fine */

#endif
