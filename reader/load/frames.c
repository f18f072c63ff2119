/* SPDX-License-Identifier: MIT
 *
 * Reads the frames (stored records) of a shard in order; see frames.h. */
#include "reader/load/frames.h"

#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"

/* Number of bytes that are read and decompressed at a time. It is small enough to stay in the CPU's
 * cache, and large enough that the cost of system calls does not matter. */
#define PIECE_BYTES ((size_t)256 << 10)

int frames_open(struct frames *f, const struct format_ops *format, enum sheaf_codec codec,
                frames_read_fn *read, void *context, size_t limit, struct sheaf_error *err)
{
    memset(f, 0, sizeof(*f));
    f->format = format;
    f->codec_kind = codec;
    f->limit = limit;
    f->read = read;
    f->context = context;
    /* Room for the frame, for the header after the frame, and for one more piece of the stream. */
    f->own_limit = limit + 4 * PIECE_BYTES;
    f->window.limit = f->own_limit;
    f->input.limit = PIECE_BYTES;
    f->stored_bytes = UINT64_MAX;
    format_scan_reset(&f->scan);
    if (codec == SHEAF_CODEC_NONE)
        return SHEAF_OK;
    return codec_stream_open(codec, &f->codec, err);
}

uint64_t frames_passed_over(const struct frames *f)
{
    return f->passed_over + f->scan.passed_over;
}

/* ---- Large frames ---------------------------------------------------------------------------- */

/* If the window must grow beyond its usual size for a large frame, waits for the memory that is
 * shared for large frames. */
static void take_large(struct frames *f, uint64_t bytes)
{
    if (f->large == NULL || f->has_large || bytes <= f->own_limit - 4 * PIECE_BYTES)
        return;
    pthread_mutex_lock(&f->large->lock);
    f->has_large = true;
    f->window.limit = MAX(f->own_limit, f->large->limit + 4 * PIECE_BYTES);
}

/* Gives the memory for large frames back when the large frame is no longer needed. Moves the bytes
 * that were read after the frame to a window of the usual size. */
static int give_large(struct frames *f, struct sheaf_error *err)
{
    struct buf window = BUF_INIT(f->own_limit);
    int code;

    if (!f->has_large || f->window.size - f->used > f->own_limit - PIECE_BYTES)
        return SHEAF_OK;
    code = buf_append(&window, f->window.data + f->used, f->window.size - f->used, err);
    if (code != SHEAF_OK)
        return code;
    buf_free(&f->window);
    f->window = window;
    f->raw_offset += f->used;
    f->used = 0;
    f->has_large = false;
    pthread_mutex_unlock(&f->large->lock);
    return SHEAF_OK;
}

void frames_close(struct frames *f)
{
    if (f->has_large)
        pthread_mutex_unlock(&f->large->lock);
    f->has_large = false;
    codec_stream_free(f->codec);
    format_scan_free(&f->scan);
    buf_free(&f->input);
    buf_free(&f->window);
    f->codec = NULL;
}

/* Moves the bytes that are not used yet to the beginning of the window. */
static void compact(struct frames *f)
{
    if (f->used == 0)
        return;
    memmove(f->window.data, f->window.data + f->used, f->window.size - f->used);
    f->window.size -= f->used;
    f->raw_offset += f->used;
    f->used = 0;
}

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

/* Handles damage in the compressed stream. A codec call may return output from both a damaged
 * member and earlier members. Drops the output that may belong to the damaged member. Keeps the
 * output of the members that ended before; the damage is reported after this output. */
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

/* Appends more bytes to the window, or sets at_end. */
static int read_more(struct frames *f, struct sheaf_error *err)
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
        if (code != SHEAF_OK)       /* nothing can be decompressed after damage */
            f->at_end = f->dead = true;
        return code;
    }
    code = read_stored(f, f->window.data + f->window.size, &got, err);
    if (code != SHEAF_OK)
        return code;
    f->window.size += got;
    f->at_end = got == 0;
    return SHEAF_OK;
}

