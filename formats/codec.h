/* SPDX-License-Identifier: MIT
 *
 * The interface of a codec (gzip, LZ4 frames, zstd frames). A codec compresses the bytes of a
 * shard, whatever the container of the shard is (tar, TFRecord, RecordIO).
 *
 * A shard is cut into BLOCKS. A block begins with a sample and has a few MiB before compression. It
 * can be compressed and decompressed alone, because no block refers to data of an earlier block.
 *
 * A gzip or LZ4 shard is a single gzip member or LZ4 frame, because many readers stop after the
 * first member or frame. A zstd shard consists of many frames.
 *
 * Older releases wrote one gzip member or LZ4 frame for each block. This release still reads such
 * shards. */
#ifndef FORMATS_CODEC_H
#define FORMATS_CODEC_H

#include <stdbool.h>

#include "base/buf.h"
#include "sheaf.h"

struct codec_stream;

/* Facts about all blocks of a shard, such as their checksum, which the codec writes at the end of
 * the shard. The struct must be zero-initialised. codec_total_free() frees its content. */
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
    /* Returns the version of the compression library at run time. The compressed bytes depend on
     * the version. */
    const char *(*version)(void);
    /* true if the whole shard is a single gzip member or LZ4 frame. A block is then not a member or
     * frame of its own, but only a piece of one (see decompress()). */
    bool single_member;
    /* Returns whether a stream with these first bytes is compressed by this codec. */
    bool (*detect)(const uint8_t *data, size_t size);
    /* Appends the bytes before the first block. */
    int (*begin)(struct buf *out, struct sheaf_error *err);
    /* Compresses one block and appends the result to `out`. `out` grows by at most
     * codec_bound(size) bytes. The compressed bytes depend only on the data and on the version of
     * the compression library. Thread-safe. */
    int (*compress)(const void *data, size_t size, struct buf *out, struct codec_block *block,
                    struct sheaf_error *err);
    /* Adds to the shard's total the facts about one block. `stored` has the compressed bytes of the
     * block. `add` is NULL if the codec needs only the number of raw bytes, which codec_total_add()
     * counts itself. */
    int (*add)(struct codec_total *total, const struct codec_block *block, const void *stored,
               size_t stored_size, struct sheaf_error *err);
    /* Appends the bytes after the last block. */
    int (*end)(const struct codec_total *total, struct buf *out, struct sheaf_error *err);
    /* Decompresses one block whose raw size is known. Returns SHEAF_OK only if the `size` bytes at
     * `data` are exactly one block with `raw_size` raw bytes, and otherwise SHEAF_ERR_CORRUPT.
     * Thread-safe.
     *
     * `single` is true if the block is only a piece of a gzip member or LZ4 frame. It is false if
     * the block is a whole gzip member or LZ4 frame, as in shards of older releases.
     *
     * The checksums of whole gzip members and of zstd frames are verified. The checksums of LZ4
     * blocks are not verified, and a piece of a gzip member has no checksum. In all cases, the
     * reader verifies the CRC of each sample later. */
    int (*decompress)(bool single, const void *data, size_t size, void *raw, size_t raw_size,
                      struct sheaf_error *err);

    /* The four functions with which the codec implements codec_stream_open(), codec_stream_push(),
     * codec_stream_end() and codec_stream_free(). If a stream ends inside a gzip member or a frame,
     * stream_end() may return SHEAF_END and set no error message. codec_stream_end() then sets the
     * message. */
    int (*stream_open)(struct codec_stream **stream, struct sheaf_error *err);
    int (*stream_push)(struct codec_stream *stream, const void *data, size_t *size, void *raw,
                       size_t *raw_size, struct sheaf_error *err);
    int (*stream_end)(struct codec_stream *stream, struct sheaf_error *err);
    void (*stream_free)(struct codec_stream *stream);
};

/* Returns NULL for SHEAF_CODEC_NONE. */
const struct codec_ops *codec_of(enum sheaf_codec codec);

/* Returns the codec of a stream that begins with the `size` bytes at `data`. Returns
 * SHEAF_CODEC_NONE if no codec of the table has compressed the stream. */
enum sheaf_codec codec_detect(const uint8_t *data, size_t size);

/* Returns the total size of the skippable frames at the beginning of `data`. LZ4 and zstd streams
 * may contain such frames. Decoders ignore their content. */
size_t codec_skippable_bytes(const uint8_t *data, size_t size);

/* Returns the largest number of bytes that a codec's compress() may append for a block of `size`
 * uncompressed bytes. */
