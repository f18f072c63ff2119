/* SPDX-License-Identifier: MIT
 *
 * Implements the container TFRecord: u64 length | u32 masked CRC-32C of the length | data | u32
 * masked CRC-32C of data.
 *
 * A record does not begin with a fixed mark, but its length has a CRC of its own. The length is
 * trusted only after this CRC was verified. The CRC also serves to find the next plausible record
 * after damage. example.h describes the data. */
#include <inttypes.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "formats/example.h"
#include "formats/format.h"

#define HEADER_BYTES 12
#define FOOTER_BYTES 4

static int tfrecord_encode(const struct sheaf_sample *sample, const struct encode_context *context,
                           struct buf *out, struct buf *names, struct encoded *encoded,
                           struct sheaf_error *err)
{
    const size_t before = out->size;
    uint8_t *frame;
    uint64_t size;
    uint32_t crc;
    int code = buf_reserve(out, HEADER_BYTES, err);

    (void)names;
    if (code != SHEAF_OK)
        return code;
    out->size += HEADER_BYTES;
    code = example_encode(sample, context, FOOTER_BYTES, out, err);
    if (code != SHEAF_OK) {
        out->size = before;
        return code;
    }
    frame = out->data + before;
    size = out->size - before - HEADER_BYTES;
    crc = crc32c(0, frame + HEADER_BYTES, size);
    store64(frame, size);
    store32(frame + 8, crc32c_mask(crc32c(0, frame, 8)));
    store32(out->data + out->size, crc32c_mask(crc));
    out->size += FOOTER_BYTES;
    *encoded = (struct encoded){ .size = out->size - before, .crc = crc };
    return SHEAF_OK;
}

static size_t tfrecord_content_at(const struct sheaf_sample *sample,
                                  const struct encode_context *context,
                                  const struct sheaf_field *field)
{
    const size_t at = example_content_at(sample, context, field);

    return at == SIZE_MAX ? at : HEADER_BYTES + at;
}

static int tfrecord_finish(struct buf *out, struct sheaf_error *err)
{
    (void)out;
    (void)err;
    return SHEAF_OK;
}

static int length_error(const uint8_t *header, uint32_t expected, struct sheaf_error *err)
{
    return err_set(err, SHEAF_ERR_CORRUPT, "the record's length %" PRIu64 " has the stored CRC %08"
                   PRIx32 ", but its CRC is %08" PRIx32, load64(header), load32(header + 8),
                   expected);
}

static int tfrecord_part(struct format_scan *scan, const uint8_t *data, size_t size, bool at_end,
                         struct part *part, struct sheaf_error *err)
{
    uint32_t crc;
    uint64_t length;

    (void)scan;
    if (size < HEADER_BYTES) {
        if (at_end)
            return err_set(err, SHEAF_ERR_TRUNCATED, "the stream ends after %zu byte%s of a "
                           "record's header of %d bytes", size, plural(size), HEADER_BYTES);
        *part = (struct part){ .kind = PART_MORE, .need = HEADER_BYTES };
        return SHEAF_OK;
    }
    crc = crc32c_mask(crc32c(0, data, 8));
    if (crc != load32(data + 8))
        return length_error(data, crc, err);
    length = load64(data);
    if (length > FRAME_LIMIT - HEADER_BYTES - FOOTER_BYTES)
        return err_set(err, SHEAF_ERR_LIMIT, "the record has %" PRIu64 " bytes, the limit is %"
                       PRIu64, length, FRAME_LIMIT);
    *part = (struct part){ .kind = PART_START, .size = HEADER_BYTES + length + FOOTER_BYTES };
    return SHEAF_OK;
}

static int tfrecord_end(struct format_scan *scan, struct sheaf_error *err)
{
    (void)scan;
    (void)err;
    return SHEAF_OK;
}

static bool is_header(const uint8_t *data)
{
    return load64(data) <= FRAME_LIMIT && crc32c_mask(crc32c(0, data, 8)) == load32(data + 8);
}

