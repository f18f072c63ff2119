/* SPDX-License-Identifier: MIT
 *
 * Implements MXNet's container RecordIO. A record consists of one or more parts. A part has:
 * - the magic number (u32);
 * - a u32 with the flag `cflag` (upper 3 bits) and the length of the data (lower 29 bits);
 * - the data, and zeros up to a multiple of 4 bytes.
 *
 * Most records have one part (cflag 0). But the data of a part must not contain the magic number at
 * a multiple of 4 bytes. If the content of a record does, the writer removes the magic number there
 * and splits the record at this place. The record then has a first part (cflag 1), perhaps middle
 * parts (2), and a last part (3). The reader inserts the magic number again between the parts.
 *
 * The record has no checksum; the index has a CRC of each record. record_payload.h describes the
 * data. */
#include <inttypes.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "formats/format.h"
#include "formats/record_payload.h"
#include "formats/recordio.h"
#include "formats/sample.h"

#define MAGIC        0xced7230au
#define HEADER_BYTES RECORDIO_HEADER_BYTES

enum cflag { WHOLE = 0, FIRST = 1, MIDDLE = 2, LAST = 3 };

struct header {
    enum cflag cflag;
    size_t length;
    size_t padded;              /* length rounded up to a multiple of 4 */
};

static struct header read_header(const uint8_t *data)
{
    const uint32_t word = load32(data + 4);
    const size_t length = word & (RECORD_PAYLOAD_LIMIT - 1);

    return (struct header){ (enum cflag)(word >> 29), length, (length + 3) & ~(size_t)3 };
}

static void recordio_write_header(uint8_t *p, enum cflag cflag, size_t length)
{
    store32(p, MAGIC);
    store32(p + 4, (uint32_t)cflag << 29 | (uint32_t)length);
}

/* Checks the header of a part of a record. `record_open` means that the part is not the record's
 * first one. Except in the last part, the length of the data must be a multiple of 4, because the
 * writer splits a record only at a multiple of 4 bytes. */
static int check_header(const uint8_t *data, bool record_open, struct sheaf_error *err)
{
    const struct header h = read_header(data);

    if (load32(data) != MAGIC)
        return err_set(err, SHEAF_ERR_CORRUPT, "found %08" PRIx32 ", expected the magic %08x of a "
                       "record", load32(data), MAGIC);
    if (h.cflag > LAST)
        return err_set(err, SHEAF_ERR_CORRUPT, "the record's part has the flag %u, expected 0 to "
                                               "3", (unsigned)h.cflag);
    if (record_open != (h.cflag == MIDDLE || h.cflag == LAST))
        return err_set(err, SHEAF_ERR_CORRUPT, "found a part with the flag %u, expected %s",
                       (unsigned)h.cflag, record_open ? "2 or 3" : "0 or 1");
    if (h.length != h.padded && (h.cflag == FIRST || h.cflag == MIDDLE))
        return err_set(err, SHEAF_ERR_CORRUPT, "a part of %zu byte%s, not a multiple of 4, is "
                       "not the record's last", h.length, plural(h.length));
    return SHEAF_OK;
}

/* ---- Encoding ----------------------------------------------------------------------------- */

#define SCAN_BYTES 64           /* looked at together */

/* Four words, compared at once. */
typedef uint32_t words __attribute__((vector_size(16)));

/* Returns whether one of the 16 aligned words (u32) at `data` is RecordIO's magic number. */
static bool has_magic(const uint8_t *data)
{
    const uint32_t stored = htole32(MAGIC);
    const words magic = { stored, stored, stored, stored };
    words w[SCAN_BYTES / sizeof(words)], found;

    memcpy(w, data, sizeof(w));
    found = (words)(w[0] == magic) | (words)(w[1] == magic) | (words)(w[2] == magic) |
            (words)(w[3] == magic);
    return (found[0] | found[1] | found[2] | found[3]) != 0;
}

/* Returns the first position, at or after `from`, that is a multiple of 4 and holds RecordIO's
 * magic number. Returns `size` if no such position exists. */
