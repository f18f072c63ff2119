/* SPDX-License-Identifier: MIT
 *
 * Reads and writes LZ4 frames (magic 0x184d2204) through liblz4's frame interface. Only the blocks
 * of our own shards are decompressed directly.
 *
 * A shard is one LZ4 frame. begin() writes the frame's header and end() its end mark. Between them
 * are the blocks of the shard (a few MiB of samples each). Each of these blocks was compressed
 * separately into several LZ4 blocks. In shards of older releases, each block of the shard is a
 * whole LZ4 frame.
 *
 * Each LZ4 block has a checksum. The frame has none, because it could not be computed from the
 * checksums of the blocks. A reader of a shard does not verify these checksums (XXH32), because
 * this would take longer than the decompression. Instead, the reader checks the CRC of each sample,
 * which takes less time.
 *
 * LZ4 blocks have at most 256 KiB, because larger blocks hardly compress better, and every decoder
 * would need larger buffers. */
#include <lz4.h>
#include <lz4frame.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/codec.h"

#define MAGIC          0x184d2204u
#define MAGIC_LEGACY   0x184c2102u
#define MAGIC_SKIPPABLE 0x184d2a50u     /* and the 15 after it */
#define FLAG_DICTIONARY 0x01            /* flag in the byte after the magic number */

/* An LZ4 block begins with the size of its data, and ends with its checksum. */
#define SIZE_BYTES     4u
#define CHECKSUM_BYTES 4u
#define FLAG_STORED    0x80000000u      /* flag in the size if the data is not compressed */
#define BLOCK_BYTES    ((size_t)256 << 10)      /* largest size before compression */

/* the frame header: magic number; version 1 with independent blocks and block checksums; blocks of
 * at most 256 KiB; the header's checksum */
static const uint8_t header[7] = { 0x04, 0x22, 0x4d, 0x18, 0x70, 0x50, 0x84 };

/* the header of a frame that differs only because its blocks have no checksums */
static const uint8_t unchecked_header[7] = { 0x04, 0x22, 0x4d, 0x18, 0x60, 0x50, 0xfb };

static const uint8_t end_mark[4] = { 0 };

static bool codec_lz4_is_skippable(uint32_t magic) { return (magic & ~15u) == MAGIC_SKIPPABLE; }

/* Returns whether the data begins with an LZ4 frame. Returns true even for kinds of LZ4 frames that
 * cannot be decompressed, so that a later error message can name the kind. */
static bool lz4_detect(const uint8_t *data, size_t size)
{
    uint32_t magic;

    if (size < 4)
        return false;
    magic = load32(data);
    return magic == MAGIC || magic == MAGIC_LEGACY || codec_lz4_is_skippable(magic);
}

/* Sets the error with liblz4's own description. */
static int lz4_error(size_t result, struct sheaf_error *err)
{
    const char *name = LZ4F_getErrorName(result);

    if (strcmp(name, "ERROR_allocation_failed") == 0)
        return err_memory(err, 1 << 19);
    return err_set(err, SHEAF_ERR_CORRUPT, "lz4: %s", name);
}

/* Compresses data into LZ4 blocks that can be a piece of a frame. liblz4 also writes a frame
 * header. This header is dropped, because lz4_begin() writes the only header of the shard. */
static size_t compress_piece(const void *data, size_t size, void *out, size_t capacity)
{
    LZ4F_preferences_t p = LZ4F_INIT_PREFERENCES;
    uint8_t own[LZ4F_HEADER_SIZE_MAX];
    LZ4F_cctx *context;
    size_t result = LZ4F_createCompressionContext(&context, LZ4F_VERSION);

    if (LZ4F_isError(result))
        return result;
    p.frameInfo.blockSizeID = LZ4F_max256KB;
    p.frameInfo.blockMode = LZ4F_blockIndependent;
    p.frameInfo.blockChecksumFlag = LZ4F_blockChecksumEnabled;
    p.autoFlush = 1;
    result = LZ4F_compressBegin(context, own, sizeof(own), &p);
    if (!LZ4F_isError(result))
        result = size == 0 ? 0 : LZ4F_compressUpdate(context, out, capacity, data, size, NULL);
    LZ4F_freeCompressionContext(context);
    return result;
}

