/* SPDX-License-Identifier: MIT
 *
 * Sorts data that may be larger than memory (an external sort). Entries are collected in a buffer.
 * When the buffer is full, its entries are sorted and written to a temporary file as a run. At the
 * end, the runs are merged.
 *
 * An entry has a number called its order, a key and a value. Entries are sorted by order. Entries
 * with equal orders are sorted by key in byte order. Entries with equal orders and keys stay in the
 * sequence in which they were added. */
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

/* Opens a sort. `directory` is the directory for the temporary file; the string must stay valid.
 * memory_bytes is the size of the buffer. Before the runs are merged, this buffer is freed, and
 * buffers of about the same total size are allocated for the runs. */
int sort_open(struct sort **sort, const char *directory, size_t memory_bytes,
              struct sheaf_error *err);
void sort_close(struct sort *sort);     /* NULL is allowed. */

/* Adds an entry. Sets *key and *value to the memory into which the caller must write the key and
 * the value of the entry before the next call. Returns SHEAF_ERR_LIMIT if the entry is larger than
 * the buffer. */
int sort_add(struct sort *sort, uint64_t order, size_t key_size, size_t value_size,
             uint8_t **key, uint8_t **value, struct sheaf_error *err);
/* Ends the input and prepares the merge. */
int sort_finish(struct sort *sort, struct sheaf_error *err);
/* Returns the bytes of memory that the sort holds. */
uint64_t sort_memory(const struct sort *sort);
/* Sets *entry to the next entry in sorted order. Returns SHEAF_END after the last entry. The entry
 * stays valid until the next call. */
int sort_next(struct sort *sort, struct sort_entry *entry, struct sheaf_error *err);

#endif
