/* SPDX-License-Identifier: MIT
 *
 * Reads the frames (stored records) of one shard in order, from any source of bytes. Used for
 * streams, for verifying whole shards, and for indexing foreign shards.
 *
 *     stored bytes --read--> [input] --codec--> [window: ... | frame | next header ...]
 *
 * A frame is returned only after the bytes that follow it have been examined: the next frame's
 * header, or the end that the container requires. If a tar has no end mark but ends with a
 * complete member, the error is returned first, and the last sample after it, for callers that
 * skip damage. */
#ifndef READER_FRAMES_H
#define READER_FRAMES_H

#include <pthread.h>

#include "formats/codec.h"
#include "formats/format.h"

/* Reads the next stored bytes of the shard, at most `size`. Sets *got to 0 at the end. */
typedef int frames_read_fn(void *context, void *data, size_t size, size_t *got,
                           struct sheaf_error *err);

/* Memory for one large frame at a time, which several sequential readers share. */
struct frames_large {
    pthread_mutex_t lock;
    size_t limit;                   /* bytes of the largest frame */
};

struct frames {
    const struct format_ops *format;
    struct codec_stream *codec;     /* NULL: none */
    enum sheaf_codec codec_kind;
    frames_read_fn *read;
    /* Makes the next read start again at the first stored byte, because the bytes that were read
     * before may have been damaged in transit. Returns false if the bytes cannot be read again. The
     * caller sets this pointer after frames_open; NULL means that the bytes cannot be read again.
     * frames_repeat calls the function at most once, because it then opens the struct frames anew,
     * which sets the pointer to NULL. */
    bool (*again)(void *context);
    void *context;
    size_t limit;                   /* as frames_open has it */
    uint64_t given;                 /* number of the frame or damage that came last */
    size_t read_bytes;              /* number of bytes requested at a time */
    /* compressed bytes that are not used yet; empty for an uncompressed shard */
    struct buf input;
    size_t input_used;
    struct buf window;              /* uncompressed bytes, beginning at raw_offset */
    size_t used;                    /* bytes of the window that were returned or skipped */
    uint64_t raw_offset;            /* of window.data in the uncompressed stream */
    bool at_end;                    /* the source has no more bytes */
    /* whether the compressed stream is damaged, so that no more bytes follow */
    bool dead;
    bool is_broken;                 /* the error `broken` follows the bytes in the window */
    struct sheaf_error broken;
    /* whether the next call of frames_next returns the error `kept`, which was found after a
     * complete frame or after other damage */
    bool has_kept;
    struct sheaf_error kept;
    bool ended;                     /* no frame was found after damage */
    /* whether the next frame (stored record) follows damage, so that its beginning may be
     * missing */
    bool suspect;
    /* whether it was reported that the shard lacks its end; at most one more sample is returned
     * after that */
    bool lacks_end;
    /* size of the last sample, which lies at `used`; 0 if there is none */
    size_t last_size;
    /* whether `pending` holds the description of the part at offset `used`, which was already
     * examined */
    bool has_pending;
    struct part pending;
    struct format_scan scan;
    uint64_t records;               /* returned, or found to be bad */
    uint64_t stored_bytes;          /* size of the shard; UINT64_MAX if unknown */
    uint64_t stored_read;           /* of them */
    /* Number of bytes after damage in which no record was found. In a damaged compressed stream,
     * stored bytes are counted, otherwise uncompressed bytes. */
    uint64_t lost_bytes;
    /* number of tar members before the last damage that belong to no sample */
    uint64_t passed_over;
    /* the caller's memory for frames that are larger than the `limit` of frames_open; or NULL */
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

/* Opens the reader. `limit` is the size of the largest frame that is accepted. A caller that knows
 * the size of the shard sets f->stored_bytes after this call. */
int frames_open(struct frames *f, const struct format_ops *format, enum sheaf_codec codec,
                frames_read_fn *read, void *context, size_t limit, struct sheaf_error *err);

/* Reads the next frame. Returns SHEAF_END at the end of the shard. Returns SHEAF_ERR_CORRUPT or
 * SHEAF_ERR_TRUNCATED if data is damaged. The message states offset and record number, and the next
 * call continues after the damage. The search for the next frame has then already been made. If it
 * found no frame, the message says that the rest is lost, and the next call returns SHEAF_END.
 * After any other error, the reader cannot continue. */
int frames_next(struct frames *f, struct frame *frame, struct sheaf_error *err);

/* Reads the shard again, up to and including the frame that was returned last. Called if a checksum
 * that is stored outside the shard shows that this frame is damaged. Returns SHEAF_END if the shard
 * cannot be read again. (If frames_next itself finds damage, it reads the shard again once.) */
int frames_repeat(struct frames *f, struct sheaf_error *err);

/* Returns the number of tar members before the last damage that belong to no sample. */
uint64_t frames_passed_over(const struct frames *f);

void frames_close(struct frames *f);

#endif
