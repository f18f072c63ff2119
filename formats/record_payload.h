/* SPDX-License-Identifier: MIT
 *
 * The content of a RecordIO record in MXNet's form: IRHeader (u32 flag | f32 label | u64 id | u64
 * id2), then `flag` more f32 labels, and then the fields. If the number of fields is not 1, a
 * trailer after the fields states where each field ends (see record_payload.c). The keys are in the
 * .lst file beside the shard. */
#ifndef FORMATS_RECORD_PAYLOAD_H
#define FORMATS_RECORD_PAYLOAD_H

#include "formats/format.h"

/* A payload (the data of a record) must have fewer bytes than this, because RecordIO stores its
 * length in 29 bits. */
#define RECORD_PAYLOAD_LIMIT ((size_t)1 << 29)

/* Appends the payload of a sample's record to `out`. Appends the sample's line for the .lst file,
 * including the newline, to `names`. On failure both buffers may have grown. */
int record_payload_encode(const struct sheaf_sample *sample, struct buf *out, struct buf *names,
                          struct sheaf_error *err);

/* format_ops.content_at, within the payload. */
size_t record_payload_content_at(const struct sheaf_sample *sample,
                                 const struct sheaf_field *field);

/* Sets *number to the sample's id, which is in the header of the payload. Our packer must have
 * written the payload. */
int record_payload_number(const uint8_t *data, size_t size, uint64_t *number,
                          struct sheaf_error *err);

/* Makes a sample from the payload of a RecordIO record, whoever wrote it. The payload may lie in
 * scratch->joined. All other buffers of the scratch memory must be empty before the call (see
 * sample_begin). */
int record_payload_decode(const uint8_t *data, size_t size, const struct record *record,
                          const struct decode_context *context, struct decode_scratch *scratch,
                          struct sheaf_sample *sample, struct sheaf_error *err);

#endif