static size_t find_magic(const uint8_t *data, size_t size, size_t from)
{
    const size_t aligned = size & ~(size_t)3;
    size_t at = from;

    while (aligned - at >= SCAN_BYTES && !has_magic(data + at))
        at += SCAN_BYTES;
    for (; at < aligned; at += 4) {
        if (load32(data + at) == MAGIC)
            return at;
    }
    return size;
}

static void put_part(struct buf *out, enum cflag cflag, const uint8_t *data, size_t size)
{
    recordio_write_header(out->data + out->size, cflag, size);
    out->size += HEADER_BYTES;
    buf_put(out, data, size);
}

/* Splits a payload that contains the magic number into the parts of a record. Each split removes
 * the magic number (4 bytes) and adds a header (8 bytes).
 *
 * `out` has room for the first header at offset `start`. The payload follows this room. `first` is
 * the position in the payload at which the magic number first occurs. */
static int recordio_split(struct buf *out, size_t start, size_t first, struct sheaf_error *err)
{
    struct buf copy = BUF_INIT(SIZE_MAX / 4);
    const size_t size = out->size - start - HEADER_BYTES;
    size_t at = first, from = 0, splits = 0;
    enum cflag cflag = FIRST;
    int code = buf_append(&copy, out->data + start + HEADER_BYTES, size, err);

    if (code != SHEAF_OK)
        goto out;
    for (; at < size; at = find_magic(copy.data, size, at + 4))
        splits++;
    code = buf_reserve(out, 4 * splits + 4, err);
    if (code != SHEAF_OK)
        goto out;
    out->size = start;
    for (at = first; at < size; at = find_magic(copy.data, size, from)) {
        put_part(out, cflag, copy.data + from, at - from);
        cflag = MIDDLE;
        from = at + 4;
    }
    put_part(out, LAST, copy.data + from, size - from);
out:
    buf_free(&copy);
    return code;
}

/* Turns a payload into a frame (a whole record). `out` has room for the frame's header at offset
 * `start`, and then the payload. */
static int frame_payload(struct buf *out, size_t start, bool *multipart, struct sheaf_error *err)
{
    const size_t size = out->size - start - HEADER_BYTES;
    size_t at;
    int code;

    if (size >= RECORD_PAYLOAD_LIMIT)
        return err_set(err, SHEAF_ERR_LIMIT, "the record has %zu bytes, but a RecordIO record must "
                       "have less than %zu", size, RECORD_PAYLOAD_LIMIT);
    at = find_magic(out->data + start + HEADER_BYTES, size, 0);
    *multipart = at != size;
    if (*multipart) {
        code = recordio_split(out, start, at, err);
        if (code != SHEAF_OK)
            return code;
    } else {
        recordio_write_header(out->data + start, WHOLE, size);
    }
    code = buf_reserve(out, 3, err);
    if (code == SHEAF_OK)
        buf_put(out, "\0\0\0", -(out->size - start) & 3);
    return code;
}

int recordio_frame(struct buf *out, size_t start, struct sheaf_error *err)
{
    bool multipart;

    return frame_payload(out, start, &multipart, err);
}

static int recordio_encode(const struct sheaf_sample *sample, const struct encode_context *context,
                           struct buf *out, struct buf *names, struct encoded *encoded,
                           struct sheaf_error *err)
{
    const size_t start = out->size, names_start = names->size;
    bool multipart = false;
    int code = buf_reserve(out, HEADER_BYTES, err);

    (void)context;
    if (code != SHEAF_OK)
        return code;
    out->size += HEADER_BYTES;
    code = record_payload_encode(sample, out, names, err);
    if (code == SHEAF_OK)
        code = frame_payload(out, start, &multipart, err);
    if (code != SHEAF_OK) {
        out->size = start;
        names->size = names_start;
        return code;
    }
    *encoded = (struct encoded){
        .size = out->size - start,
        .crc = crc32c(0, out->data + start, out->size - start),
        .name_line_size = names->size - names_start,
        .multipart = multipart,
    };
    return SHEAF_OK;
}

