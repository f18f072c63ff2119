/* SPDX-License-Identifier: MIT
 *
 * Adds the values of columns to samples. A column has further fields for the samples of a data set,
 * which were added after packing. The field EXT of the column NAME becomes the field NAME.EXT of
 * the sample. */
#ifndef READER_COLUMN_FIELDS_H
#define READER_COLUMN_FIELDS_H

#include "reader/reader_state.h"

/* Adds to sample number `i` of the batch the fields of all columns that the reader reads. Returns
 * SHEAF_ERR_CORRUPT if a record belongs to another sample. Returns SHEAF_END if a column has no
 * value for the sample, and the option `missing` says that such samples are left out. */
int column_fields_add(struct sheaf_reader *r, size_t i);

/* Enlarges the arrays for fields of columns when the reader's batch becomes larger. `old` is the
 * number of samples for which they have room before the call, and `count` the number after it. */
int column_fields_room(struct sheaf_reader *r, size_t old, size_t count);
void column_fields_free(struct sheaf_reader *r);

#endif
