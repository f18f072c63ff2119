/* SPDX-License-Identifier: MIT
 *
 * Reads the frames (stored records) of one shard in order, from any source of bytes. Used for
 * streams, for verifying whole shards, and for indexing foreign shards. The walk from frame to
 * frame is in framing.h; a struct frames provides its bytes:
 *
 *     stored bytes --read--> [input] --codec--> [window: ... | frame | next header ...] */
#ifndef READER_FRAMES_H
#define READER_FRAMES_H

#include <pthread.h>

#include "formats/codec.h"
#include "reader/dataset/framing.h"

/* Reads the next stored bytes of the shard, at most `size`. Sets *got to 0 at the end. */
typedef int frames_read_fn(void *context, void *data, size_t size, size_t *got,
                           struct sheaf_error *err);

/* Memory for one large frame (stored record) at a time, which several sequential readers share. */
struct frames_large {
    pthread_mutex_t lock;
    size_t limit;                   /* bytes of the largest frame */
};

struct frames {
    struct framing framing;         /* the first member */
    struct codec_stream *codec;     /* NULL: none */
    enum sheaf_codec codec_kind;
    frames_read_fn *read;
    /* Makes the next read start again at the first stored byte, because the bytes that were read
     * before may have been damaged in transit. Returns false if the bytes cannot be read again. The
     * caller sets this pointer after frames_open; NULL means that the bytes cannot be read again.
     * frames_repeat sets the pointer to NULL, so each shard is read again at most once. */
    bool (*again)(void *context);
    void *context;
    size_t limit;                   /* as frames_open has it */
    uint64_t given;                 /* number of the frame or damage that came last */
    /* compressed bytes that are not used yet; empty for an uncompressed shard */
    struct buf input;
    size_t input_used;
    struct buf window;              /* uncompressed bytes, beginning at window_offset */
    uint64_t window_offset;         /* of window.data in the uncompressed stream */
    bool at_end;                    /* the source has no more bytes */
    bool is_broken;                 /* the error `broken` follows the bytes in the window */
    struct sheaf_error broken;
    uint32_t crc;                   /* of the frame found last, as format_ops.check computes it */
    uint64_t stored_bytes;          /* size of the shard; UINT64_MAX if unknown */
    uint64_t stored_read;           /* number of stored bytes that were read */
    /* the caller's memory for frames (stored records) that are larger than the `limit` of
     * frames_open; or NULL */
    struct frames_large *large;
    bool has_large;                 /* whether this reader holds its lock */
    size_t own_limit;               /* size of the window without that memory */
};

/* A stored record. `data` is valid until the next call of frames_next. */
struct frame {
    const uint8_t *data;
    size_t size;
    uint64_t offset;                /* in the uncompressed stream */
    uint32_t crc;                   /* as format_ops.check computes it */
};

/* Opens the reader of a shard's frames (stored records). `limit` is the size of the largest frame
 * that is accepted. */
int frames_open(struct frames *f, const struct format_ops *format, enum sheaf_codec codec,
                frames_read_fn *read, void *context, size_t limit, struct sheaf_error *err);

/* Tells the reader the stored size of the shard, so that it can compute the number of bytes that
 * are lost after damage. May be called after frames_open. */
void frames_set_stored(struct frames *f, uint64_t stored_bytes);

/* Reads the next frame (stored record). The results are those of framing_next. */
int frames_next(struct frames *f, struct frame *frame, struct sheaf_error *err);

/* Reads the shard again, up to and including the frame (stored record) that was returned last.
 * Called if a checksum that is stored outside the shard shows that this frame is damaged. Returns
 * SHEAF_END if the shard cannot be read again. (If frames_next itself finds damage, it reads the
 * shard again once.) */
int frames_repeat(struct frames *f, struct sheaf_error *err);

void frames_close(struct frames *f);

#endif
