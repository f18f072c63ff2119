/* SPDX-License-Identifier: MIT
 *
 * Reads and writes Zstandard frames (RFC 8878) through libzstd, in zstd's seekable format.
 *
 * A block of a shard is one frame with its size and checksum, or several frames if the block is
 * very large. end() writes a table of all frames at the end of the shard. The table is a skippable
 * frame, so decoders skip it. It has the stored and raw size of each frame, the number of frames,
 * and a magic number.
 *
 * The zstd command, tar, and programs that use zstd's seekable library can read such a shard. Our
 * reader finds the blocks by the index and does not need the table. */
#include <stdlib.h>
/* declares ZSTD_d_forceIgnoreChecksum, which libzstd 1.4.9 and later know */
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>
#include <zstd_errors.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/codec.h"

#define MAGIC           0xfd2fb528u
#define MAGIC_SKIPPABLE 0x184d2a50u     /* and the 15 after it */
#define MAGIC_TABLE     0x184d2a5eu     /* magic number of the seekable format's skippable frame */
#define MAGIC_SEEKABLE  0x8f92eab1u     /* the last bytes of that */

#define TABLE_HEAD  8       /* magic number and size of a skippable frame */
#define TABLE_ENTRY 8
#define TABLE_FOOT  9       /* number of frames, flags (none: no checksums), magic number */

/* zstd's own default. */
#define LEVEL 3

/* Largest number of uncompressed bytes in a frame. Frames are limited because a reader that seeks
 * with the table of frames must decompress a whole frame to get a single byte. */
#define FRAME_MOST ((size_t)16 << 20)

/* Base-2 logarithm of the largest window in bytes: a frame may refer back 8 MiB. RFC 8878 requires
 * every decoder to support this, and compression levels up to 19 stay within it. A larger window is
 * refused, because its memory would not be counted in any memory budget. */
#define WINDOW_LOG 23

static bool codec_zstd_is_skippable(uint32_t magic) { return (magic & ~15u) == MAGIC_SKIPPABLE; }

static bool zstd_detect(const uint8_t *data, size_t size)
{
    return size >= 4 && load32(data) == MAGIC;
}

/* Sets the error with libzstd's own description. */
static int zstd_error(size_t result, struct sheaf_error *err)
{
    switch (ZSTD_getErrorCode(result)) {
    case ZSTD_error_memory_allocation:
        return err_memory(err, (size_t)1 << WINDOW_LOG);
    case ZSTD_error_dictionary_wrong:
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "zstd: a frame that needs a dictionary");
    case ZSTD_error_frameParameter_windowTooLarge:
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "zstd: a frame with a window of more than %u "
                       "MiB; compress it with a smaller window", 1u << (WINDOW_LOG - 20));
    default:
        return err_set(err, SHEAF_ERR_CORRUPT, "zstd: %s", ZSTD_getErrorName(result));
    }
}

/* ---- Writing -------------------------------------------------------------------------------- */

static int zstd_begin(struct buf *out, struct sheaf_error *err)
{
    (void)out;
    (void)err;
    return SHEAF_OK;
}

/* Compresses data into one or more frames; empty data becomes one frame. `room` is the size of
 * `out`. The caller must compute `room` from `size` alone, and must not pass the size of a larger
 * buffer. Otherwise equal data might become different bytes, because libzstd may choose other bytes
 * if it has less room. */
static size_t compress_frames(const uint8_t *data, size_t size, uint8_t *out, size_t room)
{
    ZSTD_CCtx *context = ZSTD_createCCtx();
    size_t result, written = 0;

    if (context == NULL)
        return (size_t)-ZSTD_error_memory_allocation;
    result = ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, LEVEL);
    if (!ZSTD_isError(result))
        result = ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    for (bool first = true; !ZSTD_isError(result) && (first || size != 0); first = false) {
        const size_t part = MIN(size, FRAME_MOST);

        result = ZSTD_compress2(context, out + written, room - written, data, part);
        if (!ZSTD_isError(result))
            written += result;
        data += part;
        size -= part;
    }
    ZSTD_freeCCtx(context);
    return ZSTD_isError(result) ? result : written;
}

static int zstd_compress(const void *data, size_t size, struct buf *out,
                         struct codec_block *block, struct sheaf_error *err)
{
    size_t result;
    const int code = buf_reserve(out, codec_bound(size), err);

    if (code != SHEAF_OK)
        return code;
    result = compress_frames(data, size, out->data + out->size, codec_bound(size));
    if (ZSTD_isError(result))
        return zstd_error(result, err);
    out->size += result;
    block->raw_bytes = size;
    block->crc = 0;
    return SHEAF_OK;
}

/* Adds an entry to the table of frames, for the frame at the beginning of `stored`. An entry stores
 * the frame's compressed and raw size in 32 bits each. Sets *frame to the compressed size. */