static int lz4_begin(struct buf *out, struct sheaf_error *err)
{
    return buf_append(out, header, sizeof(header), err);
}

static int lz4_compress(const void *data, size_t size, struct buf *out,
                        struct codec_block *block, struct sheaf_error *err)
{
    size_t result;
    const int code = buf_reserve(out, codec_bound(size), err);

    if (code != SHEAF_OK)
        return code;
    result = compress_piece(data, size, out->data + out->size, out->capacity - out->size);
    if (LZ4F_isError(result))
        return lz4_error(result, err);
    out->size += result;
    block->raw_bytes = size;
    block->crc = 0;
    return SHEAF_OK;
}

static int lz4_end(const struct codec_total *total, struct buf *out, struct sheaf_error *err)
{
    (void)total;
    return buf_append(out, end_mark, sizeof(end_mark), err);
}

/* Input and output of a run of liblz4. */
struct lz4_run {
    LZ4F_dctx *context;
    const uint8_t *in;
    uint8_t *out;
    size_t in_left, out_left;
    /* True if the checksums of the blocks are removed before liblz4 gets the frame. The following
     * fields are used only in this case. They describe the current block. */
    bool drops_checksums;
    uint8_t size[SIZE_BYTES];       /* size of the block's data, as stored in the frame */
    size_t size_bytes;              /* number of bytes in `size` so far */
    size_t left;                    /* bytes of the block's data and checksum not used yet */
};

/* Begins a frame with the header `header`. The checksums of its blocks will be removed before
 * liblz4 gets the blocks, so liblz4 gets the header of a frame without such checksums. (The option
 * skipChecksums is not enough. In spite of it, liblz4 verifies the checksum of each compressed
 * block.) */
static size_t begin_unchecked(struct lz4_run *run)
{
    size_t none = 0, size = sizeof(unchecked_header);

    run->drops_checksums = true;
    run->size_bytes = 0;
    return LZ4F_decompress(run->context, NULL, &none, unchecked_header, &size, NULL);
}

/* Returns the number of input bytes that liblz4 may get now. If checksums are removed, first skips
 * the checksum at the beginning of the input, if there is one. */
static size_t input_part(struct lz4_run *run)
{
    size_t skipped;

    if (!run->drops_checksums)
        return run->in_left;
    if (run->size_bytes == SIZE_BYTES && run->left <= CHECKSUM_BYTES) {
        skipped = MIN(run->in_left, run->left);
        run->in += skipped;
        run->in_left -= skipped;
        run->left -= skipped;
        if (run->left != 0)
            return 0;
        run->size_bytes = 0;
    }
    return MIN(run->in_left, run->size_bytes < SIZE_BYTES ? SIZE_BYTES - run->size_bytes
                                                          : run->left - CHECKSUM_BYTES);
}

/* Removes from the input the first `taken` bytes, which liblz4 has used. */
static void input_use(struct lz4_run *run, size_t taken)
{
    if (run->drops_checksums && run->size_bytes == SIZE_BYTES) {
        run->left -= taken;
    } else if (run->drops_checksums) {
        memcpy(run->size + run->size_bytes, run->in, taken);
        run->size_bytes += taken;
        run->left = (load32(run->size) & ~FLAG_STORED) + CHECKSUM_BYTES;
    }
    run->in += taken;
    run->in_left -= taken;
}

/* Calls liblz4 until the frame ends, an error occurs, the input is used up, or the output is full.
 * Returns 0 at the end of the frame. Otherwise returns liblz4's last result: an error, or the
 * number of bytes that it expects next. */
static size_t run_decompress(struct lz4_run *run, const LZ4F_decompressOptions_t *options)
{
    size_t result, taken, given;

    do {
        taken = input_part(run);
        given = run->out_left;
        result = LZ4F_decompress(run->context, run->out, &given, run->in, &taken, options);
        if (LZ4F_isError(result))
            break;
        input_use(run, taken);
        run->out += given;
        run->out_left -= given;
    } while (result != 0 && (taken != 0 || given != 0));
    return result;
}

/* Decompresses a whole LZ4 frame. Returns 0 if the frame is complete. Otherwise returns liblz4's
 * last result: an error, or the number of bytes that it expects next. */