static size_t recordio_content_at(const struct sheaf_sample *sample,
                                  const struct encode_context *context,
                                  const struct sheaf_field *field)
{
    const size_t at = record_payload_content_at(sample, field);

    (void)context;
    return at == SIZE_MAX ? at : HEADER_BYTES + at;
}

static int recordio_finish(struct buf *out, struct sheaf_error *err)
{
    (void)out;
    (void)err;
    return SHEAF_OK;
}

/* ---- Reading ------------------------------------------------------------------------------ */

static int recordio_part(struct format_scan *scan, const uint8_t *data, size_t size, bool at_end,
                         struct part *part, struct sheaf_error *err)
{
    struct header h;
    int code;

    if (size < HEADER_BYTES) {
        if (at_end)
            return err_set(err, SHEAF_ERR_TRUNCATED, "the stream ends after %zu byte%s of a "
                           "record's header of %d bytes", size, plural(size), HEADER_BYTES);
        *part = (struct part){ .kind = PART_MORE, .need = HEADER_BYTES };
        return SHEAF_OK;
    }
    code = check_header(data, scan->frame_open, err);
    if (code != SHEAF_OK)
        return code;
    h = read_header(data);
    *part = (struct part){ .kind = scan->frame_open ? PART_NEXT : PART_START,
                           .size = HEADER_BYTES + h.padded };
    scan->frame_open = h.cflag == FIRST || h.cflag == MIDDLE;
    return SHEAF_OK;
}

static int recordio_end(struct format_scan *scan, struct sheaf_error *err)
{
    if (scan->frame_open)
        return err_set(err, SHEAF_ERR_TRUNCATED, "the stream ends before the last part of a "
                       "record of several parts");
    return SHEAF_OK;
}

/* Finds the next record after damage. Searches in steps of 4 bytes, because the size of every
 * record is a multiple of 4. */
static bool recordio_resync(const uint8_t *data, size_t size, size_t *skip)
{
    *skip = 0;
    for (size_t at = 4; at + HEADER_BYTES <= size; at += 4) {
        *skip = at;
        if (load32(data + at) == MAGIC && read_header(data + at).cflag <= FIRST)
            return true;
    }
    return false;
}

/* Checks the header of one part of a record and sets *h to it. The header is at offset `at` of the
 * frame (the whole stored record). Returns an error if the part extends past the end of the
 * frame. */
static int recordio_check_part(const uint8_t *frame, size_t size, size_t at, struct header *h,
                               struct sheaf_error *err)
{
    int code;

    if (size - at < HEADER_BYTES)
        return err_set(err, SHEAF_ERR_CORRUPT, "found %zu byte%s, expected a part's header of %d "
                       "bytes", size - at, plural(size - at), HEADER_BYTES);
    code = check_header(frame + at, at != 0, err);
    if (code != SHEAF_OK)
        return code;
    *h = read_header(frame + at);
    if (h->padded > size - at - HEADER_BYTES)
        return err_set(err, SHEAF_ERR_CORRUPT, "the part's header says %zu byte%s, but there are "
                       "%zu", h->padded, plural(h->padded), size - at - HEADER_BYTES);
    return SHEAF_OK;
}

static bool recordio_is_open(const struct header *h)
{
    return h->cflag == FIRST || h->cflag == MIDDLE;
}

static int recordio_check(const uint8_t *frame, size_t size, uint32_t *crc,
                          struct sheaf_error *err)
{
    struct header h;
    size_t at = 0, i;

    do {
        int code = recordio_check_part(frame, size, at, &h, err);

        if (code != SHEAF_OK)
            return code;
        at += HEADER_BYTES;
        for (i = h.length; i < h.padded; i++) {
            if (frame[at + i] != 0)
                return err_set(err, SHEAF_ERR_CORRUPT, "the padding after the record has the "
                               "byte %02x, expected 00", frame[at + i]);
        }
        at += h.padded;
    } while (recordio_is_open(&h));
    if (at != size)
        return err_set(err, SHEAF_ERR_CORRUPT, "the record ends %zu byte%s before its frame does",
                       size - at, plural(size - at));
    *crc = crc32c(0, frame, size);
    return SHEAF_OK;
}

