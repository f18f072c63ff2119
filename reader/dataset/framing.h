/* SPDX-License-Identifier: MIT
 *
 * Walks through a shard from frame to frame (a frame is a stored record), and continues after
 * damage. The walk looks at headers only. The bytes that the walk examines come from one of two
 * files: scan.c reads a file at any offset and skips the bytes between headers. frames.c reads a
 * stream forward and keeps the bytes of the present frame in memory.
 *
 * Two offsets describe the state of the walk. The frame that is being walked through starts at
 * `begin`. The next header to be examined is at `at`. Members of a tar that belong to no sample are
 * skipped.
 *
 * A frame is returned only after the bytes that follow it have been examined: the next frame's
 * header, or the end that the container requires. If a tar ends with a complete member but without
 * an end mark, the error is returned first, and the last sample after the error. */
#ifndef READER_FRAMING_H
#define READER_FRAMING_H

#include "formats/format.h"

struct framing;

/* Bytes of a shard, beginning at the offset framing->at. */
struct shown {
    const uint8_t *data;
    size_t size;
    bool at_end;                    /* the shard ends after these bytes */
};

/* The functions of a provider of bytes, which shows the bytes of a shard to the walk. The
 * provider's struct begins with a struct framing. */
struct framing_bytes {
    /* Shows at least `need` bytes from framing->at on, or all bytes if fewer are left. Bytes before
     * framing->begin will not be needed any more. */
    int (*show)(struct framing *framing, size_t need, struct shown *shown,
                struct sheaf_error *err);
    /* Called before the walk moves past the part of the shard that begins at framing->at. frames.c
     * reads the part into memory here, and scan.c stores the key of a record. */
    int (*take)(struct framing *framing, const struct part *part, struct sheaf_error *err);
    /* Verifies the frame (stored record) from framing->begin to framing->at. The pointer `check` is
     * NULL if frames are not verified. */
    int (*check)(struct framing *framing, struct sheaf_error *err);
};

struct framing {
    const struct framing_bytes *ops;
    const struct format_ops *format;
    struct format_scan scan;
    uint64_t bytes;                 /* size of the shard; UINT64_MAX if unknown */
    /* offset of the present frame: the last one that was found, or the one that is being searched
     * for */
    uint64_t begin;
    uint64_t at;                    /* offset of the part that is examined next */
    /* whether `pending` describes the part at offset `at`, which was already examined */
    bool has_pending;
    struct part pending;
    /* whether the next call returns the error `kept`, which was found after a complete frame
     * (stored record) or after other damage */
    bool has_kept;
    struct sheaf_error kept;
    bool ended;                     /* no frame was found after damage */
    /* whether the next frame (stored record) follows damage, so that its beginning may be
     * missing */
    bool suspect;
    /* whether the error that the shard lacks its end was returned; at most one more frame (stored
     * record) is returned after it */
    bool lacks_end;
    /* if the shard lacks its end: size of the last frame (stored record), which ends at offset
     * `at`; 0 if there is no such frame */
    uint64_t last_bytes;
    /* Set by the provider if a compressed stream is damaged, so that no more bytes follow. Then
     * dead_bytes is the number of stored bytes after the damage, or UINT64_MAX if unknown. */
    bool dead;
    uint64_t dead_bytes;
    uint64_t records;               /* number of frames and bad records that were returned */
    /* Number of bytes after damage in which no frame (stored record) was found. In a damaged
     * compressed stream, stored bytes are counted, otherwise uncompressed bytes. */
    uint64_t lost_bytes;
    /* number of tar members before the last damage that belong to no sample */
    uint64_t passed_over;
};

void framing_open(struct framing *framing, const struct framing_bytes *ops,
                  const struct format_ops *format);
void framing_close(struct framing *framing);

/* Finds the next frame (stored record). Returns SHEAF_OK if there is a frame; it has the bytes from
 * framing->begin up to, but not including, framing->at. Returns SHEAF_END at the end of the shard.
 *
 * Returns SHEAF_ERR_CORRUPT or SHEAF_ERR_TRUNCATED for damage, with offset and record number in the
 * message. Before it returns, the function has already searched for the next frame after the
 * damage. If there is such a frame, the next call returns it. If there is none, the message says
 * that the rest of the shard is lost, and the next call returns SHEAF_END. After any other error,
 * the walk cannot continue. */
int framing_next(struct framing *framing, struct sheaf_error *err);

/* Counts the last `bytes` bytes of the shard as lost, and adds this to the error message. */
void framing_lose(struct framing *framing, uint64_t bytes, struct sheaf_error *err);

/* Returns whether an error code means damage of only a part of the shard, so that the walk through
 * the shard can continue. */
static inline bool framing_is_damage(int code)
{
    return code == SHEAF_ERR_CORRUPT || code == SHEAF_ERR_TRUNCATED;
}

/* Returns whether an error code means bad data, and not for example a failed read. The codes
 * include errors after which the shard cannot be read further. */
static inline bool framing_is_of_data(int code)
{
    return framing_is_damage(code) || code == SHEAF_ERR_LIMIT || code == SHEAF_ERR_UNSUPPORTED;
}

/* Returns the number of tar members that belong to no sample, among the members that were examined
 * so far. */
static inline uint64_t framing_passed_over(const struct framing *framing)
{
    return framing->passed_over + framing->scan.passed_over;
}

#endif
