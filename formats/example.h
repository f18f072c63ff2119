/* SPDX-License-Identifier: MIT
 *
 * Declares functions for tf.train.Example, the payload of a TFRecord. An Example maps names to
 * lists of bytes, floats or integers. An Example is stored in protobuf's wire format,
 * which this code reads and writes without the protobuf library. These are the messages,
 * with the numbers of their fields:
 *
 *     Example  { 1: Features { 1: map<string, Feature> } }
 *     Feature  { oneof: 1: BytesList { 1: bytes... }
 *                       2: FloatList { 1: float... }
 *                       3: Int64List { 1: int64... } }
 *
 * The names of features are those of TF-slim's image data sets (image/encoded, image/class/label,
 * ...). */
#ifndef FORMATS_EXAMPLE_H
#define FORMATS_EXAMPLE_H

#include "formats/format.h"

/* largest number of features that the encoder adds on its own (key, size of the image, ...), in
 * addition to one feature for each field of a sample */
#define OWN_FEATURES 8

/* Appends the tf.train.Example of a sample to `out`, with its features in byte order of their
 * names. Also reserves room for `spare` more bytes in `out`, because the caller appends the end of
 * the record there. On failure `out` is unchanged.
 *
 * If the sample was read from an Example, its features are written as they were read. A feature is
 * replaced only if it does not fit the sample any more. Decoding the new Example gives the same
 * sample. */
int example_encode(const struct sheaf_sample *sample, const struct encode_context *context,
                   size_t spare, struct buf *out, struct sheaf_error *err);

/* format_ops.content_at, within the Example. */
size_t example_content_at(const struct sheaf_sample *sample, const struct encode_context *context,
                          const struct sheaf_field *field);

/* Returns the value of the feature image/format for an image with this file suffix: "PNG" for
 * "png". Returns NULL if the encoder does not write such an image as the feature image/encoded. */
const char *example_image_format(const char *suffix, size_t size);

/* Returns the file suffix for an image in an Example without a file name. `format` is the value of
 * the feature image/format. If `format` is NULL or cannot be a suffix, the image's content decides.
 * The result is static or in the buffer `name`. */
const char *example_image_suffix(const struct text *format, const void *data, size_t size,
                                 char name[16]);

/* Makes a sample from the payload of a TFRecord, usually a tf.train.Example. If the payload is not
 * a valid Example, the sample has a single field `data` with the payload. */
int example_decode(const uint8_t *data, size_t size, const struct record *record,
                   const struct decode_context *context, struct decode_scratch *scratch,
                   struct sheaf_sample *sample, struct sheaf_error *err);

#endif
