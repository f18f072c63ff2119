/* SPDX-License-Identifier: MIT
 *
 * Codecs over any container: gzip and LZ4 frames.
 *
 * A compressed shard is one gzip member or one LZ4 frame, since many readers stop after the first.
 * It is cut into BLOCKS of a few MiB of container bytes, each beginning with a sample: pieces of
 * the member that refer to nothing before them (deflate flushed to a byte boundary; LZ4 blocks), so
 * a block is compressed, and unpacked, without the others.  Shards of older releases have a member
 * or frame of its own for each block; they are read, and no longer written. */
#ifndef FORMATS_CODEC_H
#define FORMATS_CODEC_H

#include <stdbool.h>

#include "base/buf.h"
#include "sheaf.h"

struct codec_stream;

/* What the end of a member or frame needs of all blocks together.  Zero-initialised. */
struct codec_total {
    uint64_t raw_bytes;
    uint32_t crc;           /* gzip's CRC-32 of all of them */
};

/* What one block adds to that. */
struct codec_block {
    uint64_t raw_bytes;
    uint32_t crc;
};

struct codec_ops {
    enum sheaf_codec id;
    const char *name;           /* "gzip" */
    const char *suffix;         /* ".gz" */
    /* The first bytes of a stream. */
    bool (*detect)(const uint8_t *data, size_t size);
    /* Appends what comes before the first block. */
    int (*begin)(struct buf *out, struct sheaf_error *err);
    /* Appends one block.  Thread-safe; the bytes depend on data and size only (and on the release
     * of zlib or liblz4).  `out` grows by at most codec_bound(size). */
    int (*compress)(const void *data, size_t size, struct buf *out, struct codec_block *block,
                    struct sheaf_error *err);
    /* Appends what comes after the last block. */
    int (*end)(const struct codec_total *total, struct buf *out, struct sheaf_error *err);
    /* Unpacks one block whose raw size is known; anything else than exactly raw_size bytes from
     * exactly size bytes is SHEAF_ERR_CORRUPT.  `single`: it is a piece; else an older release's,
     * a whole member or frame.  What guards the content are the samples' CRCs: a piece of a gzip
     * member has no checksum of its own, and LZ4's is not computed (that of a whole gzip member
     * is).  Thread-safe. */
    int (*decompress)(bool single, const void *data, size_t size, void *raw, size_t raw_size,
                      struct sheaf_error *err);

    /* The codec's part of codec_stream_*(), below. */
    int (*stream_open)(struct codec_stream **stream, struct sheaf_error *err);
    int (*stream_push)(struct codec_stream *stream, const void *data, size_t *size, void *raw,
                       size_t *raw_size, struct sheaf_error *err);
    int (*stream_end)(struct codec_stream *stream, struct sheaf_error *err);
    void (*stream_free)(struct codec_stream *stream);
};

extern const struct codec_ops gzip_ops, lz4_ops;

/* NULL for SHEAF_CODEC_NONE. */
const struct codec_ops *codec_of(enum sheaf_codec codec);

/* The codec that a stream begins with; SHEAF_CODEC_NONE if it is no compressed stream. */
enum sheaf_codec codec_detect(const uint8_t *data, size_t size);

/* What compress() may append for a block of `size` raw bytes, at most. */
size_t codec_bound(size_t size);

/* Adds a block to the total (for gzip: combines CRCs). */
void codec_total_add(enum sheaf_codec codec, struct codec_total *total,
                     const struct codec_block *block);

/* ---- Foreign compressed streams -------------------------------------------------------------
 * Sequentially, in bounded memory; any number of members or frames.  Zeros behind a gzip member and
 * LZ4 skippable frames are passed over; LZ4 legacy frames, and frames that need a dictionary, are
 * SHEAF_ERR_UNSUPPORTED. */

/* A codec embeds it in a struct of its own. */
struct codec_stream {
    const struct codec_ops *ops;
};

int codec_stream_open(enum sheaf_codec codec, struct codec_stream **stream,
                      struct sheaf_error *err);
/* Takes up to *size bytes of data, gives up to *raw_size bytes; sets both to what was taken and
 * given.  If room is left, all was taken and all was given.  SHEAF_OK; SHEAF_ERR_CORRUPT (bad
 * data, bad checksum, bytes after the last member that begin no other). */
int codec_stream_push(struct codec_stream *stream, const void *data, size_t *size, void *raw,
                      size_t *raw_size, struct sheaf_error *err);
/* At the end of the input, when a push has left room: SHEAF_ERR_TRUNCATED if the stream may not
 * end here. */
int codec_stream_end(struct codec_stream *stream, struct sheaf_error *err);
void codec_stream_free(struct codec_stream *stream);     /* NULL is fine */

#endif