static bool tfrecord_resync(const uint8_t *data, size_t size, size_t *skip)
{
    *skip = 0;
    for (size_t at = 1; at + HEADER_BYTES <= size; at++) {
        *skip = at;
        if (is_header(data + at))
            return true;
    }
    return false;
}

static int tfrecord_check(const uint8_t *frame, size_t size, uint32_t *crc,
                          struct sheaf_error *err)
{
    uint32_t length_crc, found, expected;

    if (size < HEADER_BYTES + FOOTER_BYTES)
        return err_set(err, SHEAF_ERR_CORRUPT, "the record has %zu byte%s, expected at least %d",
                       size, plural(size), HEADER_BYTES + FOOTER_BYTES);
    length_crc = crc32c_mask(crc32c(0, frame, 8));
    if (length_crc != load32(frame + 8))
        return length_error(frame, length_crc, err);
    if (load64(frame) != size - HEADER_BYTES - FOOTER_BYTES)
        return err_set(err, SHEAF_ERR_CORRUPT, "the record's header says %" PRIu64 " byte%s, but "
                       "there are %zu", load64(frame), plural(load64(frame)),
                       size - HEADER_BYTES - FOOTER_BYTES);
    *crc = crc32c(0, frame + HEADER_BYTES, size - HEADER_BYTES - FOOTER_BYTES);
    found = load32(frame + size - FOOTER_BYTES);
    expected = crc32c_mask(*crc);
    if (found != expected)
        return err_set(err, SHEAF_ERR_CORRUPT, "the record of %zu byte%s has the masked CRC %08"
                       PRIx32 ", but the stored CRC is %08" PRIx32,
                       size - HEADER_BYTES - FOOTER_BYTES,
                       plural(size - HEADER_BYTES - FOOTER_BYTES), expected, found);
    return SHEAF_OK;
}

static int tfrecord_decode(const struct record *record, const struct decode_context *context,
                           struct decode_scratch *scratch, struct sheaf_sample *sample,
                           struct sheaf_error *err)
{
    if (record->size < HEADER_BYTES + FOOTER_BYTES ||
        load64(record->data) != record->size - HEADER_BYTES - FOOTER_BYTES)
        return err_set(err, SHEAF_ERR_CORRUPT, "not a TFRecord frame: %zu byte%s", record->size,
                       plural(record->size));
    return example_decode(record->data + HEADER_BYTES, record->size - HEADER_BYTES - FOOTER_BYTES,
                          record, context, scratch, sample, err);
}

/* Returns how many bits show that the stream is a TFRecord. These are the 32 bits of the CRC of the
 * first record's length. If `data` contains the whole first record, the 32 bits of the CRC of its
 * data are added. */
static unsigned tfrecord_bid(const uint8_t *data, size_t size)
{
    uint32_t crc;

    if (size < HEADER_BYTES || !is_header(data))
        return 0;
    if (load64(data) > size - HEADER_BYTES ||
        size - HEADER_BYTES - load64(data) < FOOTER_BYTES)
        return 32;
    return tfrecord_check(data, HEADER_BYTES + load64(data) + FOOTER_BYTES, &crc, NULL) == SHEAF_OK
         ? 64 : 32;
}

/* DALI's: offset and size. */
static int tfrecord_index_line(struct buf *index, uint64_t number, uint64_t offset, size_t size,
                               struct sheaf_error *err)
{
    (void)number;
    return buf_printf(index, err, "%llu %zu\n", (unsigned long long)offset, size);
}

const struct format_ops tfrecord_ops = {
    .id = SHEAF_TFRECORD,
    .keeps_class = true,
    .keeps_features = true,
    .interop = INTEROP_DALI,
    .index_line = tfrecord_index_line,
    .name = "tfrecord",
    .aliases = { "tfrecords", "tfr" },
    .suffix = ".tfrecord",
    .words = { "tfrecord", "tfrecords" },
    .encode = tfrecord_encode,
    .content_at = tfrecord_content_at,
    .finish = tfrecord_finish,
    .part = tfrecord_part,
    .end = tfrecord_end,
    .resync = tfrecord_resync,
    .check = tfrecord_check,
    .decode = tfrecord_decode,
    .bid = tfrecord_bid,
};
