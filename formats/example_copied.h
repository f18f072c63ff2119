/* SPDX-License-Identifier: MIT
 *
 * Copies TFRecord records unchanged, with their key appended. */
#ifndef FORMATS_EXAMPLE_COPIED_H
#define FORMATS_EXAMPLE_COPIED_H

#include "formats/format.h"

/* Returns whether a key can be added to this payload of a TFRecord. The payload must be a valid
 * tf.train.Example or tf.train.SequenceExample, whose features may have any names. */
bool example_can_be_copied(const uint8_t *data, size_t size);
/* Appends to `out` the data of the field, which is the payload of a TFRecord, and then a protobuf
 * field with the key. On failure `out` is unchanged. */
int example_copy(const struct sheaf_field *field, const char *key, struct buf *out,
                 struct sheaf_error *err);
/* Returns whether example_copy wrote this payload. If so, sets *own to the size of the payload
 * without the appended key. */
bool example_is_copied(const uint8_t *data, size_t size, size_t *own, struct text *key);

#endif