static size_t run_frame(struct lz4_run *run)
{
    const LZ4F_decompressOptions_t options = { .stableDst = 1, .skipChecksums = 1 };
    size_t result = LZ4F_createDecompressionContext(&run->context, LZ4F_VERSION);

    if (LZ4F_isError(result))
        return result;
    result = run_decompress(run, &options);
    LZ4F_freeDecompressionContext(run->context);
    return result;
}

/* Decompresses the next LZ4 block. Returns false if there is no block, only an end mark, or if the
 * block is damaged, truncated, or too large for the output. */
static bool run_lz4_block(struct lz4_run *run)
{
    const uint8_t *data = run->in + SIZE_BYTES;
    const size_t room = MIN(run->out_left, BLOCK_BYTES);
    const size_t around = SIZE_BYTES + CHECKSUM_BYTES;      /* bytes before and after the data */
    const uint32_t head = run->in_left < around ? 0 : load32(run->in);
    const size_t size = head & ~FLAG_STORED;
    int given = (int)size;

    if (head == 0 || size > MIN(run->in_left - around, BLOCK_BYTES))
        return false;
    if ((head & FLAG_STORED) == 0)
        given = LZ4_decompress_safe((const char *)data, (char *)run->out, (int)size, (int)room);
    else if (size <= room)
        memcpy(run->out, data, size);
    if (given < 0 || (size_t)given > room)
        return false;
    run->in += size + around;
    run->in_left -= size + around;
    run->out += given;
    run->out_left -= (size_t)given;
    return true;
}

static int lz4_decompress(bool single, const void *data, size_t size, void *raw,
                          size_t raw_size, struct sheaf_error *err)
{
    struct lz4_run run = { .in = data, .in_left = size, .out = raw, .out_left = raw_size };
    size_t result = single ? 0 : run_frame(&run);

    while (single && run.in_left != 0 && run_lz4_block(&run))
        ;
    if (LZ4F_isError(result))
        return lz4_error(result, err);
    if (result != 0 || run.in_left != 0 || run.out_left != 0)
        return err_set(err, SHEAF_ERR_CORRUPT, "lz4: a block of %zu byte%s does not unpack to "
                       "%zu byte%s", size, plural(size), raw_size, plural(raw_size));
    return SHEAF_OK;
}

/* ---- Streams -------------------------------------------------------------------------------- */

/* State of an LZ4 stream. This code checks the magic number and flags of each frame before liblz4
 * gets them. A frame that needs a dictionary is refused, because liblz4 would decompress it to
 * wrong data. liblz4 itself skips skippable frames. */
struct lz4_stream {
    struct codec_stream base;
    struct lz4_run run;
    uint8_t head[sizeof(header)];
    /* Number of bytes in `head`, the first bytes of the current frame. This number grows to 7 while
     * these bytes are being read. It stays 7 until the frame ends. */
    size_t head_size;
};

static int lz4_stream_open(struct codec_stream **stream, struct sheaf_error *err)
{
    struct lz4_stream *s = calloc(1, sizeof(*s));
    size_t result;

    if (s == NULL)
        return err_memory(err, sizeof(*s));
    result = LZ4F_createDecompressionContext(&s->run.context, LZ4F_VERSION);
    if (LZ4F_isError(result)) {
        free(s);
        return lz4_error(result, err);
    }
    *stream = &s->base;
    return SHEAF_OK;
}

static int codec_lz4_check_head(const struct lz4_stream *s, struct sheaf_error *err)
{
    const uint32_t magic = load32(s->head);

    if (magic == MAGIC_LEGACY)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "lz4: a legacy frame (magic 0x%08x)", magic);
    if (codec_lz4_is_skippable(magic))
        return SHEAF_OK;
    if (magic != MAGIC)
        return err_set(err, SHEAF_ERR_CORRUPT, "lz4: bytes %02x %02x %02x %02x after %llu "
                       "frame%s, expected another frame (04 22 4d 18) or the end", s->head[0],
                       s->head[1], s->head[2], s->head[3], (unsigned long long)s->base.ended,
                       plural(s->base.ended));
    if (s->head[4] & FLAG_DICTIONARY)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "lz4: a frame that needs a dictionary");
    return SHEAF_OK;
}

