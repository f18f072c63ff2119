/* SPDX-License-Identifier: MIT
 *
 * The table of codecs: gzip, LZ4 frames, zstd frames. A codec compresses the bytes of a shard of
 * any container (tar, TFRecord, RecordIO).
 *
 * A shard compressed by gzip or LZ4 is a single member or frame, because many readers stop after
 * the first one. A zstd shard consists of many frames. Each shard is cut into BLOCKS of a few MiB
 * of container bytes, and each block begins with a sample. No block refers to data of an earlier
 * block (deflate is flushed to a byte boundary; LZ4 blocks are independent), so a block can be
 * compressed and decompressed without the others. Older releases wrote one member or frame per
 * block. This release still reads such shards but no longer writes them. */
#ifndef FORMATS_CODEC_H
#define FORMATS_CODEC_H

#include <stdbool.h>

#include "base/buf.h"
#include "sheaf.h"

struct codec_stream;

/* State that is gathered from all blocks of a shard and needed to write the shard's end. It must be
 * zero-initialised and released by codec_total_free(). */
struct codec_total {
    uint64_t raw_bytes;
    uint32_t crc;           /* gzip's CRC-32 of all raw bytes */
    /* table of the shard's blocks, for codecs that write such a table at the end of a shard */
    struct buf table;
};

/* One block's contribution to the total. */
struct codec_block {
    uint64_t raw_bytes;
    uint32_t crc;
};

struct codec_ops {
    enum sheaf_codec id;
    const char *name;           /* "gzip" */
    const char *suffix;         /* ".gz" */
    const char *piece;          /* "member" or "frame": the unit of which streams consist */
    const char *library;        /* "zlib", */
    /* returns the running version of the compression library, on which the compressed bytes
     * depend */
    const char *(*version)(void);
    /* whether a shard is a single gzip member or LZ4 frame, so that its blocks are pieces of this
     * member or frame (see decompress()). */
    bool single_member;
    /* Returns whether a stream with these first bytes is compressed by this codec. */
    bool (*detect)(const uint8_t *data, size_t size);
    /* Appends the bytes before the first block. */
    int (*begin)(struct buf *out, struct sheaf_error *err);
    /* Appends one compressed block to `out`, which grows by at most codec_bound(size) bytes. The
     * compressed bytes depend only on the data and on the version of the compression library.
     * Thread-safe. */
    int (*compress)(const void *data, size_t size, struct buf *out, struct codec_block *block,
                    struct sheaf_error *err);
    /* Adds a block and its compressed bytes to the total. `add` is NULL if the codec needs only the
     * number of raw bytes. */
    int (*add)(struct codec_total *total, const struct codec_block *block, const void *stored,
               size_t stored_size, struct sheaf_error *err);
    /* Appends the bytes after the last block. */
    int (*end)(const struct codec_total *total, struct buf *out, struct sheaf_error *err);
    /* Decompresses one block whose raw size is known. Returns SHEAF_ERR_CORRUPT unless exactly
     * `size` bytes decompress to exactly `raw_size` bytes. `single` tells that the block is a piece
     * of a member or frame; otherwise it is a whole member or frame, as older releases wrote it.
     * The CRCs of the samples protect the content: a piece of a gzip member has no checksum of its
     * own, and LZ4's checksum is not verified. (The checksum of a whole gzip member is verified.)
     * Thread-safe. */
    int (*decompress)(bool single, const void *data, size_t size, void *raw, size_t raw_size,
                      struct sheaf_error *err);

    /* The codec's implementation of the functions codec_stream_*() below. stream_end may return
     * SHEAF_END without a message if a stream ends inside a member or frame. */
    int (*stream_open)(struct codec_stream **stream, struct sheaf_error *err);
    int (*stream_push)(struct codec_stream *stream, const void *data, size_t *size, void *raw,
                       size_t *raw_size, struct sheaf_error *err);
    int (*stream_end)(struct codec_stream *stream, struct sheaf_error *err);
    void (*stream_free)(struct codec_stream *stream);
};

/* NULL for SHEAF_CODEC_NONE. */
const struct codec_ops *codec_of(enum sheaf_codec codec);

/* Returns the codec of a stream that begins with these bytes, or SHEAF_CODEC_NONE if the stream is
 * not compressed by a codec of the table. */
