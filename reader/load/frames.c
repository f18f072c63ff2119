/* SPDX-License-Identifier: MIT
 *
 * The sequential frame reader; see frames.h. */
#include "reader/load/frames.h"

#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"

/* Bytes read, and unpacked, at a time: small enough to stay in cache, large enough that system
 * calls do not count. */
#define PIECE_BYTES ((size_t)256 << 10)

int frames_open(struct frames *f, const struct format_ops *format, enum sheaf_codec codec,
                frames_read_fn *read, void *context, size_t limit, struct sheaf_error *err)
{
    memset(f, 0, sizeof(*f));
    f->format = format;
    f->read = read;
    f->context = context;
    /* Room for a frame, the header behind it, and a piece more. */
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

/* Waits for the memory for large frames if the window is to hold so much. */
static void take_large(struct frames *f, uint64_t bytes)
{
    if (f->large == NULL || f->has_large || bytes <= f->own_limit - 4 * PIECE_BYTES)
        return;
    pthread_mutex_lock(&f->large->lock);
    f->has_large = true;
    f->window.limit = MAX(f->own_limit, f->large->limit + 4 * PIECE_BYTES);
}

/* Gives the memory back when the frame is not needed any more.  What was read behind the frame
 * moves to a window of the usual size. */
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

/* Moves what is not used up to the front of the window. */
static void compact(struct frames *f)
{
    if (f->used == 0)
        return;
    memmove(f->window.data, f->window.data + f->used, f->window.size - f->used);
    f->window.size -= f->used;
    f->raw_offset += f->used;
    f->used = 0;
}

/* More of the stored bytes. */
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

/* Damage of the compressed stream: what came out with it may be what the checksum is against,
 * unless it is of members that ended before it.  Then the damage comes after that. */
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

/* Puts more unpacked bytes behind the window's content. */
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

/* Makes the window longer, or sets at_end. */
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
        if (code != SHEAF_OK)       /* nothing can be unpacked behind damage */
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

/* Also of what cannot be gone on behind. */
static bool is_of_data(int code)
{
    return is_damage(code) || code == SHEAF_ERR_LIMIT || code == SHEAF_ERR_UNSUPPORTED;
}

/* An error of the frame at `offset`, with its place before it. */
static int place_error(const struct frames *f, uint64_t offset, struct sheaf_error *err)
{
    return err_prefix(err, "offset %" PRIu64 ", record %" PRIu64 ": ", offset, f->records);
}

/* Behind the last frame, which is yet to come. */
static int place_end(const struct frames *f, struct sheaf_error *err)
{
    return err_prefix(err, "offset %" PRIu64 ", record %" PRIu64 ": ",
                      f->raw_offset + f->used + f->last_size, f->records + (f->last_size != 0));
}

/* Passes over all that comes, so that it is known how much it was. */
static int drain(struct frames *f, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    while (code == SHEAF_OK && !f->at_end) {
        f->used = f->window.size;
        code = read_more(f, err);
    }
    return code == SHEAF_OK ? SHEAF_END : code;
}

/* Goes to the next plausible header; SHEAF_END if there is none up to the end. */
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

            /* What looks like a header may be cut by the window's end. */
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

/* Says of damage at `offset` that nothing was found up to the end. */
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

/* Damage at `offset`, behind which frames are looked for at once. */
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

/* The next part at window offset `at`, reading on until it is decided.  SHEAF_END at the end. */
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
        *at -= before - f->used;    /* the window may have moved even if it failed */
        if (code != SHEAF_OK)
            return code;
    }
}

/* Reads until the part of `size` bytes at window offset `at` is whole. */
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
        *at -= before - f->used;    /* the window may have moved even if it failed */
        if (code != SHEAF_OK)
            return code;
    }
    return SHEAF_OK;
}

/* The frames of a tar are made of several members, so damage behind one may hide a member of
 * it; those of other containers say themselves whether they are whole. */
static bool is_whole(const struct frames *f)
{
    return !f->format->has_members && !f->scan.frame_open;
}

/* The part at `at`: the one kept from before, or the next one. */
static int take_part(struct frames *f, size_t *at, struct part *part, struct sheaf_error *err)
{
    if (!f->has_pending)
        return next_part(f, at, part, err);
    f->has_pending = false;
    *part = f->pending;
    return SHEAF_OK;
}

/* At the end, with a frame of `size` bytes that is open, or none. */
static int find_end(struct frames *f, size_t size, bool open, struct sheaf_error *err)
{
    const int code = f->format->end(&f->scan, err);

    if (code == SHEAF_ERR_TRUNCATED && f->format->has_members) {
        f->lacks_end = true;
        f->last_size = open ? size : 0;
    }
    return code == SHEAF_OK && !open ? SHEAF_END : code;
}

/* What comes when it was said that the end is missing. */
static int take_last(struct frames *f, size_t *size)
{
    *size = f->last_size;
    f->last_size = 0;
    return *size != 0 ? SHEAF_OK : SHEAF_END;
}

/* Finds the next frame: it is then the `*size` bytes at the used part's end, and what follows it
 * was seen. */
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
            f->has_kept = f->dead;      /* else it will be found again */
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

/* Verifies the frame that was found. */
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

int frames_next(struct frames *f, struct frame *frame, struct sheaf_error *err)
{
    struct sheaf_error own;
    size_t size = 0;
    bool lacked_end;
    int code;

    if (err == NULL)
        err = &own;
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
