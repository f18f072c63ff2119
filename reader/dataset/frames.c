/* SPDX-License-Identifier: MIT
 *
 * Reads the frames of a shard in order; see frames.h. A frame is a record as it is stored in the
 * shard. */
#include "reader/dataset/frames.h"

#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"

/* Number of bytes that are read and decompressed at once. This is small enough for the CPU's cache,
 * and large enough that the cost of system calls does not matter. */
#define PIECE_BYTES ((size_t)256 << 10)

/* ---- Large frames ---------------------------------------------------------------------------- */

/* Prepares for reading a frame (stored record) of `bytes` bytes into the window, the buffer for the
 * present part of the uncompressed stream. A frame that is too large for the window needs the
 * memory for large frames, which all readers share. In this case, waits until no other reader uses
 * this memory. */
static void frames_take_large(struct frames *f, uint64_t bytes)
{
    if (f->large == NULL || f->has_large || bytes <= f->own_limit - 4 * PIECE_BYTES)
        return;
    pthread_mutex_lock(&f->large->lock);
    f->has_large = true;
    f->window.limit = MAX(f->own_limit, f->large->limit + 4 * PIECE_BYTES);
}

/* Gives back the memory for large frames, which all readers share. Called when a large frame
 * (stored record) is no longer needed. Copies the bytes after this frame to a new window (buffer)
 * of the usual size. */
static int give_large(struct frames *f, struct sheaf_error *err)
{
    const uint64_t offset = f->framing.at - f->framing.last_bytes;
    const size_t used = (size_t)MIN(offset - f->window_offset, (uint64_t)f->window.size);
    struct buf window = BUF_INIT(f->own_limit);
    int code;

    if (!f->has_large || f->window.size - used > f->own_limit - PIECE_BYTES)
        return SHEAF_OK;
    code = buf_append(&window, f->window.data + used, f->window.size - used, err);
    if (code != SHEAF_OK)
        return code;
    buf_free(&f->window);
    f->window = window;
    f->window_offset += used;
    f->has_large = false;
    pthread_mutex_unlock(&f->large->lock);
    return SHEAF_OK;
}

/* Drops the bytes of the window that are no longer needed, and moves the other bytes to its
 * beginning. The window is the buffer that holds the present part of the uncompressed stream. */
