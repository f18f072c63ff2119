/* SPDX-License-Identifier: MIT
 *
 * What MXNet puts into a RecordIO record: IRHeader (u32 flag | f32 label | u64 id | u64 id2),
 * `flag` more f32 labels, then the content: of a sample with one field just its bytes.  Keys are
 * in the line of the .lst beside the shard. */
#ifndef FORMATS_RECORD_PAYLOAD_H
#define FORMATS_RECORD_PAYLOAD_H

#include "formats/format.h"

/* A payload is shorter than this: its length has 29 bits. */
#define RECORD_PAYLOAD_LIMIT ((size_t)1 << 29)

/* Appends the payload to `out` and the line, with its newline, to `names`.  On failure both may
 * be longer than they were. */
int record_payload_encode(const struct sheaf_sample *sample, struct buf *out, struct buf *names,
                          struct sheaf_error *err);

/* format_ops.content_at, within the payload. */
size_t record_payload_content_at(const struct sheaf_sample *sample,
                                 const struct sheaf_field *field);

/* The id of a payload of ours. */
int record_payload_number(const uint8_t *data, size_t size, uint64_t *number,
                          struct sheaf_error *err);

/* Makes a sample of any payload, which may be scratch->joined; the scratch has been emptied. */
int record_payload_decode(const uint8_t *data, size_t size, const struct record *record,
                          const struct decode_context *context, struct decode_scratch *scratch,
                          struct sheaf_sample *sample, struct sheaf_error *err);

#endif
