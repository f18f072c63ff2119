/* SPDX-License-Identifier: MIT
 *
 * Reads and writes gzip (RFC 1952). zlib is used only for the compressed data (raw deflate). This
 * file writes the header and the trailer itself, so that they do not depend on the time or the
 * operating system.
 *
 * A shard is one gzip member, which is assembled from pieces:
 *
 * - begin() writes the header of the member.
 * - Each block of the shard becomes several deflate blocks. The last of them is empty and ends at a
 *   byte (a full flush).
 * - end() writes one last, empty deflate block, the CRC-32 of the whole content, and the size of
 *   the content.
 *
 * A piece does not refer to data of earlier pieces, so it can be decompressed alone. */
#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/codec.h"

/* zlib's default level. On text, level 9 takes twice the time and saves only 1 %. On JPEG no level
 * helps. */
#define LEVEL 6

/* values of zlib's parameter windowBits: for raw deflate, and for deflate inside gzip */
#define WINDOW_RAW  (-15)
#define WINDOW_GZIP (15 + 16)

/* zlib counts in unsigned int. */
#define PIECE ((size_t)1 << 30)

/* The header of a gzip member: magic number, method deflate, no flags, no time, no extra flags,
 * unknown system. */
static const uint8_t header[10] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255 };

/* An empty deflate block with the mark of a stream's last block. These bytes end a gzip member. */
static const uint8_t last_block[2] = { 0x03, 0x00 };

/* The last 4 bytes of each deflate flush. A flush ends with an empty stored block, and these bytes
 * are the block's length and its complement. */
static const uint8_t flush_end[4] = { 0x00, 0x00, 0xff, 0xff };

/* Input and output of several calls of zlib, which together compress or decompress one buffer. The
 * buffers may be larger than zlib's 32-bit counters allow, so zlib gets them in pieces. in_left and
 * out_left count the bytes of the two buffers that were not yet passed to zlib. */
struct zlib_run {
    z_stream z;
    size_t in_left, out_left;
    uint8_t nowhere;        /* zlib refuses NULL even for an empty buffer */
};

static bool gzip_detect(const uint8_t *data, size_t size)
{
    return size >= 3 && memcmp(data, header, 3) == 0;
}

static void run_start(struct zlib_run *run, const void *in, size_t in_size, void *out,
                      size_t out_size)
{
    run->z.next_in = (Bytef *)(uintptr_t)(in_size != 0 ? in : &run->nowhere);
    run->z.next_out = out_size != 0 ? out : &run->nowhere;
    run->z.avail_in = run->z.avail_out = 0;
    run->in_left = in_size;
    run->out_left = out_size;
}

static void run_refill(struct zlib_run *run)
{
    if (run->z.avail_in == 0) {
        run->z.avail_in = (uInt)MIN(run->in_left, PIECE);
        run->in_left -= run->z.avail_in;
    }
    if (run->z.avail_out == 0) {
        run->z.avail_out = (uInt)MIN(run->out_left, PIECE);
        run->out_left -= run->z.avail_out;
    }
}

static size_t run_in_left(const struct zlib_run *run) { return run->in_left + run->z.avail_in; }
static size_t run_out_left(const struct zlib_run *run) { return run->out_left + run->z.avail_out; }

/* Calls inflate until the stream ends, an error occurs, the input is used up, or the output is
 * full. Returns zlib's status. */
static int run_inflate(struct zlib_run *run)
{
    int status;

    do {
        run_refill(run);
        status = inflate(&run->z, Z_NO_FLUSH);
    } while (status == Z_OK);
    return status;
}

/* Compresses all input and flushes the output. Returns true if all of the output fitted into its
 * buffer. zlib's result Z_BUF_ERROR also means success if all input was used and the buffer still
 * has room. In this case, Z_BUF_ERROR says only that the flush had nothing more to write. */
static bool run_deflate(struct zlib_run *run)
{
    int status;

    do {
        run_refill(run);
        status = deflate(&run->z, run->in_left == 0 ? Z_FULL_FLUSH : Z_NO_FLUSH);
    } while (status == Z_OK && (run_in_left(run) != 0 || run->z.avail_out == 0));
    return run_in_left(run) == 0 && run_out_left(run) != 0 &&
           (status == Z_OK || status == Z_BUF_ERROR);
}

