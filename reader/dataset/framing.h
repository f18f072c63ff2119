/* SPDX-License-Identifier: MIT
 *
 * Walks through a shard from frame to frame, and continues after damage. A frame is a record as it
 * is stored in the shard. In a tar, a frame has the adjacent members (files) of one sample, and
 * members that belong to no sample are skipped. The walk looks only at headers.
 *
 * One of two files provides the bytes. scan.c reads a file at any offset, and skips the bytes
 * between headers. frames.c reads a stream from its start, and keeps the bytes of the present frame
 * in memory.
 *
 * A frame is returned only when the bytes after it have been examined: the header of the next
 * frame, or the end mark that the container requires.
 *
 * A tar may end after a complete member, but without an end mark. In this case, framing_next first
 * returns the error, and then the last sample. */
#ifndef READER_FRAMING_H
#define READER_FRAMING_H

#include "formats/format.h"

struct framing;

/* Bytes of a shard, beginning at the offset framing->at. */
struct shown {
    const uint8_t *data;
    size_t size;
    bool at_end;                    /* true if the shard ends after these bytes */
};

/* Functions that provide the bytes of a shard while framing.c walks from record to record. scan.c
 * and frames.c each implement them. The struct of such a provider must begin with a struct framing,
 * because the functions get only this pointer. */
struct framing_bytes {
    /* Sets *shown to the bytes of the shard from offset framing->at on. Must provide at least
     * `need` bytes, or the rest of the shard if it is shorter. May drop the bytes before
     * framing->begin. */
    int (*show)(struct framing *framing, size_t need, struct shown *shown,
                struct sheaf_error *err);
    /* Called before the walk moves past the part (a header or a record) that begins at framing->at.
     * frames.c reads the part into memory in this function, and scan.c stores the record's key. */
    int (*take)(struct framing *framing, const struct part *part, struct sheaf_error *err);
    /* Verifies the content of the frame (stored record) from framing->begin to framing->at. `check`
     * is NULL for scan.c, which reads only headers and cannot verify frames. */
    int (*check)(struct framing *framing, struct sheaf_error *err);
};

struct framing {
    const struct framing_bytes *ops;
    const struct format_ops *format;
    struct format_scan scan;
    uint64_t bytes;                 /* size of the shard; UINT64_MAX if unknown */
    /* Offset at which the present frame (stored record) begins. It is set when the search for the
     * frame begins, and stays the same until the next search. */
    uint64_t begin;
    uint64_t at;                    /* offset of the part that is examined next */
    /* true if the part at offset `at` was already examined, and `pending` describes it */
    bool has_pending;
    struct part pending;
    /* True if the next call must return the error `kept`. This error occurred after a complete
     * frame (stored record), or during the search for a frame after other damage. */
    bool has_kept;
    struct sheaf_error kept;
    /* The damage that was found last, without its place, and the offset at which it was found. */
    struct sheaf_error fault;
    uint64_t fault_offset;
    bool ended;                     /* true if no frame was found after damage */
    /* true if the next frame (stored record) comes directly after damage, so its beginning may be
     * missing */
    bool suspect;
    /* True if framing_next has already returned the error that the shard lacks its end mark. The
     * next call then returns the last frame (stored record) if it is complete. After that,
     * framing_next returns SHEAF_END. */
    bool lacks_end;
    /* If the shard lacks its end mark: size in bytes of the last frame (stored record), which ends
     * at offset `at` and must still be returned. Otherwise 0. */
    uint64_t last_bytes;
    /* Set by the provider of the bytes if a compressed stream is damaged, so that the rest of it
     * cannot be decompressed. dead_bytes is then the number of stored bytes in this rest, or
     * UINT64_MAX if it is unknown. */
    bool dead;
    uint64_t dead_bytes;
    uint64_t records;               /* number of frames and bad records that were returned */
    /* Number of bytes that were lost because no frame (stored record) was found in them after
     * damage. If a compressed stream is damaged, stored bytes are counted, and otherwise
     * uncompressed bytes. */
    uint64_t lost_bytes;
    /* number of members of a tar that belong to no sample, counted up to the last damage */
    uint64_t passed_over;
};

void framing_open(struct framing *framing, const struct framing_bytes *ops,
                  const struct format_ops *format);
void framing_close(struct framing *framing);

/* Finds the next frame (stored record). The frame begins at framing->begin and ends before
 * framing->at. Returns SHEAF_END at the end of the shard.
 *
 * Returns SHEAF_ERR_CORRUPT or SHEAF_ERR_TRUNCATED if the shard is damaged. The message contains
 * the offset and the number of the record. Before it returns, the function searches for a frame
 * after the damage. If it has found one, the next call returns this frame. Otherwise the message
 * says that the rest of the shard is lost, and the next call returns SHEAF_END.
 *
 * After any other error, the walk cannot continue. */
int framing_next(struct framing *framing, struct sheaf_error *err);

/* Counts the last `bytes` bytes of the shard as lost. Adds to the error message that they are lost.
 */
void framing_lose(struct framing *framing, uint64_t bytes, struct sheaf_error *err);

/* Returns true if the error `code` means that only a part of the shard is damaged. In this case,
 * the walk through the shard can continue after the damage. */
static inline bool framing_is_damage(int code)
{
    return code == SHEAF_ERR_CORRUPT || code == SHEAF_ERR_TRUNCATED;
}

/* Returns true if the cause of the error `code` is the content of the shard: damage, or a record
 * that this library cannot read. Returns false for other causes, such as a failed read. */
static inline bool framing_is_of_data(int code)
{
    return framing_is_damage(code) || code == SHEAF_ERR_LIMIT || code == SHEAF_ERR_UNSUPPORTED;
}

/* Returns the number of members of a tar that belong to no sample, counted up to the present
 * position. */
static inline uint64_t framing_passed_over(const struct framing *framing)
{
    return framing->passed_over + framing->scan.passed_over;
}

#endif
