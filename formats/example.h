/* SPDX-License-Identifier: MIT
 *
 * tf.train.Example, the payload of a TFRecord: a map from names to lists of bytes, floats or
 * integers in protobuf's wire format, which is small enough to be written and read by hand.
 *
 *     Example { 1: Features { 1: map<string, Feature> } }
 *     Feature { oneof: 1: BytesList { 1: bytes... }  2: FloatList { 1: float... }
 *                      3: Int64List { 1: int64... } }
 *
 * The names are those of TF-slim's image data sets (image/encoded, image/class/label, ...). */
#ifndef FORMATS_EXAMPLE_H
#define FORMATS_EXAMPLE_H

#include "formats/format.h"

#define OWN_FEATURES 8      /* largest number of features made in addition to the fields of a
                               sample */

/* Appends the Example of a sample, with its features in byte order of their names, and reserves
 * `spare` more bytes after it. Kept features are written unchanged if the sample can be read from
 * them again. On failure `out` is unchanged. */
int example_encode(const struct sheaf_sample *sample, const struct encode_context *context,
                   size_t spare, struct buf *out, struct sheaf_error *err);

/* format_ops.content_at, within the Example. */
size_t example_content_at(const struct sheaf_sample *sample, const struct encode_context *context,
                          const struct sheaf_field *field);

/* Returns the suffix for an image without a file name, determined by `format`, or by the content if
 * the format is NULL. The result may lie in `name`. */
const char *example_image_suffix(const struct text *format, const void *data, size_t size,
                                 char name[16]);

/* Makes a sample of any payload. A payload that is not an Example becomes a single field `data`. */
int example_decode(const uint8_t *data, size_t size, const struct record *record,
                   const struct decode_context *context, struct decode_scratch *scratch,
                   struct sheaf_sample *sample, struct sheaf_error *err);

#endif