/* Compresses the data with deflate into the free room of `out`. The caller must have reserved
 * enough room. */
static int append_deflated(const void *data, size_t size, struct buf *out,
                           struct sheaf_error *err)
{
    struct zlib_run run = { 0 };
    int code = SHEAF_OK;

    if (deflateInit2(&run.z, LEVEL, Z_DEFLATED, WINDOW_RAW, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return err_memory(err, 1 << 18);
    run_start(&run, data, size, out->data + out->size, out->capacity - out->size);
    if (run_deflate(&run))
        out->size = out->capacity - run_out_left(&run);
    else
        code = err_set(err, SHEAF_ERR_LIMIT, "gzip: %zu bytes do not fit into %zu", size,
                       out->capacity - out->size);
    deflateEnd(&run.z);
    return code;
}

static int gzip_begin(struct buf *out, struct sheaf_error *err)
{
    return buf_append(out, header, sizeof(header), err);
}

static int gzip_compress(const void *data, size_t size, struct buf *out,
                         struct codec_block *block, struct sheaf_error *err)
{
    const int code = buf_reserve(out, codec_bound(size), err);

    if (code != SHEAF_OK)
        return code;
    block->raw_bytes = size;
    block->crc = (uint32_t)crc32_z(0, data, size);
    return append_deflated(data, size, out, err);
}

static int gzip_add(struct codec_total *total, const struct codec_block *block, const void *stored,
                    size_t stored_size, struct sheaf_error *err)
{
    (void)stored;
    (void)stored_size;
    (void)err;
    total->crc = (uint32_t)crc32_combine(total->crc, block->crc, (z_off_t)block->raw_bytes);
    return SHEAF_OK;
}

static int gzip_end(const struct codec_total *total, struct buf *out, struct sheaf_error *err)
{
    uint8_t trailer[8];
    const int code = buf_append(out, last_block, sizeof(last_block), err);

    if (code != SHEAF_OK)
        return code;
    store32(trailer, total->crc);
    store32(trailer + 4, (uint32_t)total->raw_bytes);       /* modulo 2^32, says the RFC */
    return buf_append(out, trailer, sizeof(trailer), err);
}

/* Sets the error with zlib's own description. */
static int inflate_error(const z_stream *z, int status, struct sheaf_error *err)
{
    if (status == Z_MEM_ERROR)
        return err_memory(err, 1 << 16);
    if (status == Z_NEED_DICT)
        return err_set(err, SHEAF_ERR_CORRUPT, "gzip: a preset dictionary is required");
    return err_set(err, SHEAF_ERR_CORRUPT, "gzip: %s",
                   z->msg != NULL ? z->msg : "data is incomplete or continues");
}

/* Inflates one block of a shard, which is a piece of a gzip member. A complete piece ends with a
 * flush. After the shard's last piece, the end of the member may follow. */
static int inflate_piece(struct zlib_run *run, const uint8_t *data, size_t size)
{
    int status;

    if (size < sizeof(flush_end) ||
        memcmp(data + size - sizeof(flush_end), flush_end, sizeof(flush_end)) != 0)
        return Z_BUF_ERROR;
    status = run_inflate(run);
    if (status == Z_STREAM_END)
        return Z_BUF_ERROR;
    if (status != Z_BUF_ERROR || run_in_left(run) != 0 || run_out_left(run) != 0)
        return status;
    run_start(run, last_block, sizeof(last_block), NULL, 0);
    return run_inflate(run);
}

static int gzip_decompress(bool single, const void *data, size_t size, void *raw,
                           size_t raw_size, struct sheaf_error *err)
{
    struct zlib_run run = { 0 };
    int status, code = SHEAF_OK;

    if (inflateInit2(&run.z, single ? WINDOW_RAW : WINDOW_GZIP) != Z_OK)
        return err_memory(err, 1 << 16);
    run_start(&run, data, size, raw, raw_size);
    status = single ? inflate_piece(&run, data, size) : run_inflate(&run);
    if (status != Z_STREAM_END && status != Z_BUF_ERROR)
        code = inflate_error(&run.z, status, err);
    else if (status != Z_STREAM_END || run_in_left(&run) != 0 || run_out_left(&run) != 0)
        code = err_set(err, SHEAF_ERR_CORRUPT, "gzip: a block of %zu byte%s does not unpack to "
                       "%zu byte%s", size, plural(size), raw_size, plural(raw_size));
    inflateEnd(&run.z);
    return code;
}

/* ---- Streams -------------------------------------------------------------------------------- */

struct gzip_stream {
    struct codec_stream base;
    struct zlib_run run;
    bool inside;            /* whether a member has started and not ended */
};

static int gzip_stream_open(struct codec_stream **stream, struct sheaf_error *err)
{
    struct gzip_stream *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return err_memory(err, sizeof(*s));
    if (inflateInit2(&s->run.z, WINDOW_GZIP) != Z_OK) {
        free(s);
        return err_memory(err, 1 << 16);
    }
    *stream = &s->base;
    return SHEAF_OK;
}

/* Skips zero bytes after a gzip member, as gzip and Python do. Files from tapes and disks are
 * padded with zeros. */
static void skip_padding(struct gzip_stream *s)
{
    z_stream *z = &s->run.z;

    while (s->base.ended != 0 && z->avail_in != 0 && *z->next_in == 0) {
        z->next_in++;
        z->avail_in--;
        run_refill(&s->run);
    }
}

/* Begins to read a gzip member. Checks its first byte, because zlib would report the bytes of
 * another format as a damaged gzip header. */
static int codec_gzip_begin_member(struct gzip_stream *s, uint8_t first, struct sheaf_error *err)
{
    if (first != header[0] && s->base.ended != 0)
        return err_set(err, SHEAF_ERR_CORRUPT,
                       "gzip: byte 0x%02x after member %llu, expected 0x1f (another member), "
                       "zeros or the end", first, (unsigned long long)s->base.ended);
    if (inflateReset(&s->run.z) != Z_OK)
        return err_set(err, SHEAF_ERR_STATE, "gzip: the decoder cannot be reset");
    s->inside = true;
    return SHEAF_OK;
}

static int push_members(struct gzip_stream *s, struct sheaf_error *err)
{
    for (;;) {
        int status, code;

        if (!s->inside) {
            run_refill(&s->run);
            skip_padding(s);
            if (s->run.z.avail_in == 0)
                return SHEAF_OK;
            code = codec_gzip_begin_member(s, *s->run.z.next_in, err);
            if (code != SHEAF_OK)
                return code;
        }
        status = run_inflate(&s->run);
        if (status == Z_BUF_ERROR)
            return SHEAF_OK;
        if (status != Z_STREAM_END)
            return inflate_error(&s->run.z, status, err);
        s->inside = false;
        codec_stream_whole(&s->base, run_in_left(&s->run), run_out_left(&s->run));
    }
}

static int gzip_stream_push(struct codec_stream *stream, const void *data, size_t *size,
                            void *raw, size_t *raw_size, struct sheaf_error *err)
{
    struct gzip_stream *s = (struct gzip_stream *)stream;
    int code;

    run_start(&s->run, data, *size, raw, *raw_size);
    code = push_members(s, err);
    *size -= run_in_left(&s->run);
    *raw_size -= run_out_left(&s->run);
    return code;
}

static int gzip_stream_end(struct codec_stream *stream, struct sheaf_error *err)
{
    struct gzip_stream *s = (struct gzip_stream *)stream;

    (void)err;
    return s->base.ended != 0 && !s->inside ? SHEAF_OK : SHEAF_END;
}

static void gzip_stream_free(struct codec_stream *stream)
{
    struct gzip_stream *s = (struct gzip_stream *)stream;

    inflateEnd(&s->run.z);
    free(s);
}

const struct codec_ops gzip_ops = {
    .id = SHEAF_CODEC_GZIP,
    .name = "gzip",
    .suffix = ".gz",
    .piece = "member",
    .library = "zlib",
    .version = zlibVersion,
    .single_member = true,
    .detect = gzip_detect,
    .begin = gzip_begin,
    .compress = gzip_compress,
    .add = gzip_add,
    .end = gzip_end,
    .decompress = gzip_decompress,
    .stream_open = gzip_stream_open,
    .stream_push = gzip_stream_push,
    .stream_end = gzip_stream_end,
    .stream_free = gzip_stream_free,
};