static void compact(struct frames *f)
{
    const size_t used = (size_t)(f->framing.begin - f->window_offset);

    if (used == 0)
        return;
    memmove(f->window.data, f->window.data + used, f->window.size - used);
    f->window.size -= used;
    f->window_offset += used;
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* Reads more stored bytes. */
static int read_stored(struct frames *f, void *data, size_t *got, struct sheaf_error *err)
{
    const int code = f->read(f->context, data, PIECE_BYTES, got, err);

    if (code == SHEAF_OK)
        f->stored_read += *got;
    return code;
}

static int fill_input(struct frames *f, bool *ended, struct sheaf_error *err)
{
    size_t got;
    int code = buf_reserve(&f->input, PIECE_BYTES - f->input.size, err);

    *ended = false;
    if (code != SHEAF_OK || f->input_used < f->input.size)
        return code;
    code = read_stored(f, f->input.data, &got, err);
    if (code != SHEAF_OK)
        return code;
    f->input.size = got;
    f->input_used = 0;
    *ended = got == 0;
    return SHEAF_OK;
}

/* Handles damage in the compressed stream. The stream consists of members, which are compressed
 * separately. One call of the codec may have delivered bytes of several good members and then of a
 * damaged member. Keeps the bytes of the good members, and drops the bytes of the damaged member.
 *
 * If there are no good members, returns the error. Otherwise stores the error, and a later call
 * returns it after the bytes of the good members. */
static int keep_whole(struct frames *f, struct sheaf_error *err)
{
    f->input_used += f->codec->whole_taken;
    f->window.size += f->codec->whole_given;
    if (f->codec->whole_given == 0)
        return err->code;
    f->broken = *err;
    f->is_broken = true;
    return SHEAF_OK;
}

/* Appends more decompressed bytes to the window. */
static int unpack_more(struct frames *f, struct sheaf_error *err)
{
    const size_t before = f->window.size;

    if (f->is_broken) {
        *err = f->broken;
        return err->code;
    }
    while (f->window.size == before && !f->at_end) {
        bool ended;
        size_t taken, given = PIECE_BYTES;
        int code = fill_input(f, &ended, err);

        if (code != SHEAF_OK)
            return code;
        taken = f->input.size - f->input_used;
        code = codec_stream_push(f->codec, f->input.data + f->input_used, &taken,
                                 f->window.data + f->window.size, &given, err);
        if (code != SHEAF_OK)
            return keep_whole(f, err);
        f->input_used += taken;
        f->window.size += given;
        if (ended && given == 0) {
            f->at_end = true;
            return codec_stream_end(f->codec, err);
        }
    }
    return SHEAF_OK;
}

/* Returns the number of stored bytes that were not decompressed yet. Returns UINT64_MAX if this
 * number is unknown. */
static uint64_t stored_left(const struct frames *f)
{
    return f->stored_bytes == UINT64_MAX ? UINT64_MAX
         : f->stored_bytes - f->stored_read + f->input.size - f->input_used;
}

/* Appends more bytes to the window, or sets at_end. */
static int frames_read_more(struct frames *f, struct sheaf_error *err)
{
    size_t got;
    int code;

    if (f->window.capacity - f->window.size < PIECE_BYTES)
        compact(f);
    code = buf_reserve(&f->window, PIECE_BYTES, err);
    if (code != SHEAF_OK)
        return err_set(err, SHEAF_ERR_LIMIT, "a frame is larger than the %zu bytes of memory that "
                       "a sample may take here", f->window.limit - 4 * PIECE_BYTES);
    if (f->codec != NULL) {
        code = unpack_more(f, err);
        if (code != SHEAF_OK) {     /* Nothing can be decompressed after damage. */
            f->at_end = f->framing.dead = true;
            f->framing.dead_bytes = stored_left(f);
        }
        return code;
    }
    code = read_stored(f, f->window.data + f->window.size, &got, err);
    if (code != SHEAF_OK)
        return code;
    f->window.size += got;
    f->at_end = got == 0;
    return SHEAF_OK;
}

/* ---- What the walk needs ----------------------------------------------------------------------*/

/* Implements framing_bytes.show. */
static int frames_show(struct framing *w, size_t need, struct shown *shown, struct sheaf_error *err)
{
    struct frames *f = (struct frames *)w;

    while (f->window_offset + f->window.size - w->at < need && !f->at_end) {
        const int code = frames_read_more(f, err);

        if (code != SHEAF_OK)
            return code;
    }
    *shown = (struct shown){ f->window.data + (w->at - f->window_offset),
                             f->window.size - (size_t)(w->at - f->window_offset), f->at_end };
    return SHEAF_OK;
}

int frames_allow(uint64_t bytes, size_t limit, struct sheaf_error *err)
{
    if (bytes <= limit + 4 * PIECE_BYTES)
        return SHEAF_OK;
    return err_because(err, err_set(err, SHEAF_ERR_LIMIT, "a frame of %" PRIu64 " bytes is larger "
                                    "than the %zu bytes of memory that a sample may take here",
                                    bytes, limit), SHEAF_REASON_STREAM_MEMORY);
}

/* Implements framing_bytes.take for streams. Reads until the whole part (a header or a record) is
 * in the window, the buffer that holds the present part of the uncompressed stream. */
static int frames_take(struct framing *w, const struct part *part, struct sheaf_error *err)
{
    struct frames *f = (struct frames *)w;
    struct shown shown;
    int code;

    frames_take_large(f, w->at - w->begin + part->size);
    code = frames_allow(part->size, f->window.limit - 4 * PIECE_BYTES, err);
    if (code != SHEAF_OK)
        return code;
    code = frames_show(w, (size_t)part->size, &shown, err);
    if (code == SHEAF_OK && shown.size < part->size)
        code = err_set(err, SHEAF_ERR_TRUNCATED, "the shard ends %zu byte%s after this, expected "
                       "%" PRIu64 " byte%s", shown.size, plural(shown.size), part->size,
                       plural(part->size));
    return code;
}

static const uint8_t *frame_data(const struct frames *f)
{
    return f->window.data + (f->framing.begin - f->window_offset);
}

/* Implements framing_bytes.check. */
static int frames_check(struct framing *w, struct sheaf_error *err)
{
    struct frames *f = (struct frames *)w;

    return w->format->check(frame_data(f), (size_t)(w->at - w->begin), &f->crc, err);
}

static const struct framing_bytes stream_bytes = { .show = frames_show, .take = frames_take,
    .check = frames_check };

/* ---- Frames ---------------------------------------------------------------------------------- */

int frames_open(struct frames *f, const struct format_ops *format, enum sheaf_codec codec,
                frames_read_fn *read, void *context, size_t limit, struct sheaf_error *err)
{
    memset(f, 0, sizeof(*f));
    framing_open(&f->framing, &stream_bytes, format);
    f->codec_kind = codec;
    f->limit = limit;
    f->read = read;
    f->context = context;
    /* The window (the buffer for a part of the stream) must have room for one frame (stored record)
     * and the header after it. 4 pieces are more than this header and the piece that is read
     * next need. */
    f->own_limit = limit + 4 * PIECE_BYTES;
    f->window.limit = f->own_limit;
    f->input.limit = PIECE_BYTES;
    f->stored_bytes = UINT64_MAX;
    if (codec == SHEAF_CODEC_NONE)
        return SHEAF_OK;
    return codec_stream_open(codec, &f->codec, err);
}

void frames_set_stored(struct frames *f, uint64_t stored_bytes)
{
    f->stored_bytes = stored_bytes;
    f->framing.bytes = f->codec == NULL ? stored_bytes : UINT64_MAX;
}

void frames_close(struct frames *f)
{
    if (f->has_large)
        pthread_mutex_unlock(&f->large->lock);
    f->has_large = false;
    codec_stream_free(f->codec);
    framing_close(&f->framing);
    buf_free(&f->input);
    buf_free(&f->window);
    f->codec = NULL;
}

static int frames_do_next(struct frames *f, struct frame *frame, struct sheaf_error *err)
{
    const struct framing *w = &f->framing;
    int code = give_large(f, err);

    if (code == SHEAF_OK)
        code = framing_next(&f->framing, err);
    if (code == SHEAF_OK)
        *frame = (struct frame){ frame_data(f), (size_t)(w->at - w->begin), w->begin, f->crc };
    return code;
}

int frames_repeat(struct frames *f, struct sheaf_error *err)
{
    const struct frames before = *f;
    struct frame frame;
    int code;

    if (f->again == NULL || !f->again(f->context))
        return SHEAF_END;
    frames_close(f);
    code = frames_open(f, before.framing.format, before.codec_kind, before.read, before.context,
                       before.limit, err);
    frames_set_stored(f, before.stored_bytes);
    f->large = before.large;
    while (code == SHEAF_OK && f->framing.records < before.given)
        code = frames_do_next(f, &frame, err);
    return code;
}

int frames_next(struct frames *f, struct frame *frame, struct sheaf_error *err)
{
    struct sheaf_error own, again;
    int code, repeated;

    if (err == NULL)
        err = &own;
    f->given = f->framing.records;
    code = frames_do_next(f, frame, err);
    if (!framing_is_damage(code) || (repeated = frames_repeat(f, &again)) == SHEAF_END)
        return code;
    if (repeated != SHEAF_OK) {
        *err = again;
        return repeated;
    }
    f->given = f->framing.records;
    return frames_do_next(f, frame, err);
}
