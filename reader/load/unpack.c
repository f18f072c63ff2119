/* SPDX-License-Identifier: MIT
 *
 * Decompresses parts of a codec block with the stream functions of the codec.
 *
 * A shard may be one compressed stream (for example, one gzip member). A block is then a piece in
 * the middle of this stream. The decoder accepts only whole streams, so it first gets the bytes
 * with which such a stream begins.
 *
 * Each block is decompressed from its beginning, in steps of INPUT stored bytes or OUTPUT
 * uncompressed bytes. If the decoder finds damage, the output of the last step is dropped, because
 * the decoder does not say how much of it is good. The steps are always the same. So the lost
 * samples do not depend on the parts that are wanted. */
#include "reader/load/unpack.h"

#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"

#define INPUT  ((uint64_t)64 << 10)
#define OUTPUT ((uint64_t)32 << 10)
/* Number of bytes that are read from a remote shard at once. This is more than one step, because
 * each request takes a round trip. */
#define READ_REMOTE (16 * INPUT)

/* The current place in the block. */
struct unpack_place {
    /* stored bytes that are in memory, but that the decoder has not used yet */
    const uint8_t *data;
    size_t size;
    /* Offset in the stored shard of the next bytes that must be read. (The stored bytes of the
     * block are read in several steps.) */
    uint64_t stored;
    uint64_t held, held_end;    /* stored bytes [held, held_end) are in memory */
    uint64_t raw;               /* offset in the uncompressed block */
};

uint64_t unpack_step(bool is_remote)
{
    return is_remote ? READ_REMOTE : INPUT;
}

static int unpack_begin_member(const struct unpack *u, struct codec_stream *stream,
                               struct sheaf_error *err)
{
    struct buf head = BUF_INIT(4096);
    uint8_t none[16];
    size_t size, room = sizeof(none);
    int code = u->codec->begin(&head, err);

    size = head.size;
    if (code == SHEAF_OK && size != 0)
        code = codec_stream_push(stream, head.data, &size, none, &room, err);
    buf_free(&head);
    return code;
}

/* Sets at->data and at->size to the stored bytes of the next step. Leaves them unchanged if the
 * block has no more stored bytes. */
static int unpack_fill(struct unpack *u, struct unpack_place *at, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    if (at->stored == u->end)
        return SHEAF_OK;
    if (at->stored == at->held_end) {
        const size_t size = (size_t)MIN(u->end - at->stored, u->room_bytes);

        code = store_read(u->object, at->stored, u->room, size, err);
        u->read_bytes += size;
        at->held = at->stored;
        at->held_end = at->held + size;
    }
    at->data = u->room + (at->stored - at->held);
    at->size = (size_t)MIN(at->held_end - at->stored, INPUT);
    at->stored += at->size;
    return code;
}

/* Copies the wanted bytes from `output` to the parts that the caller wants. `output` has `size`
 * uncompressed bytes of the block, which begin at offset `at` of the uncompressed block. */
static void unpack_take(struct unpack *u, uint64_t at, const uint8_t *output, size_t size)
{
    while (u->done < u->count) {
        struct unpack_part *part = &u->parts[u->done];
        const uint64_t begin = MAX(at, part->skip);
        const uint64_t end = MIN(at + size, part->skip + part->size);

        if (begin < end) {
            memcpy(part->raw + (begin - part->skip), output + (begin - at), end - begin);
            part->got = end - part->skip;
        }
        if (part->got < part->size)
            return;
        u->done++;
    }
}

static int unpack_push(struct unpack *u, struct codec_stream *stream, struct unpack_place *at,
                       struct sheaf_error *err)
{
    uint8_t output[OUTPUT];
    const bool is_last = at->size == 0;
    size_t taken = at->size, given = sizeof(output);
    int code = codec_stream_push(stream, at->data, &taken, output, &given, err);

    at->data += taken;
    at->size -= taken;
    unpack_take(u, at->raw, output, given);
    at->raw += given;
    if (code == SHEAF_OK && is_last && given == 0) {
        const struct unpack_part *part = &u->parts[u->done];

        code = err_set(err, SHEAF_ERR_TRUNCATED, "it ends after %" PRIu64 " raw byte%s, but a "
                       "sample in it ends at %" PRIu64, at->raw, plural(at->raw),
                       part->skip + part->size);
    }
    u->is_damaged = code != SHEAF_OK && code != SHEAF_ERR_MEMORY;
    return code;
}

static int unpack_do(struct unpack *u, struct codec_stream *stream, struct sheaf_error *err)
{
    static const uint8_t none[1];
    struct unpack_place at = { .data = none, .stored = u->begin, .held = u->begin,
                               .held_end = u->begin + u->held };
    int code = u->single ? unpack_begin_member(u, stream, err) : SHEAF_OK;

    while (code == SHEAF_OK && u->done < u->count) {
        if (at.size == 0)
            code = unpack_fill(u, &at, err);
        if (code == SHEAF_OK)
            code = unpack_push(u, stream, &at, err);
    }
    return code;
}

int unpack_parts(struct unpack *u, struct sheaf_error *err)
{
    struct codec_stream *stream;
    int code = codec_stream_open(u->codec->id, &stream, err);

    u->done = u->read_bytes = 0;
    for (size_t i = 0; i < u->count; i++)
        u->parts[i].got = 0;
    u->is_damaged = false;
    if (code != SHEAF_OK)
        return code;
    stream->skips_checksums = true;
    code = unpack_do(u, stream, err);
    codec_stream_free(stream);
    return code;
}
