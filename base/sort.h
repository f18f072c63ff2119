/* SPDX-License-Identifier: MIT
 *
 * An external sort. Data that does not fit into memory is written to a temporary file. The sort
 * collects entries in a buffer. When the buffer is full, its entries are sorted and written to the
 * file as a run. At the end the runs are merged.
 *
 * An entry has a number called its order, a key and a value, all given by the caller. Entries are
 * sorted by this number. Entries with equal numbers are sorted by key in byte order, and entries
 * with equal numbers and keys stay in the sequence in which they were added.
 *
 * The buffer is small compared with the data, so the time per entry hardly depends on the number of
 * entries: merging ten times as much data takes about three more comparisons per entry. */
#ifndef BASE_SORT_H
#define BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

#include "sheaf.h"

struct sort;

struct sort_entry {
    uint64_t order;
    const uint8_t *key, *value;
    size_t key_size, value_size;
};

/* Opens a sort. `directory` is where the temporary file is created; the string is borrowed.
 * `memory_bytes` is the size of the buffer; the merge needs the same amount of memory again. */
int sort_open(struct sort **sort, const char *directory, size_t memory_bytes,
              struct sheaf_error *err);
void sort_close(struct sort *sort);     /* NULL is allowed. */

/* Adds an entry. The caller must write its key and value to *key and *value before the next call.
 * Returns SHEAF_ERR_LIMIT if the entry is larger than the buffer. */
int sort_add(struct sort *sort, uint64_t order, size_t key_size, size_t value_size,
             uint8_t **key, uint8_t **value, struct sheaf_error *err);
/* Ends the input and prepares the merge. */
int sort_finish(struct sort *sort, struct sheaf_error *err);
/* Returns the bytes of memory that the sort holds. */
uint64_t sort_memory(const struct sort *sort);
/* Returns the next entry in sorted order, or SHEAF_END after the last one. The entry stays valid
 * until the next call. */
int sort_next(struct sort *sort, struct sort_entry *entry, struct sheaf_error *err);

#endif