static bool is_damage(int code)
{
    return code == SHEAF_ERR_CORRUPT || code == SHEAF_ERR_TRUNCATED;
}

/* Returns whether the error is caused by bad data. This includes errors after which the shard
 * cannot be read further. */
static bool is_of_data(int code)
{
    return is_damage(code) || code == SHEAF_ERR_LIMIT || code == SHEAF_ERR_UNSUPPORTED;
}

/* Puts the location of the frame (stored record) at `offset` before an error message. */
static int place_error(const struct frames *f, uint64_t offset, struct sheaf_error *err)
{
    return err_prefix(err, "offset %" PRIu64 ", record %" PRIu64 ": ", offset, f->records);
}

/* Puts a location before an error message: the end of the last frame, which has not been returned
 * to the caller yet. */
static int place_end(const struct frames *f, struct sheaf_error *err)
{
    return err_prefix(err, "offset %" PRIu64 ", record %" PRIu64 ": ",
                      f->raw_offset + f->used + f->last_size, f->records + (f->last_size != 0));
}

/* Reads the rest of the stream without using it, so that the size of the stream becomes known. */
static int drain(struct frames *f, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    while (code == SHEAF_OK && !f->at_end) {
        f->used = f->window.size;
        code = read_more(f, err);
    }
    return code == SHEAF_OK ? SHEAF_END : code;
}

/* Finds the next plausible header after damage. Returns SHEAF_END if there is none. */
static int resync(struct frames *f, struct sheaf_error *err)
{
    const bool no_more = f->scan.no_more;

    f->has_pending = false;
    f->passed_over = frames_passed_over(f);
    format_scan_restart(&f->scan);
    if (no_more)
        return drain(f, err);
    for (;;) {
        const size_t shown = f->window.size - f->used;
        const size_t skip = shown == 0 ? 0
                          : f->format->resync(f->window.data + f->used, shown);
        int code;

        f->used += skip;
        if (skip < shown && skip != 0) {
            struct part part;

            /* The last bytes of the window may look like the beginning of a header. The format then
             * asks for more bytes. */
            code = f->format->part(&f->scan, f->window.data + f->used,
                                   f->window.size - f->used, f->at_end, &part, err);
            format_scan_restart(&f->scan);
            if (code == SHEAF_OK && part.kind != PART_MORE) {
                f->suspect = f->format->has_members;
                return SHEAF_OK;
            }
            if (code != SHEAF_OK)
                continue;
        }
        if (f->at_end)
            return SHEAF_END;
        code = read_more(f, err);
        if (code != SHEAF_OK)
            return code;
    }
}

/* Adds to the message about damage at `offset` that no record was found after the damage. */
static void tell_lost(struct frames *f, uint64_t offset, struct sheaf_error *err)
{
    const bool is_known = !f->dead || f->stored_bytes != UINT64_MAX;
    const uint64_t lost = !f->dead ? f->raw_offset + f->window.size - offset
                        : is_known ? f->stored_bytes - f->stored_read + f->input.size
                                     - f->input_used : 0;

    f->lost_bytes += lost;
    if (lost != 0)
        err_append(err, "; the rest of the shard, %" PRIu64 "%s byte%s, is lost", lost,
                   f->dead ? " stored" : "", plural(lost));
    else if (!is_known || err->code == SHEAF_ERR_TRUNCATED)
        err_append(err, "; the rest of the shard is lost");
}

/* Reports damage at `offset`. Immediately searches for the next frame (stored record) after the
 * damage. */
static int damage(struct frames *f, uint64_t offset, struct sheaf_error *err)
{
    int code;

    place_error(f, offset, err);
    f->records++;
    code = resync(f, &f->kept);
    f->ended = code == SHEAF_END;
    f->has_kept = code < 0;
    if (f->ended)
        tell_lost(f, offset, err);
    return err->code;
}

