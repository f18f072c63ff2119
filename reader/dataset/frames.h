/* SPDX-License-Identifier: MIT
 *
 * Reads the frames of a shard in order. A frame is a record as it is stored in the shard. The bytes
 * come from a function of the caller. Used for streams, for verifying whole shards, and for
 * indexing foreign shards (shards without a manifest).
 *
 * framing.h walks from frame to frame, and a struct frames provides the bytes for it:
 *
 *     stored bytes --read--> [input] --codec--> [window: ... | frame | next header ...] */
#ifndef READER_FRAMES_H
#define READER_FRAMES_H

#include <pthread.h>

#include "formats/codec.h"
#include "reader/dataset/framing.h"

/* A function of the caller that reads the next stored bytes of the shard, at most `size` bytes.
 * Sets *got to the number of bytes that it has read, which is 0 at the end of the shard. */
typedef int frames_read_fn(void *context, void *data, size_t size, size_t *got,
                           struct sheaf_error *err);

/* Memory for large frames (stored records). Several readers share it, and only one of them can use
 * it at a time. */
struct frames_large {
    pthread_mutex_t lock;
    size_t limit;                   /* size in bytes of the largest frame (stored record) */
};

struct frames {
    struct framing framing;         /* must be the first member */
    struct codec_stream *codec;     /* NULL if the shard is not compressed */
    enum sheaf_codec codec_kind;
    frames_read_fn *read;
    /* A function of the caller. It makes the next read start again at the first stored byte of the
     * shard, because bytes may have been damaged on their way over the network. Returns false if
     * this is not possible.
     *
     * The caller may set `again` after frames_open. `again` is NULL if the shard cannot be read
     * again. frames_repeat sets it to NULL, so each shard is read again at most once. */
    bool (*again)(void *context);
    void *context;
    size_t limit;                   /* largest frame (stored record) that is accepted, in bytes */
    /* Number of frames, good or damaged, before the frame that frames_next has returned last. When
     * frames_repeat reads the shard again, it stops after this number of frames. */
    uint64_t given;
    /* compressed bytes that were read but not decompressed yet; empty if the shard is not
     * compressed */
    struct buf input;
    size_t input_used;
    struct buf window;              /* uncompressed bytes, beginning at window_offset */
    uint64_t window_offset;         /* offset of window.data in the uncompressed stream */
    bool at_end;                    /* true if the source has no more bytes */
    /* true if the stream is damaged directly after the bytes in the window (the buffer for the
     * present part of the stream); `broken` is the error */
    bool is_broken;
    struct sheaf_error broken;
    /* checksum of the frame that was found last (format_ops.check) */
    uint32_t crc;
    uint64_t stored_bytes;          /* size of the shard; UINT64_MAX if unknown */
    uint64_t stored_read;           /* number of stored bytes that were read */
    /* Memory for frames (stored records) that are larger than the `limit` of frames_open. The
     * caller sets this pointer; it may be NULL. */
    struct frames_large *large;
    bool has_large;                 /* true if this reader holds the lock of `large` */
    /* Largest size in bytes of the window, the buffer for the present part of the stream. A frame
     * that needs a larger window uses the memory `large`. */
    size_t own_limit;
};

/* A frame, which is a record as it is stored in the shard. `data` is valid until the next call of
 * frames_next. */
struct frame {
    const uint8_t *data;
    size_t size;
    uint64_t offset;                /* offset of the frame in the uncompressed stream */
    uint32_t crc;                   /* checksum of the frame (format_ops.check) */
};

/* Returns SHEAF_OK if a frame (stored record) of `bytes` bytes may be read with the limit `limit`
 * (of frames_open or of struct frames_large). Otherwise returns SHEAF_ERR_LIMIT with the reason
 * SHEAF_REASON_STREAM_MEMORY. The buffer of a reader is larger than the limit, so slightly larger
 * frames may also be read. */
int frames_allow(uint64_t bytes, size_t limit, struct sheaf_error *err);

/* Opens a reader for the frames (stored records) of a shard. `limit` is the size in bytes of the
 * largest frame that is accepted. */
int frames_open(struct frames *f, const struct format_ops *format, enum sheaf_codec codec,
                frames_read_fn *read, void *context, size_t limit, struct sheaf_error *err);

/* Sets the size of the stored shard in bytes. With this size, messages about damage can say how
 * many bytes are lost. May be called after frames_open. */
void frames_set_stored(struct frames *f, uint64_t stored_bytes);

/* Reads the next frame (stored record) of the shard into *frame. Returns the same codes as
 * framing_next. */
int frames_next(struct frames *f, struct frame *frame, struct sheaf_error *err);

/* Reads the shard again from its start, up to the frame (stored record) that frames_next has
 * returned last. The next call of frames_next returns this frame again. Called if the checksum of
 * the frame differs from the checksum in the index. (If frames_next itself finds damage, it reads
 * the shard again without such a call.)
 *
 * Each shard is read again at most once. Returns SHEAF_END if the shard cannot be read again. */
int frames_repeat(struct frames *f, struct sheaf_error *err);

void frames_close(struct frames *f);

#endif