static int add_frame(struct codec_total *total, const uint8_t *stored, size_t size, size_t *frame,
                     struct sheaf_error *err)
{
    uint8_t entry[TABLE_ENTRY];

    *frame = ZSTD_findFrameCompressedSize(stored, size);
    if (ZSTD_isError(*frame))
        return zstd_error(*frame, err);
    store32(entry, (uint32_t)*frame);
    store32(entry + 4, (uint32_t)ZSTD_getFrameContentSize(stored, size));
    /* The table is written as the content of a skippable frame. Such a frame states its size in 32
     * bits, so the table must have less than 4 GiB; the limit is 1 GiB. */
    total->table.limit = (size_t)1 << 30;
    return buf_append(&total->table, entry, sizeof(entry), err);
}

static int zstd_add(struct codec_total *total, const struct codec_block *block, const void *stored,
                    size_t stored_size, struct sheaf_error *err)
{
    size_t frame;
    int code = SHEAF_OK;

    (void)block;
    for (size_t at = 0; code == SHEAF_OK && at < stored_size; at += frame)
        code = add_frame(total, (const uint8_t *)stored + at, stored_size - at, &frame, err);
    return code;
}

static int zstd_end(const struct codec_total *total, struct buf *out, struct sheaf_error *err)
{
    uint8_t head[TABLE_HEAD], foot[TABLE_FOOT] = { 0 };
    int code;

    store32(head, MAGIC_TABLE);
    store32(head + 4, (uint32_t)(total->table.size + TABLE_FOOT));
    store32(foot, (uint32_t)(total->table.size / TABLE_ENTRY));
    store32(foot + 5, MAGIC_SEEKABLE);
    code = buf_append(out, head, sizeof(head), err);
    if (code == SHEAF_OK)
        code = buf_append(out, total->table.data, total->table.size, err);
    return code == SHEAF_OK ? buf_append(out, foot, sizeof(foot), err) : code;
}

/* ---- A block -------------------------------------------------------------------------------- */

static int block_error(size_t size, size_t raw_size, struct sheaf_error *err)
{
    return err_set(err, SHEAF_ERR_CORRUPT, "zstd: a block of %zu byte%s does not unpack to %zu "
                   "byte%s", size, plural(size), raw_size, plural(raw_size));
}

/* Decompresses consecutive frames. Each frame must contain data and state its raw size. All other
 * frames, such as skippable frames, are refused, although libzstd would accept them. */
static int decompress_frames(ZSTD_DCtx *context, const uint8_t *data, size_t size, uint8_t *raw,
                             size_t raw_size, struct sheaf_error *err)
{
    size_t at = 0, given = 0;

    while (at < size) {
        const size_t frame = zstd_detect(data + at, size - at)
                             ? ZSTD_findFrameCompressedSize(data + at, size - at) : 0;
        size_t result;

        if (frame == 0 || ZSTD_isError(frame))
            return block_error(size, raw_size, err);
        result = ZSTD_decompressDCtx(context, raw + given, raw_size - given, data + at, frame);
        if (ZSTD_isError(result))
            return zstd_error(result, err);
        at += frame;
        given += result;
    }
    return given == raw_size && size != 0 ? SHEAF_OK : block_error(size, raw_size, err);
}

static int zstd_decompress(bool single, const void *data, size_t size, void *raw, size_t raw_size,
                           struct sheaf_error *err)
{
    ZSTD_DCtx *context = ZSTD_createDCtx();
    int code;

    (void)single;
    if (context == NULL)
        return err_memory(err, 1 << 18);
    code = decompress_frames(context, data, size, raw, raw_size, err);
    ZSTD_freeDCtx(context);
    return code;
}

/* ---- Streams -------------------------------------------------------------------------------- */

/* State of a zstd stream. This code checks the magic number of each frame before libzstd gets
 * it. Otherwise foreign bytes after the last frame could not be distinguished from a truncated
 * frame. */
struct zstd_stream {
    struct codec_stream base;
    ZSTD_DCtx *context;
    ZSTD_inBuffer in;
    ZSTD_outBuffer out;
    uint8_t head[4];
    /* Number of bytes in `head`, the magic number of the current frame. This number grows to 4
     * while the magic number is being read. It stays 4 until the frame ends. */
    size_t head_size;
};

static int zstd_stream_open(struct codec_stream **stream, struct sheaf_error *err)
{
    struct zstd_stream *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return err_memory(err, sizeof(*s));
    s->context = ZSTD_createDCtx();
    if (s->context == NULL ||
        ZSTD_isError(ZSTD_DCtx_setParameter(s->context, ZSTD_d_windowLogMax, WINDOW_LOG))) {
        ZSTD_freeDCtx(s->context);
        free(s);
        return err_memory(err, 1 << 18);
    }
    *stream = &s->base;
    return SHEAF_OK;
}

/* Collects the magic number of a frame. When the magic number is complete, checks it and passes it
 * to libzstd. */