/* Finds the part of the stream at offset `at` of the window. Reads more bytes until the format can
 * tell what the part is. Returns SHEAF_END at the end of the stream. */
static int next_part(struct frames *f, size_t *at, struct part *part, struct sheaf_error *err)
{
    for (;;) {
        const size_t shown = f->window.size - *at;
        const size_t before = f->used;
        int code;

        if (shown == 0 && f->at_end)
            return SHEAF_END;
        if (shown != 0) {
            code = f->format->part(&f->scan, f->window.data + *at, shown, f->at_end, part, err);
            if (code != SHEAF_OK || part->kind != PART_MORE)
                return code;
            if (f->at_end)
                return err_set(err, SHEAF_ERR_TRUNCATED, "the shard ends within a header: found "
                               "%zu byte%s, expected at least %zu", shown, plural(shown),
                               part->need);
        }
        code = read_more(f, err);
        *at -= before - f->used;    /* the window may have moved even after an error */
        if (code != SHEAF_OK)
            return code;
    }
}

/* Reads until all `size` bytes of the part at offset `at` of the window are in the window. */
static int whole_part(struct frames *f, size_t *at, uint64_t size, struct sheaf_error *err)
{
    const uint64_t left = f->codec != NULL || f->stored_bytes == UINT64_MAX ? UINT64_MAX
                        : f->stored_bytes - (f->raw_offset + *at);

    if (size > left)
        return err_set(err, SHEAF_ERR_TRUNCATED, "the shard ends %" PRIu64 " byte%s after this, "
                       "expected %" PRIu64 " byte%s", left, plural(left), size, plural(size));
    take_large(f, *at - f->used + size);
    if (size > f->window.limit)
        return err_because(err, err_set(err, SHEAF_ERR_LIMIT, "a frame of %" PRIu64 " bytes is "
                                        "larger than the %zu bytes of memory that a sample may "
                                        "take here", size, f->window.limit - 4 * PIECE_BYTES),
                           SHEAF_REASON_STREAM_MEMORY);
    while (f->window.size - *at < size) {
        const size_t before = f->used;
        int code;

        if (f->at_end)
            return err_set(err, SHEAF_ERR_TRUNCATED, "the shard ends %zu byte%s after this, "
                           "expected %" PRIu64 " byte%s", f->window.size - *at,
                           plural(f->window.size - *at), size, plural(size));
        code = read_more(f, err);
        *at -= before - f->used;    /* the window may have moved even after an error */
        if (code != SHEAF_OK)
            return code;
    }
    return SHEAF_OK;
}

/* Returns whether the open frame is known to be complete. In a tar, damage after a member may
 * hide more members of the same sample. Frames of the other containers show whether they are
 * complete. */
static bool is_whole(const struct frames *f)
{
    return !f->format->has_members && !f->scan.frame_open;
}

/* Returns the part at `at`. If it was already examined, it is not examined again. */
static int take_part(struct frames *f, size_t *at, struct part *part, struct sheaf_error *err)
{
    if (!f->has_pending)
        return next_part(f, at, part, err);
    f->has_pending = false;
    *part = f->pending;
    return SHEAF_OK;
}

/* Handles the end of the stream. `open` tells whether a last frame, of `size` bytes, is still
 * open. */
static int find_end(struct frames *f, size_t size, bool open, struct sheaf_error *err)
{
    const int code = f->format->end(&f->scan, err);

    if (code == SHEAF_ERR_TRUNCATED && f->format->has_members) {
        f->lacks_end = true;
        f->last_size = open ? size : 0;
    }
    return code == SHEAF_OK && !open ? SHEAF_END : code;
}

/* Returns the last frame. The error that the end of the archive is missing was returned before. */
static int take_last(struct frames *f, size_t *size)
{
    *size = f->last_size;
    f->last_size = 0;
    return *size != 0 ? SHEAF_OK : SHEAF_END;
}

