/* SPDX-License-Identifier: MIT
 *
 * Makes a sample from a frame. A frame is a record as it is stored; it must have been read and
 * checked. */
#ifndef READER_DECODE_H
#define READER_DECODE_H

#include "reader/load/read.h"

/* Decodes an item (a record in memory) into *sample. The sample points to memory of the item, of
 * `scratch` and of the data set. `format` must be the container of the shard.
 *
 * If the function returns SHEAF_ERR_CORRUPT or SHEAF_ERR_LIMIT, only this record is bad. The
 * message contains its place. */
int decode_item(const struct sheaf_dataset *dataset, const struct format_ops *format,
                const struct item *item, struct decode_scratch *scratch,
                struct sheaf_sample *sample, struct sheaf_error *err);

#endif