static int codec_zstd_begin_frame(struct zstd_stream *s, struct sheaf_error *err)
{
    ZSTD_inBuffer magic = { .src = s->head, .size = sizeof(s->head) };
    size_t result;

    while (s->head_size < sizeof(s->head) && s->in.pos < s->in.size)
        s->head[s->head_size++] = ((const uint8_t *)s->in.src)[s->in.pos++];
    if (s->head_size < sizeof(s->head))
        return SHEAF_OK;
    if (load32(s->head) != MAGIC && !codec_zstd_is_skippable(load32(s->head)))
        return err_set(err, SHEAF_ERR_CORRUPT, "zstd: bytes %02x %02x %02x %02x after %llu "
                       "frame%s, expected another frame (28 b5 2f fd) or the end", s->head[0],
                       s->head[1], s->head[2], s->head[3], (unsigned long long)s->base.ended,
                       plural(s->base.ended));
    result = ZSTD_decompressStream(s->context, &s->out, &magic);
    return ZSTD_isError(result) ? zstd_error(result, err) : SHEAF_OK;
}

static int codec_zstd_push_frames(struct zstd_stream *s, struct sheaf_error *err)
{
    for (;;) {
        size_t result, taken, given;

        if (s->head_size < sizeof(s->head)) {
            int code = codec_zstd_begin_frame(s, err);

            if (code != SHEAF_OK || s->head_size < sizeof(s->head))
                return code;
        }
        taken = s->in.pos;
        given = s->out.pos;
        result = ZSTD_decompressStream(s->context, &s->out, &s->in);
        if (ZSTD_isError(result))
            return zstd_error(result, err);
        if (result == 0) {
            s->head_size = 0;
            codec_stream_whole(&s->base, s->in.size - s->in.pos, s->out.size - s->out.pos);
        } else if (s->out.pos == s->out.size || (s->in.pos == taken && s->out.pos == given)) {
            return SHEAF_OK;
        }
    }
}

static int zstd_stream_push(struct codec_stream *stream, const void *data, size_t *size,
                            void *raw, size_t *raw_size, struct sheaf_error *err)
{
    struct zstd_stream *s = (struct zstd_stream *)stream;
    int code;

    /* An older library does not know this parameter, and verifies the checksums. */
    if (s->base.skips_checksums && s->base.taken_bytes == 0)
        (void)ZSTD_DCtx_setParameter(s->context, ZSTD_d_forceIgnoreChecksum,
                                     ZSTD_d_ignoreChecksum);
    s->in = (ZSTD_inBuffer){ .src = data, .size = *size };
    s->out = (ZSTD_outBuffer){ .dst = raw, .size = *raw_size };
    code = codec_zstd_push_frames(s, err);
    *size = s->in.pos;
    *raw_size = s->out.pos;
    return code;
}

/* Called when the input of a stream has ended. Returns SHEAF_OK if the input has ended directly
 * after a complete frame. Returns SHEAF_END if the input has ended inside a frame or its magic
 * number; the caller then sets the error. If a few bytes follow the last frame and cannot be the
 * beginning of another frame, sets an error that reports them as foreign bytes. */
static int zstd_stream_end(struct codec_stream *stream, struct sheaf_error *err)
{
    struct zstd_stream *s = (struct zstd_stream *)stream;
    uint8_t magic[4], skippable[4];

    if (s->base.ended != 0 && s->head_size == 0)
        return SHEAF_OK;
    store32(magic, MAGIC);
    store32(skippable, MAGIC_SKIPPABLE);
    skippable[0] |= s->head[0] & 15;
    if (s->head_size < sizeof(magic) && memcmp(s->head, magic, s->head_size) != 0 &&
        memcmp(s->head, skippable, s->head_size) != 0)
        return err_set(err, SHEAF_ERR_CORRUPT, "zstd: %zu byte%s after %llu frame%s, expected "
                       "another frame or the end", s->head_size, plural(s->head_size),
                       (unsigned long long)s->base.ended, plural(s->base.ended));
    return SHEAF_END;
}

static void zstd_stream_free(struct codec_stream *stream)
{
    struct zstd_stream *s = (struct zstd_stream *)stream;

    ZSTD_freeDCtx(s->context);
    free(s);
}

const struct codec_ops zstd_ops = {
    .id = SHEAF_CODEC_ZSTD,
    .name = "zstd",
    .suffix = ".zst",
    .piece = "frame",
    .library = "libzstd",
    .version = ZSTD_versionString,
    .detect = zstd_detect,
    .begin = zstd_begin,
    .compress = zstd_compress,
    .add = zstd_add,
    .end = zstd_end,
    .decompress = zstd_decompress,
    .stream_open = zstd_stream_open,
    .stream_push = zstd_stream_push,
    .stream_end = zstd_stream_end,
    .stream_free = zstd_stream_free,
};
