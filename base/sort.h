/* SPDX-License-Identifier: MIT
 *
 * An external sort: what does not fit into memory is in temporary files.  Entries are collected
 * until a buffer is full, which is then sorted and written to a temporary file as a run; at the end
 * the runs are merged.
 *
 *     order | key | value         sorted by order, then by key in byte order, then as they came
 *
 * The buffer is small beside what is sorted, so the time for an entry hardly depends on how many
 * there are: a merge of ten times the runs takes three comparisons more. */
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

/* `directory`: of the temporary file, borrowed; memory_bytes: of the buffer, and again of the
 * merge. */
int sort_open(struct sort **sort, const char *directory, size_t memory_bytes,
              struct sheaf_error *err);
void sort_close(struct sort *sort);     /* NULL is fine */

/* Adds an entry; its key and value are to be written where *key and *value then point to, before
 * the next call.  SHEAF_ERR_LIMIT: it is larger than the buffer. */
int sort_add(struct sort *sort, uint64_t order, size_t key_size, size_t value_size,
             uint8_t **key, uint8_t **value, struct sheaf_error *err);
/* No more will come. */
int sort_finish(struct sort *sort, struct sheaf_error *err);
/* Bytes of memory that it takes. */
uint64_t sort_memory(const struct sort *sort);
/* The next in order; it stays until the next call.  SHEAF_END after the last. */
int sort_next(struct sort *sort, struct sort_entry *entry, struct sheaf_error *err);

#endif