enum sheaf_codec codec_detect(const uint8_t *data, size_t size);

/* Returns the total size of the skippable frames at the beginning of a stream. Such frames hold no
 * data of the stream. */
size_t codec_skippable_bytes(const uint8_t *data, size_t size);

/* Returns the largest number of bytes that compress() may append for a block of `size` raw
 * bytes. */
size_t codec_bound(size_t size);

/* Returns the name of the compression ("xz", "bzip2", ...) if a stream with these first bytes has a
 * compression that Sheaf recognises but cannot decompress. Returns NULL otherwise. */
const char *codec_unread(const uint8_t *data, size_t size);

/* Writes the names of all codecs, as in "gzip or lz4", into `text` and returns `text`. */
#define CODEC_NAMES_BYTES 80
const char *codec_names(char text[CODEC_NAMES_BYTES]);

/* Writes the name and version of the compression library, as in "zlib 1.2.13", into `text` and
 * returns `text`. The text is empty if there is no codec. */
#define CODEC_LIBRARY_BYTES 64
const char *codec_library(const struct codec_ops *ops, char text[CODEC_LIBRARY_BYTES]);
/* Returns whether a text from outside has the form that codec_library() writes. */
bool codec_library_is(const char *text);

/* Returns the codec whose suffix ends the file's name, or SHEAF_CODEC_NONE if there is none. */
enum sheaf_codec codec_of_name(const char *name);
/* Returns the length of the name without the suffix of a codec. */
size_t codec_stem(const char *name);

/* Adds a block to the total. Blocks must be added in the order in which the shard has them. */
int codec_total_add(const struct codec_ops *ops, struct codec_total *total,
                    const struct codec_block *block, const void *stored, size_t stored_size,
                    struct sheaf_error *err);
void codec_total_free(struct codec_total *total);

/* ---- Foreign compressed streams -------------------------------------------------------------
 * These functions decompress a stream sequentially, in bounded memory, with any number of members
 * or frames. Zeros after a gzip member and LZ4 skippable frames are skipped. LZ4 legacy frames, and
 * frames that need a dictionary, return SHEAF_ERR_UNSUPPORTED. */

/* State of a stream that is being decompressed. A codec embeds it in a struct of its own.
 * codec_stream_open() sets its fields. */
struct codec_stream {
    const struct codec_ops *ops;
    /* The caller may set this after opening if our packer wrote the blocks. The codec's own
     * checksums are then not verified, as in decompress(). */
    bool skips_checksums;
    size_t shown, room;         /* input size and output room of the current push */
    /* Number of input bytes used and output bytes written by the last push, counted up to the
     * end of the last complete member. If damage was found after that end, the output after it
     * may be wrong. */
    size_t whole_taken, whole_given;
    uint64_t taken_bytes;       /* codec_stream_push()'s count */
    uint64_t ended;             /* members or frames: codec_stream_whole()'s count */
};

int codec_stream_open(enum sheaf_codec codec, struct codec_stream **stream,
                      struct sheaf_error *err);
/* Decompresses up to *size bytes of `data` into at most *raw_size bytes of `raw`. Sets *size and
 * *raw_size to the numbers of bytes used and written. If `raw` is not full afterwards, all input
 * was used and all its output was written. Returns SHEAF_ERR_CORRUPT if the data or a checksum is
 * bad, or if the bytes after the last member do not begin another one. */
int codec_stream_push(struct codec_stream *stream, const void *data, size_t *size, void *raw,
                      size_t *raw_size, struct sheaf_error *err);
/* Reports the end of the input. The last push must have left room in `raw`. Returns
 * SHEAF_ERR_TRUNCATED if the stream may not end here. */
int codec_stream_end(struct codec_stream *stream, struct sheaf_error *err);
void codec_stream_free(struct codec_stream *stream);     /* NULL is fine */

/* Called by a codec when a member ends. in_left and out_left are the unused bytes of the push's
 * input and output at this point. */
static inline void codec_stream_whole(struct codec_stream *stream, size_t in_left, size_t out_left)
{
    stream->whole_taken = stream->shown - in_left;
    stream->whole_given = stream->room - out_left;
    stream->ended++;
}

#endif
