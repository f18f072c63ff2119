/* SPDX-License-Identifier: MIT
 *
 * Walks from frame to frame; see framing.h. */
#include "reader/dataset/framing.h"

#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"

/* Largest size of a header in bytes. A tar has the largest headers, because they include long names
 * and pax records. */
#define HEADER_MOST ((size_t)4 << 20)

void framing_open(struct framing *w, const struct framing_bytes *ops,
                  const struct format_ops *format)
{
    memset(w, 0, sizeof(*w));
    w->ops = ops;
    w->format = format;
    w->bytes = UINT64_MAX;
    format_scan_reset(&w->scan);
}

void framing_close(struct framing *w)
{
    format_scan_free(&w->scan);
}

/* Puts the offset and the number of a frame (stored record) before an error message. */
static int place_error(uint64_t offset, uint64_t record, struct sheaf_error *err)
{
    return err_prefix(err, "offset %" PRIu64 ", record %" PRIu64 ": ", offset, record);
}

/* ---- Parts ---------------------------------------------------------------------------------- */

/* Finds out which part of the shard begins at w->at: for example, a header or a record. The
 * container's format decides this from the first bytes of the part. The function shows more and
 * more bytes to the format, until they are enough. Sets *verdict to SHEAF_OK, to the error that the
 * format has found, or to SHEAF_END at the end of the shard. Returns an error only if bytes cannot
 * be read. */
static int framing_examine(struct framing *w, struct part *part, int *verdict,
                           struct sheaf_error *err)
{
    size_t need = 1;

    for (;;) {
        struct shown shown;
        const int code = w->ops->show(w, need, &shown, err);

        if (code != SHEAF_OK)
            return code;
        *verdict = SHEAF_END;
        if (shown.size == 0)
            return SHEAF_OK;
        *verdict = w->format->part(&w->scan, shown.data, shown.size, shown.at_end, part, err);
        if (*verdict != SHEAF_OK || part->kind != PART_MORE)
            return SHEAF_OK;
        if (shown.at_end || part->need > HEADER_MOST) {
            *verdict = shown.at_end
                ? err_set(err, SHEAF_ERR_TRUNCATED, "the shard ends within a header: found %zu "
                          "byte%s, expected at least %zu", shown.size, plural(shown.size),
                          part->need)
                : err_set(err, SHEAF_ERR_LIMIT, "a header of %zu bytes exceeds the limit of %zu",
                          part->need, HEADER_MOST);
            return SHEAF_OK;
        }
        need = MAX(part->need, shown.size + 1);
    }
}

/* Describes in *part the part of the shard (for example, a header or a record) that begins at
 * w->at. If this part was already examined, returns the result of that examination. */
static int next_part(struct framing *w, struct part *part, struct sheaf_error *err)
{
    int verdict, code;

    if (w->has_pending) {
        w->has_pending = false;
        *part = w->pending;
        return SHEAF_OK;
    }
    code = framing_examine(w, part, &verdict, err);
    return code == SHEAF_OK ? verdict : code;
}

static int framing_take_part(struct framing *w, const struct part *part, struct sheaf_error *err)
{
    const uint64_t left = w->bytes - w->at;

    if (w->bytes != UINT64_MAX && part->size > left)
        return err_set(err, SHEAF_ERR_TRUNCATED, "the shard ends %" PRIu64 " byte%s after this, "
                       "expected %" PRIu64 " byte%s", left, plural(left), part->size,
                       plural(part->size));
    return w->ops->take(w, part, err);
}

/* ---- Damage --------------------------------------------------------------------------------- */

/* Moves to the end of the shard. */
static int pass_rest(struct framing *w, struct sheaf_error *err)
{
    struct shown shown = { .at_end = w->bytes != UINT64_MAX };
    int code = SHEAF_OK;

    if (shown.at_end)
        w->at = w->bytes;
    while (!shown.at_end && code == SHEAF_OK) {
        w->begin = w->at;
        code = w->ops->show(w, 1, &shown, err);
        w->at += code == SHEAF_OK ? shown.size : 0;
    }
    return code == SHEAF_OK ? SHEAF_END : code;
}

/* Searches for the next frame (stored record) after damage at w->at. Moves w->at to the first
 * position at which a frame seems to begin. Returns SHEAF_END if there is no such position before
 * the end of the shard. */
static int resync(struct framing *w, struct sheaf_error *err)
{
    const bool no_more = w->scan.no_more;
    size_t need = 1;

    w->passed_over = framing_passed_over(w);
    format_scan_restart(&w->scan);
    if (no_more)
        return pass_rest(w, err);
    for (;;) {
        struct shown shown;
        struct part part;
        size_t skip;
        int verdict, code;

        w->begin = w->at;
        code = w->ops->show(w, need, &shown, err);
        if (code != SHEAF_OK)
            return code;
        if (!w->format->resync(shown.data, shown.size, &skip)) {
            if (shown.at_end) {
                w->at += shown.size;
                return SHEAF_END;
            }
            w->at += skip;
            need = shown.size - skip + 1;
            continue;
        }
        w->begin = w->at += skip;
        code = framing_examine(w, &part, &verdict, err);
        format_scan_restart(&w->scan);
        if (code != SHEAF_OK)
            return code;
        if (verdict == SHEAF_OK && part.size <= w->bytes - w->at) {
            w->suspect = w->format->has_members;
            return SHEAF_OK;
        }
        need = 1;
    }
}

