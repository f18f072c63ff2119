/* SPDX-License-Identifier: MIT
 *
 * Reads the frames of one shard in order, from any source of bytes: for streams, for verifying
 * whole shards, and for indexing foreign ones.
 *
 *     stored bytes --read--> [input] --codec--> [window: ... | frame | next header ...]
 *
 * A frame is given out only when what follows it is seen: the next frame's header, or the end that
 * the container demands.  Of a tar that has no end, but ends with a whole member, the error comes
 * first, and then the last sample, for those who skip what is bad. */
#ifndef READER_FRAMES_H
#define READER_FRAMES_H

#include <pthread.h>

#include "formats/codec.h"
#include "formats/format.h"

/* The next stored bytes, up to `size`; *got == 0 at the end. */
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
    frames_read_fn *read;
    void *context;
    size_t read_bytes;              /* asked for at a time */
    struct buf input;               /* compressed bytes not yet taken in; empty without a codec */
    size_t input_used;
    struct buf window;              /* raw bytes from raw_offset on */
    size_t used;                    /* of the window: given out or skipped already */
    uint64_t raw_offset;            /* of window.data in the raw stream */
    bool at_end;                    /* the source has no more bytes */
    bool dead;                      /* the compressed stream broke: there is no more to come */
    bool is_broken;                 /* it broke with `broken`, behind what is in the window */
    struct sheaf_error broken;
    bool has_kept;                  /* `kept` comes next: a frame that is whole, or other damage,
                                       came before it */
    struct sheaf_error kept;
    bool ended;                     /* nothing was found behind damage */
    bool suspect;                   /* the next frame follows damage, and may lack its start */
    bool lacks_end;                 /* reported already; what follows is the last sample, if any */
    size_t last_size;               /* its size, at `used`; 0: there is none */
    bool has_pending;               /* `pending` is the part at `used`, looked at already */
    struct part pending;
    struct format_scan scan;
    uint64_t records;               /* given out, or found to be bad */
    uint64_t stored_bytes;          /* of the shard; UINT64_MAX: unknown */
    uint64_t stored_read;           /* of them */
    uint64_t lost_bytes;            /* behind damage, up to the end: no record was found there;
                                       of a compressed stream that broke, stored bytes */
    uint64_t passed_over;           /* members before the last damage that are no sample's */
    struct frames_large *large;     /* the caller's, for frames above `limit` of frames_open; or
                                       NULL */
    bool has_large;                 /* whether this reader holds its lock */
    size_t own_limit;               /* of the window, without that memory */
};

/* One frame.  `data` is valid until the next frames_next. */
struct frame {
    const uint8_t *data;
    size_t size;
    uint64_t offset;                /* in the raw stream */
    uint32_t crc;                   /* as format_ops.check gives it */
};

/* `limit`: bytes of the largest frame that is let in.  Set stored_bytes then, if they are known. */
int frames_open(struct frames *f, const struct format_ops *format, enum sheaf_codec codec,
                frames_read_fn *read, void *context, size_t limit, struct sheaf_error *err);

/* SHEAF_OK; SHEAF_END; SHEAF_ERR_CORRUPT or _TRUNCATED, with offset and record number in the
 * message: the next call continues after the damage.  Where that can be has been looked for
 * already: if nowhere, the message says that the rest is lost, and the next call ends.  Any other
 * error is final. */
int frames_next(struct frames *f, struct frame *frame, struct sheaf_error *err);

/* How many members of a tar were no sample's (links, devices, names without key or suffix) up to
 * here. */
uint64_t frames_passed_over(const struct frames *f);

void frames_close(struct frames *f);

#endif
