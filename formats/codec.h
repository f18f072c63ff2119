/* SPDX-License-Identifier: MIT
 *
 * Codecs over any container, as a table: gzip, LZ4 frames, zstd frames.
 *
 * A compressed shard is one gzip member or one LZ4 frame, since many readers stop after the first,
 * or zstd frames.  It is cut into BLOCKS of a few MiB of container bytes, each beginning with a
 * sample: pieces of the member that refer to nothing before them (deflate flushed to a byte
 * boundary; LZ4 blocks), so a block is compressed, and unpacked, without the others.  Shards of
 * older releases have a member or frame of its own for each block; they are read, and no longer
 * written. */
#ifndef FORMATS_CODEC_H
#define FORMATS_CODEC_H

#include <stdbool.h>

#include "base/buf.h"
#include "sheaf.h"

struct codec_stream;

/* What the end of a shard needs of all blocks together.  Zero-initialised; codec_total_free(). */
struct codec_total {
    uint64_t raw_bytes;
    uint32_t crc;           /* gzip's CRC-32 of all of them */
    struct buf table;       /* of codecs that list their blocks at the end */
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
    const char *piece;          /* "member" or "frame", of which streams are made */
    const char *library;        /* "zlib", */
    const char *(*version)(void);   /* and the release of it that runs: it decides the bytes */
    /* Whether a shard is one member or frame, of which blocks are pieces (for decompress()). */
    bool single_member;
    /* The first bytes of a stream. */
    bool (*detect)(const uint8_t *data, size_t size);
    /* Appends what comes before the first block. */
    int (*begin)(struct buf *out, struct sheaf_error *err);
    /* Appends one block.  Thread-safe; the bytes depend on data and size only (and on the release
     * of zlib or liblz4).  `out` grows by at most codec_bound(size). */
    int (*compress)(const void *data, size_t size, struct buf *out, struct codec_block *block,
                    struct sheaf_error *err);
    /* Adds a block, with the bytes that compress() made of it, to the total.  NULL: counting the
     * raw bytes is enough. */
    int (*add)(struct codec_total *total, const struct codec_block *block, const void *stored,
               size_t stored_size, struct sheaf_error *err);
    /* Appends what comes after the last block. */
    int (*end)(const struct codec_total *total, struct buf *out, struct sheaf_error *err);
    /* Unpacks one block whose raw size is known; anything else than exactly raw_size bytes from
     * exactly size bytes is SHEAF_ERR_CORRUPT.  `single`: it is a piece; else an older release's,
     * a whole member or frame.  What guards the content are the samples' CRCs: a piece of a gzip
     * member has no checksum of its own, and LZ4's is not computed (that of a whole gzip member
     * is).  Thread-safe. */
    int (*decompress)(bool single, const void *data, size_t size, void *raw, size_t raw_size,
                      struct sheaf_error *err);

    /* The codec's part of codec_stream_*(), below.  stream_end may give SHEAF_END, and no message,
     * for a stream that ends inside a member or frame. */
    int (*stream_open)(struct codec_stream **stream, struct sheaf_error *err);
    int (*stream_push)(struct codec_stream *stream, const void *data, size_t *size, void *raw,
                       size_t *raw_size, struct sheaf_error *err);
    int (*stream_end)(struct codec_stream *stream, struct sheaf_error *err);
    void (*stream_free)(struct codec_stream *stream);
};

/* NULL for SHEAF_CODEC_NONE. */
const struct codec_ops *codec_of(enum sheaf_codec codec);

/* The codec that a stream begins with; SHEAF_CODEC_NONE if it is not compressed. */
enum sheaf_codec codec_detect(const uint8_t *data, size_t size);

/* The size of the skippable frames, which hold no data, that a stream begins with. */
size_t codec_skippable_bytes(const uint8_t *data, size_t size);

/* What compress() may append for a block of `size` raw bytes, at most. */
size_t codec_bound(size_t size);

/* What compresses a stream that begins so, where codec_detect() finds nothing: "xz", "bzip2", ...;
 * NULL if it is not compressed in a way that is known here. */
const char *codec_unread(const uint8_t *data, size_t size);

/* "gzip or lz4", into `text`, which it returns. */
#define CODEC_NAMES_BYTES 80
const char *codec_names(char text[CODEC_NAMES_BYTES]);

/* "zlib 1.2.13", what compresses; "" for no codec.  Returns `text`. */
#define CODEC_LIBRARY_BYTES 64
const char *codec_library(const struct codec_ops *ops, char text[CODEC_LIBRARY_BYTES]);
/* Whether a text from outside may be one. */
bool codec_library_is(const char *text);

/* The codec that a file's name ends with; SHEAF_CODEC_NONE if with none. */
enum sheaf_codec codec_of_name(const char *name);
/* How long the name is without any codec's suffix. */
size_t codec_stem(const char *name);

/* Adds a block, in the order of the shard. */
int codec_total_add(const struct codec_ops *ops, struct codec_total *total,
                    const struct codec_block *block, const void *stored, size_t stored_size,
                    struct sheaf_error *err);
void codec_total_free(struct codec_total *total);

/* ---- Foreign compressed streams -------------------------------------------------------------
 * Sequentially, in bounded memory; any number of members or frames.  Zeros behind a gzip member and
 * LZ4 skippable frames are passed over; LZ4 legacy frames, and frames that need a dictionary, are
 * SHEAF_ERR_UNSUPPORTED. */

/* A codec embeds it in a struct of its own; codec_stream_open() sets it. */
struct codec_stream {
    const struct codec_ops *ops;
    bool skips_checksums;       /* set after opening, for blocks of ours: as decompress() does */
    size_t shown, room;         /* of the push that runs: the bytes given to it, and its room */
    size_t whole_taken, whole_given;    /* of the last push: up to the end of the last member that
                                           ended, so what came out with later damage is good */
    uint64_t taken_bytes;       /* codec_stream_push()'s count */
    uint64_t ended;             /* members or frames: codec_stream_whole()'s count */
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

/* For codecs: a member ended, with so much left of the push's input and room. */
static inline void codec_stream_whole(struct codec_stream *stream, size_t in_left, size_t out_left)
{
    stream->whole_taken = stream->shown - in_left;
    stream->whole_given = stream->room - out_left;
    stream->ended++;
}

#endif
