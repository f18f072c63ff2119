/* SPDX-License-Identifier: MIT
 *
 * Fuzzes compressed streams and blocks. Any bytes must give an error or raw bytes, without harm.
 * The first byte chooses the codec and the form of a shard, and whether the rest is used as it is
 * or as edits to an intact block. The second byte is the size of the output buffer. */
#include "formats/codec.h"
#include "tests/fuzz/patch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Limit for the output, because deflate may make data a thousand times larger. */
#define OUTPUT_LIMIT 100000

static void read_stream(enum sheaf_codec codec, const uint8_t *data, size_t size, uint8_t *room,
                        size_t room_size)
{
    struct codec_stream *stream;
    size_t given = room_size, total = 0;
    int code = codec_stream_open(codec, &stream, NULL);

    if (code != SHEAF_OK)
        return;
    while (code == SHEAF_OK && total < OUTPUT_LIMIT && (size > 0 || given == room_size)) {
        const size_t shown = MIN(size, 33);
        size_t taken = shown;

        given = room_size;
        code = codec_stream_push(stream, data, &taken, room, &given, NULL);
        if (taken > shown || given > room_size)
            abort();
        if (code == SHEAF_OK && given < room_size && taken < shown)
            abort();
        data += taken;
        size -= taken;
        total += given;
    }
    if (code == SHEAF_OK)
        code = codec_stream_end(stream, NULL);
    codec_stream_free(stream);
}

static void read_both_ways(enum sheaf_codec codec, bool single, const uint8_t *data, size_t size,
                           size_t room_size)
{
    uint8_t *room = malloc(room_size);

    if (room == NULL)
        return;
    read_stream(codec, data, size, room, room_size);
    if (codec_of(codec)->decompress(single, data, size, room, room_size, NULL) == SHEAF_OK &&
        size == 0)
        abort();
    free(room);
}

/* Decompresses an edited block. The block has as many raw bytes as the output buffer, so it fits
 * unless it is damaged. */
static void read_edited(enum sheaf_codec codec, const uint8_t *edits, size_t edits_size,
                        size_t raw_size)
{
    struct buf block = BUF_INIT(SIZE_MAX);
    struct codec_block total;
    uint8_t *raw = malloc(raw_size), *copy;
    size_t size;

    for (size_t i = 0; raw != NULL && i < raw_size; i++)
        raw[i] = (uint8_t)("shards of samples"[i % 17] + i / 100);
    if (raw == NULL || codec_of(codec)->compress(raw, raw_size, &block, &total, NULL)
                       != SHEAF_OK)
        abort();
    copy = patched(block.data, block.size, edits, edits_size, &size);
    read_both_ways(codec, true, copy, size, raw_size);
    free(copy);
    free(raw);
    buf_free(&block);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum sheaf_codec codec;
    bool single;
    size_t room_size;

    if (size < 2)
        return 0;
    codec = data[0] & 8 ? SHEAF_CODEC_ZSTD : data[0] & 1 ? SHEAF_CODEC_GZIP : SHEAF_CODEC_LZ4;
    single = (data[0] & 2) != 0;
    room_size = 1 + 4 * (size_t)data[1];
    if (data[0] & 4)
        read_both_ways(codec, single, data + 2, size - 2, room_size);
    else
        read_edited(codec, data + 2, size - 2, room_size);
    return 0;
}
