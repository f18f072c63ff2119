/* SPDX-License-Identifier: MIT
 *
 * Adds the fields of columns to a sample. The field EXT of the column NAME becomes NAME.EXT. */
#ifndef READER_COLUMN_FIELDS_H
#define READER_COLUMN_FIELDS_H

#include "reader/reader_state.h"

/* Adds the fields that the columns have for sample i of the batch to that sample. Returns
 * SHEAF_ERR_CORRUPT if a record belongs to another sample, and SHEAF_END if the sample is left out
 * because it has no value. */
int column_fields_add(struct sheaf_reader *r, size_t i);

/* Makes room for the columns of `count` samples, of which `old` have room already. */
int column_fields_room(struct sheaf_reader *r, size_t old, size_t count);
void column_fields_free(struct sheaf_reader *r);

#endif