int recordio_content(const uint8_t *data, size_t size, struct buf *joined,
                     const uint8_t **content, size_t *content_size, size_t *used,
                     struct sheaf_error *err)
{
    const uint32_t magic = htole32(MAGIC);
    const size_t start = joined->size;
    struct header h;
    size_t at = 0;

    do {
        int code = recordio_check_part(data, size, at, &h, err);

        if (code != SHEAF_OK)
            return code;
        /* If the record has only one part, as most records have, its content need not be copied. */
        if (at == 0 && !recordio_is_open(&h)) {
            *content = data + HEADER_BYTES;
            *content_size = h.length;
            *used = HEADER_BYTES + h.padded;
            return SHEAF_OK;
        }
        buf_put(joined, data + at + HEADER_BYTES, h.length);
        if (recordio_is_open(&h))
            buf_put(joined, &magic, sizeof(magic));
        at += HEADER_BYTES + h.padded;
    } while (recordio_is_open(&h));
    *content = joined->data + start;
    *content_size = joined->size - start;
    *used = at;
    return SHEAF_OK;
}

static int recordio_decode(const struct record *record, const struct decode_context *context,
                           struct decode_scratch *scratch, struct sheaf_sample *sample,
                           struct sheaf_error *err)
{
    const uint8_t *content;
    struct header h;
    size_t size, used;
    int code = recordio_check_part(record->data, record->size, 0, &h, err);

    if (code != SHEAF_OK)
        return code;
    sample_begin(scratch);
    if (recordio_is_open(&h))
        code = buf_reserve(&scratch->joined, record->size, err);
    if (code == SHEAF_OK)
        code = recordio_content(record->data, record->size, &scratch->joined, &content, &size,
                                &used, err);
    if (code != SHEAF_OK)
        return code;
    return record_payload_decode(content, size, record, context, scratch, sample, err);
}

/* Returns how many bits show that the stream is a RecordIO. If the stream begins with a valid
 * header, these are the 32 bits of the magic number and the 3 bits of the flag. Otherwise returns
 * 0. */
static unsigned recordio_bid(const uint8_t *data, size_t size)
{
    return size >= HEADER_BYTES && check_header(data, false, NULL) == SHEAF_OK ? 35 : 0;
}

/* Appends a record's line "NUMBER OFFSET" to the index file for MXNet. DALI reads this file as
 * well. */
static int recordio_index_line(struct buf *index, uint64_t number, uint64_t offset, size_t size,
                               struct sheaf_error *err)
{
    (void)size;
    return buf_printf(index, err, "%llu\t%llu\n", (unsigned long long)number,
                      (unsigned long long)offset);
}

static int recordio_number(const uint8_t *frame, size_t size, struct buf *joined, uint64_t *number,
                           struct sheaf_error *err)
{
    const uint8_t *content;
    size_t content_size, used;
    int code;

    joined->size = 0;
    code = buf_reserve(joined, size, err);
    if (code == SHEAF_OK)
        code = recordio_content(frame, size, joined, &content, &content_size, &used, err);
    return code == SHEAF_OK ? record_payload_number(content, content_size, number, err) : code;
}

const struct format_ops recordio_ops = {
    .id = SHEAF_RECORDIO,
    .interop = INTEROP_DALI | INTEROP_MXNET,
    .interop_always = INTEROP_MXNET,
    .index_line = recordio_index_line, .number = recordio_number,
    .name = "recordio",
    .aliases = { "rec", "mxnet" },
    .suffix = ".rec",
    .words = { "rec", "recordio" },
    .has_names = true,
    .content_most = RECORD_PAYLOAD_LIMIT,
    .encode = recordio_encode,
    .content_at = recordio_content_at,
    .finish = recordio_finish,
    .part = recordio_part,
    .end = recordio_end,
    .resync = recordio_resync,
    .check = recordio_check,
    .decode = recordio_decode,
    .bid = recordio_bid,
};
