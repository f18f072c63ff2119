/* SPDX-License-Identifier: MIT
 *
 * TFRecord records that are copied unchanged, with their key appended. */
#ifndef FORMATS_EXAMPLE_COPIED_H
#define FORMATS_EXAMPLE_COPIED_H

#include "formats/format.h"

/* Returns whether a payload is a tf.train.Example or tf.train.SequenceExample, whatever its
 * features are, to which a key can be added. */
bool example_can_be_copied(const uint8_t *data, size_t size);
/* Appends the payload and the key. On failure `out` is unchanged. */
int example_copy(const struct sheaf_field *field, const char *key, struct buf *out,
                 struct sheaf_error *err);
/* Returns whether a payload was written by example_copy. *own is then the size of its own bytes. */
bool example_is_copied(const uint8_t *data, size_t size, size_t *own, struct text *key);

#endif
