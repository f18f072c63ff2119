/* SPDX-License-Identifier: MIT
 *
 * Decodes a frame, which was read and checked, into a sample. */
#ifndef READER_DECODE_H
#define READER_DECODE_H

#include "reader/load/read.h"

/* The sample points into the item, the scratch and the data set.  `format` is that of the shard.
 * SHEAF_ERR_CORRUPT and _LIMIT are of this record alone; the message has its place. */
int decode_item(const struct sheaf_dataset *dataset, const struct format_ops *format,
                const struct item *item, struct decode_scratch *scratch,
                struct sheaf_sample *sample, struct sheaf_error *err);

#endif
