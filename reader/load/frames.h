/* SPDX-License-Identifier: MIT
 *
 * Reads the frames of one shard in order, from any source of bytes. Used for streams, for verifying
 * whole shards, and for indexing foreign shards.
 *
 *     stored bytes --read--> [input] --codec--> [window: ... | frame | next header ...]
 *
 * A frame is returned only when the bytes after it have been seen: the next frame's header, or the
 * end that the container demands. If a tar has no end mark but ends with a complete member, the
 * error is returned first, and then the last sample, for callers that skip damage. */
#ifndef READER_FRAMES_H
#define READER_FRAMES_H

#include <pthread.h>

#include "formats/codec.h"
#include "formats/format.h"

/* Reads the next stored bytes, at most `size`. Sets *got to 0 at the end. */
typedef int frames_read_fn(void *context, void *data, size_t size, size_t *got,
                           struct sheaf_error *err);

/* Memory for one large frame at a time. Several sequential readers share it. */
struct frames_large {
    pthread_mutex_t lock;
    size_t limit;                   /* bytes of the largest frame */
};

struct frames {
    const struct format_ops *format;
    struct codec_stream *codec;     /* NULL: none */
    enum sheaf_codec codec_kind;
    frames_read_fn *read;
    /* Goes back to the first stored byte and forgets the bytes that were read, because they
     * may have been damaged in transit. Returns false if the bytes cannot be read again. The
     * caller sets it after frames_open; NULL means never. It is called at most once: the bytes
     * are then read by a new frames_open, which sets it to NULL. */
    bool (*again)(void *context);
    void *context;
    size_t limit;                   /* as frames_open has it */
    uint64_t given;                 /* number of the frame or damage that came last */
    size_t read_bytes;              /* number of bytes requested at a time */
    struct buf input;               /* compressed bytes that are not yet used; empty without a
                                       codec */
    size_t input_used;
    struct buf window;              /* uncompressed bytes, beginning at raw_offset */
    size_t used;                    /* bytes of the window that were returned or skipped */
    uint64_t raw_offset;            /* of window.data in the uncompressed stream */
    bool at_end;                    /* the source has no more bytes */
    bool dead;                      /* the compressed stream is damaged, and no more bytes follow */
    bool is_broken;                 /* the error `broken` follows the bytes in the window */
    struct sheaf_error broken;
    bool has_kept;                  /* the error `kept` is returned next, after a complete frame
                                       or other damage */
    struct sheaf_error kept;
    bool ended;                     /* no frame was found after damage */
    bool suspect;                   /* the next frame follows damage and may lack its start */
    bool lacks_end;                 /* the missing end was reported; only a last sample may
                                       follow */
    size_t last_size;               /* size of the last sample, at `used`; 0 if there is none */
    bool has_pending;               /* `pending` is the part at `used`, which was already
                                       examined */
    struct part pending;
    struct format_scan scan;
    uint64_t records;               /* returned, or found to be bad */
    uint64_t stored_bytes;          /* size of the shard; UINT64_MAX if unknown */
    uint64_t stored_read;           /* of them */
    uint64_t lost_bytes;            /* bytes after damage in which no record was found; stored
                                       bytes if the compressed stream is damaged */
    uint64_t passed_over;           /* members before the last damage that belong to no sample */
    struct frames_large *large;     /* the caller's memory for frames above the `limit` of
                                       frames_open; or NULL */
    bool has_large;                 /* whether this reader holds its lock */
    size_t own_limit;               /* size of the window without that memory */
};

/* A frame. `data` is valid until the next call of frames_next. */
struct frame {
    const uint8_t *data;
    size_t size;
    uint64_t offset;                /* in the uncompressed stream */
    uint32_t crc;                   /* as format_ops.check computes it */
};

/* Opens the reader. `limit` is the size of the largest frame that is accepted. If the size of the
 * shard is known, set stored_bytes afterwards. */
int frames_open(struct frames *f, const struct format_ops *format, enum sheaf_codec codec,
                frames_read_fn *read, void *context, size_t limit, struct sheaf_error *err);

/* Reads the next frame. Returns SHEAF_END at the end. Returns SHEAF_ERR_CORRUPT or
 * SHEAF_ERR_TRUNCATED if the data are damaged; the message has offset and record number, and the
 * next call continues after the damage. The search for the next frame has then already been made.
 * If it found none, the message says that the rest is lost, and the next call returns SHEAF_END.
 * Any other error is final. */
int frames_next(struct frames *f, struct frame *frame, struct sheaf_error *err);

/* Goes back to the frame that came last, if bytes can be read again. The caller must have found it
 * damaged by a checksum from elsewhere. Returns SHEAF_END if bytes cannot be read again.
 * (frames_next itself goes back once if it finds damage.) */
int frames_repeat(struct frames *f, struct sheaf_error *err);

/* number of tar members before the last damage that belong to no sample */
uint64_t frames_passed_over(const struct frames *f);

void frames_close(struct frames *f);

#endif