void framing_lose(struct framing *w, uint64_t bytes, struct sheaf_error *err)
{
    w->lost_bytes += bytes;
    err_append(err, "; the rest of the shard, %" PRIu64 "%s byte%s, is lost", bytes,
               w->dead ? " stored" : "", plural(bytes));
}

/* Adds to an error message that the rest of the shard is lost. Called if no frame (stored record)
 * was found after the damage at `offset`. */
static void tell_lost(struct framing *w, uint64_t offset, struct sheaf_error *err)
{
    const bool is_known = !w->dead || w->dead_bytes != UINT64_MAX;
    const uint64_t lost = !w->dead ? w->at - offset : is_known ? w->dead_bytes : 0;

    if (lost != 0)
        framing_lose(w, lost, err);
    else if (!is_known || err->code == SHEAF_ERR_TRUNCATED)
        err_append(err, "; the rest of the shard is lost");
}

/* Returns the error for damage in the frame (stored record) that begins at w->begin. Before
 * returning, searches for the next frame after the damage. */
static int damage(struct framing *w, struct sheaf_error *err)
{
    const uint64_t offset = w->begin;
    int code;

    w->fault = *err;
    w->fault_offset = w->at;
    place_error(offset, w->records++, err);
    code = resync(w, &w->kept);
    w->ended = code == SHEAF_END;
    w->has_kept = code < 0;
    if (w->ended)
        tell_lost(w, offset, err);
    return err->code;
}

/* ---- Frames --------------------------------------------------------------------------------- */

/* Returns true if the frame (stored record) that is being read is known to be complete, although
 * damage comes after it. In a tar this is never known, because the damage may hide further files of
 * the same sample. In other containers, the frame itself shows where it ends. */
static bool framing_is_whole(const struct framing *w)
{
    return !w->format->has_members && !w->scan.frame_open;
}

/* Handles the end of the shard. `open` is true if a last frame (stored record) was found but not
 * yet returned. */
static int find_end(struct framing *w, bool open, struct sheaf_error *err)
{
    const int code = w->format->end(&w->scan, err);

    if (code == SHEAF_ERR_TRUNCATED && w->format->has_members) {
        w->lacks_end = true;
        w->last_bytes = open ? w->at - w->begin : 0;
        return place_error(w->at, w->records + open, err);
    }
    return code == SHEAF_OK && !open ? SHEAF_END : code;
}

/* Finds the next frame (stored record). Before it returns, also examines the next part after the
 * frame: a header, or the end of the shard. */
static int find_frame(struct framing *w, struct sheaf_error *err)
{
    bool open = false;

    for (;;) {
        struct part part;
        int code = next_part(w, &part, err);

        if (open && code == SHEAF_OK && part.kind != PART_NEXT) {
            w->pending = part;
            w->has_pending = true;
            return SHEAF_OK;
        }
        if (open && framing_is_of_data(code) && framing_is_whole(w)) {
            w->has_kept = w->dead;      /* The next call finds other errors again. */
            w->kept = *err;
            return SHEAF_OK;
        }
        if (code == SHEAF_END)
            return find_end(w, open, err);
        if (code == SHEAF_OK)
            code = framing_take_part(w, &part, err);
        if (code != SHEAF_OK)
            return code;
        w->at += part.size;
        open |= part.kind == PART_START;
        if (part.kind == PART_SKIP)
            w->begin = w->at;
    }
}

/* Verifies the frame that was found. */
static int framing_check_frame(struct framing *w, struct sheaf_error *err)
{
    int code = w->ops->check == NULL ? SHEAF_OK : w->ops->check(w, err);

    if (code == SHEAF_OK && w->suspect)
        code = err_set(err, SHEAF_ERR_CORRUPT, "the sample follows damage and may have lost a "
                       "member to it");
    w->suspect = false;
    if (code != SHEAF_OK)
        place_error(w->begin, w->records, err);
    w->records++;
    return code;
}

/* Returns the last frame (stored record) of a shard that lacks its end mark. Called after the error
 * about the missing end mark was returned. */
static int take_last(struct framing *w)
{
    const bool has_last = w->last_bytes != 0;

    w->last_bytes = 0;
    return has_last ? SHEAF_OK : SHEAF_END;
}

int framing_next(struct framing *w, struct sheaf_error *err)
{
    const bool lacked_end = w->lacks_end;
    int code;

    if (w->ended)
        return SHEAF_END;
    w->begin = w->at - w->last_bytes;
    if (w->has_kept) {
        w->has_kept = false;
        *err = w->kept;
        if (framing_is_damage(err->code))
            return damage(w, err);
        return framing_is_of_data(err->code) ? place_error(w->begin, w->records, err)
                                             : err->code;
    }
    code = lacked_end ? take_last(w) : find_frame(w, err);
    if (code == SHEAF_END || w->lacks_end != lacked_end)
        return code;
    if (framing_is_damage(code))
        return damage(w, err);
    return code == SHEAF_OK ? framing_check_frame(w, err) : place_error(w->begin, w->records, err);
}