/* Finds the next frame. It begins after the used bytes of the window and has *size bytes. When the
 * function returns, the header after the frame (or the end of the stream) has been examined. */
static int find_frame(struct frames *f, size_t *size, struct sheaf_error *err)
{
    bool open = false;
    size_t at = f->used;

    for (;;) {
        struct part part;
        int code = take_part(f, &at, &part, err);

        *size = at - f->used;
        if (open && code == SHEAF_OK && part.kind != PART_NEXT) {
            f->pending = part;
            f->has_pending = true;
            return SHEAF_OK;
        }
        if (open && is_of_data(code) && is_whole(f)) {
            f->has_kept = f->dead;      /* otherwise it will be found again */
            f->kept = *err;
            return SHEAF_OK;
        }
        if (code == SHEAF_END)
            return find_end(f, *size, open, err);
        if (code == SHEAF_OK)
            code = whole_part(f, &at, part.size, err);
        if (code != SHEAF_OK)
            return code;
        at += part.size;
        if (part.kind == PART_START)
            open = true;
        else if (part.kind == PART_SKIP)
            f->used = at;
    }
}

/* Verifies a frame. */
static int check_frame(struct frames *f, struct frame *frame, struct sheaf_error *err)
{
    int code = f->format->check(frame->data, frame->size, &frame->crc, err);

    if (code == SHEAF_OK && f->suspect)
        code = err_set(err, SHEAF_ERR_CORRUPT, "the sample follows damage and may have lost a "
                       "member to it");
    f->suspect = false;
    if (code != SHEAF_OK)
        place_error(f, frame->offset, err);
    f->records++;
    return code;
}

static int next(struct frames *f, struct frame *frame, struct sheaf_error *err)
{
    size_t size = 0;
    bool lacked_end;
    int code;

    if (f->ended)
        return SHEAF_END;
    if (f->has_kept) {
        f->has_kept = false;
        *err = f->kept;
        if (is_damage(err->code))
            return damage(f, f->raw_offset + f->used, err);
        return is_of_data(err->code) ? place_error(f, f->raw_offset + f->used, err) : err->code;
    }
    code = give_large(f, err);
    if (code != SHEAF_OK)
        return code;
    lacked_end = f->lacks_end;
    code = lacked_end ? take_last(f, &size) : find_frame(f, &size, err);
    if (code == SHEAF_END)
        return code;
    if (f->lacks_end && !lacked_end)
        return place_end(f, err);
    if (is_damage(code)) {
        const uint64_t offset = f->raw_offset + f->used;

        f->used += size;
        return damage(f, offset, err);
    }
    if (code != SHEAF_OK)
        return place_error(f, f->raw_offset + f->used, err);
    frame->data = f->window.data + f->used;
    frame->size = size;
    frame->offset = f->raw_offset + f->used;
    f->used += size;
    return check_frame(f, frame, err);
}

/* ---- Reading again --------------------------------------------------------------------------- */

int frames_repeat(struct frames *f, struct sheaf_error *err)
{
    const struct frames before = *f;
    struct frame frame;
    int code;

    if (f->again == NULL || !f->again(f->context))
        return SHEAF_END;
    frames_close(f);
    code = frames_open(f, before.format, before.codec_kind, before.read, before.context,
                       before.limit, err);
    f->stored_bytes = before.stored_bytes;
    f->large = before.large;
    while (code == SHEAF_OK && f->records < before.given)
        code = next(f, &frame, err);
    return code;
}

int frames_next(struct frames *f, struct frame *frame, struct sheaf_error *err)
{
    struct sheaf_error own, again;
    int code, repeated;

    if (err == NULL)
        err = &own;
    f->given = f->records;
    code = next(f, frame, err);
    if (!is_damage(code) || (repeated = frames_repeat(f, &again)) == SHEAF_END)
        return code;
    if (repeated != SHEAF_OK) {
        *err = again;
        return repeated;
    }
    f->given = f->records;
    return next(f, frame, err);
}