size_t codec_bound(size_t size);

/* Returns the name of the compression ("xz", "bzip2", ...) of a stream with these first bytes, if
 * Sheaf recognises the compression but cannot decompress it. Returns NULL otherwise. */
const char *codec_unread(const uint8_t *data, size_t size);

#define CODEC_NAMES_BYTES 80
/* Writes the names of all codecs, as in "gzip or lz4", into `text` and returns `text`. */
const char *codec_names(char text[CODEC_NAMES_BYTES]);

#define CODEC_LIBRARY_BYTES 64
/* Writes the name and version of the codec's compression library, as in "zlib 1.2.13", into `text`
 * and returns `text`. The text is empty if `ops` is NULL. */
const char *codec_library(const struct codec_ops *ops, char text[CODEC_LIBRARY_BYTES]);
/* Returns whether `text` has the form that codec_library() writes: "NAME VERSION". Used to check a
 * text that was read from a file. */
bool codec_library_is(const char *text);

/* Returns the codec whose suffix (such as ".gz") is at the end of the file name. Returns
 * SHEAF_CODEC_NONE if no codec has such a suffix. */
enum sheaf_codec codec_of_name(const char *name);
/* Returns the length of a file name without a codec's suffix: 5 for "a.tar.gz". */
size_t codec_stem(const char *name);

/* Adds the facts about one block to the shard's total. The caller must add the blocks in the order
 * in which they are in the shard. */
int codec_total_add(const struct codec_ops *ops, struct codec_total *total,
                    const struct codec_block *block, const void *stored, size_t stored_size,
                    struct sheaf_error *err);
void codec_total_free(struct codec_total *total);

/* ---- Foreign compressed streams -------------------------------------------------------------
 * These functions decompress a stream sequentially, in bounded memory, with any number of members
 * or frames. Zeros after a gzip member and LZ4 skippable frames are skipped. LZ4 legacy frames, and
 * frames that need a dictionary, return SHEAF_ERR_UNSUPPORTED. */

/* State of a stream that is being decompressed. Each codec allocates a larger struct, which begins
 * with this struct. codec_stream_open() sets the fields. */
struct codec_stream {
    const struct codec_ops *ops;
    /* true if the codec need not verify its own checksums. A reader sets this, after
     * codec_stream_open(), for a shard that our packer wrote. The reader later verifies the CRC of
     * each sample instead, which is faster. */
    bool skips_checksums;
    size_t shown, room;         /* input size and output room of the current push */
    /* Counts of the last push (call of codec_stream_push), up to the end of the last gzip member or
     * frame that it completed. whole_taken counts bytes of the input, and whole_given counts bytes
     * of the output. If the push found damage, only the first whole_given bytes of its output are
     * certainly correct. */
    size_t whole_taken, whole_given;
    uint64_t taken_bytes;       /* codec_stream_push()'s count */
    uint64_t ended;             /* members or frames: codec_stream_whole()'s count */
};

int codec_stream_open(enum sheaf_codec codec, struct codec_stream **stream,
                      struct sheaf_error *err);
/* Decompresses up to *size bytes of `data` into at most *raw_size bytes of `raw`. Sets *size to the
 * number of bytes used and *raw_size to the number of bytes written. If there is still room in
 * `raw` afterwards, all input was used and the whole output of this input was written. Returns
 * SHEAF_ERR_CORRUPT if the data or a checksum is bad, or if the bytes after a gzip member or frame
 * do not begin a new one. */
int codec_stream_push(struct codec_stream *stream, const void *data, size_t *size, void *raw,
                      size_t *raw_size, struct sheaf_error *err);
/* Tells the codec that the input has ended. The output buffer of the last codec_stream_push() must
 * not have been full afterwards, because the codec might then still have output. Returns
 * SHEAF_ERR_TRUNCATED if the stream is not complete. */
int codec_stream_end(struct codec_stream *stream, struct sheaf_error *err);
void codec_stream_free(struct codec_stream *stream);     /* NULL is fine */

/* Records that a gzip member or frame has ended. Only codecs call this function. in_left is the
 * number of input bytes that the current push (call of codec_stream_push) has not used yet.
 * out_left is the number of bytes that still fit into its output buffer. */
static inline void codec_stream_whole(struct codec_stream *stream, size_t in_left, size_t out_left)
{
    stream->whole_taken = stream->shown - in_left;
    stream->whole_given = stream->room - out_left;
    stream->ended++;
}

#endif
