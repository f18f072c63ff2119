/* SPDX-License-Identifier: MIT
 *
 * Adds the fields of columns to a sample. The field EXT of the column NAME becomes the sample's
 * field NAME.EXT. */
#ifndef READER_COLUMN_FIELDS_H
#define READER_COLUMN_FIELDS_H

#include "reader/reader_state.h"

/* Adds the fields that the reader's columns have for sample `i` of the batch. Returns
 * SHEAF_ERR_CORRUPT if a record belongs to another sample. Returns SHEAF_END if the sample must be
 * left out because a column has no value for it. */
int column_fields_add(struct sheaf_reader *r, size_t i);

/* Enlarges the memory for the fields of columns from `old` samples to `count` samples. */
int column_fields_room(struct sheaf_reader *r, size_t old, size_t count);
void column_fields_free(struct sheaf_reader *r);

#endif