/* Collects the first bytes of a frame. When enough bytes are collected, checks them and passes them
 * to liblz4. */
static int codec_lz4_begin_frame(struct lz4_stream *s, struct sheaf_error *err)
{
    const size_t part = MIN(s->run.in_left, sizeof(s->head) - s->head_size);
    size_t result, none = 0, size = sizeof(s->head);
    int code;

    if (part != 0)
        memcpy(s->head + s->head_size, s->run.in, part);
    s->run.in += part;
    s->run.in_left -= part;
    s->head_size += part;
    if (s->head_size < sizeof(s->head))
        return SHEAF_OK;
    code = codec_lz4_check_head(s, err);
    if (code != SHEAF_OK)
        return code;
    s->run.drops_checksums = false;
    if (s->base.skips_checksums && memcmp(s->head, header, sizeof(header)) == 0)
        result = begin_unchecked(&s->run);
    else
        result = LZ4F_decompress(s->run.context, NULL, &none, s->head, &size, NULL);
    return LZ4F_isError(result) ? lz4_error(result, err) : SHEAF_OK;
}

static int codec_lz4_push_frames(struct lz4_stream *s, struct sheaf_error *err)
{
    const LZ4F_decompressOptions_t options = { .skipChecksums = s->base.skips_checksums };

    for (;;) {
        size_t result;

        if (s->head_size < sizeof(s->head)) {
            int code = codec_lz4_begin_frame(s, err);

            if (code != SHEAF_OK || s->head_size < sizeof(s->head))
                return code;
        }
        result = run_decompress(&s->run, &options);
        if (LZ4F_isError(result))
            return lz4_error(result, err);
        if (result != 0)
            return SHEAF_OK;
        s->head_size = 0;
        codec_stream_whole(&s->base, s->run.in_left, s->run.out_left);
    }
}

static int lz4_stream_push(struct codec_stream *stream, const void *data, size_t *size,
                           void *raw, size_t *raw_size, struct sheaf_error *err)
{
    struct lz4_stream *s = (struct lz4_stream *)stream;
    int code;

    s->run.in = data;
    s->run.in_left = *size;
    s->run.out = raw;
    s->run.out_left = *raw_size;
    code = codec_lz4_push_frames(s, err);
    *size -= s->run.in_left;
    *raw_size -= s->run.out_left;
    return code;
}

/* Called when the input of a stream has ended. Returns SHEAF_OK if the input has ended directly
 * after a complete frame. Returns SHEAF_END if the input has ended inside a frame; the caller then
 * sets the error. If a few bytes follow the last frame and cannot be the beginning of another
 * frame, sets an error that reports them as foreign bytes. */
static int lz4_stream_end(struct codec_stream *stream, struct sheaf_error *err)
{
    struct lz4_stream *s = (struct lz4_stream *)stream;
    uint8_t magic[4];

    if (s->base.ended != 0 && s->head_size == 0)
        return SHEAF_OK;
    store32(magic, MAGIC);
    if (memcmp(s->head, magic, MIN(s->head_size, sizeof(magic))) != 0)
        return err_set(err, SHEAF_ERR_CORRUPT, "lz4: %zu byte%s after %llu frame%s, expected "
                       "another frame or the end", s->head_size, plural(s->head_size),
                       (unsigned long long)s->base.ended, plural(s->base.ended));
    return SHEAF_END;
}

static void lz4_stream_free(struct codec_stream *stream)
{
    struct lz4_stream *s = (struct lz4_stream *)stream;

    LZ4F_freeDecompressionContext(s->run.context);
    free(s);
}

const struct codec_ops lz4_ops = {
    .id = SHEAF_CODEC_LZ4,
    .name = "lz4",
    .suffix = ".lz4",
    .piece = "frame",
    .library = "liblz4",
    .version = LZ4_versionString,
    .single_member = true,
    .detect = lz4_detect,
    .begin = lz4_begin,
    .compress = lz4_compress,
    .end = lz4_end,
    .decompress = lz4_decompress,
    .stream_open = lz4_stream_open,
    .stream_push = lz4_stream_push,
    .stream_end = lz4_stream_end,
    .stream_free = lz4_stream_free,
};
