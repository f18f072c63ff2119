/* SPDX-License-Identifier: MIT
 *
 * Decodes a frame (a stored record that was read and checked) into a sample. */
#ifndef READER_DECODE_H
#define READER_DECODE_H

#include "reader/load/read.h"

/* Decodes an item (a record in memory) into a sample, which points into the item, the scratch and
 * the data set. `format` must be the container of the shard. SHEAF_ERR_CORRUPT and SHEAF_ERR_LIMIT
 * concern only this record; the message states its location. */
int decode_item(const struct sheaf_dataset *dataset, const struct format_ops *format,
                const struct item *item, struct decode_scratch *scratch,
                struct sheaf_sample *sample, struct sheaf_error *err);

#endif
