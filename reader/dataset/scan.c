/* SPDX-License-Identifier: MIT
 *
 * The header scan; see scan.h. */
#include "reader/dataset/scan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"

/* Number of bytes read at a position to which the scan has jumped. Nearly every header fits into
 * it. */
#define HEADER_BYTES ((size_t)4 << 10)
/* Number of bytes read at once where headers are close together, and when the scan searches for a
 * header after damage. */
#define DENSE_BYTES  ((size_t)256 << 10)
/* Largest size of a header. A tar's headers with long names and pax records are the largest. */
#define NEED_LIMIT   ((size_t)4 << 20)

struct scan_extent {
    uint64_t begin, end;
    uint64_t key;               /* where it is in `keys`, if samples are joined */
};

void scan_open(struct header_scan *s, const struct format_ops *format, struct store_object *object)
{
    memset(s, 0, sizeof(*s));
    s->format = format;
    s->object = object;
    s->window.limit = NEED_LIMIT;
    s->extents.limit = s->keys.limit = SIZE_MAX;
    format_scan_reset(&s->state);
}

void scan_close(struct header_scan *s)
{
    format_scan_free(&s->state);
    buf_free(&s->window);
    buf_free(&s->extents);
    buf_free(&s->keys);
}

/* Provides the bytes at s->offset: at least `need` bytes, or fewer if the shard ends before. */
static int show(struct header_scan *s, size_t need, const uint8_t **data, size_t *size,
                struct sheaf_error *err)
{
    const uint64_t left = s->object->bytes - s->offset;
    const uint64_t window_end = s->window_offset + s->window.size;
    const bool near = s->offset >= s->window_offset && s->offset < window_end + DENSE_BYTES;
    size_t skip, wanted;
    int code;

    need = (size_t)MIN((uint64_t)MIN(need, NEED_LIMIT), left);
    if (s->offset < s->window_offset || s->offset > window_end
        || window_end - s->offset < need) {
        wanted = MAX(need, near && s->window.size != 0 ? DENSE_BYTES : HEADER_BYTES);
        wanted = (size_t)MIN((uint64_t)wanted, left);
        s->window.size = 0;
        code = buf_reserve(&s->window, wanted, err);
        if (code == SHEAF_OK)
            code = store_read(s->object, s->offset, s->window.data, wanted, err);
        if (code != SHEAF_OK)
            return code;
        s->window_offset = s->offset;
        s->window.size = wanted;
    }
    skip = (size_t)(s->offset - s->window_offset);
    *data = s->window.data + skip;
    *size = s->window.size - skip;
    return SHEAF_OK;
}

static int next_part(struct header_scan *s, struct part *part, struct sheaf_error *err)
{
    size_t need = 1;

    for (;;) {
        const uint8_t *data;
        size_t size;
        bool at_end;
        int code = show(s, need, &data, &size, err);

        if (code != SHEAF_OK)
            return code;
        at_end = s->offset + size == s->object->bytes;
        code = s->format->part(&s->state, data, size, at_end, part, err);
        if (code != SHEAF_OK || part->kind != PART_MORE)
            return code;
        if (at_end)
            return err_set(err, SHEAF_ERR_TRUNCATED, "the shard ends within a header: found %zu "
                           "byte%s, expected at least %zu", size, plural(size), part->need);
        if (part->need > NEED_LIMIT)
            return err_set(err, SHEAF_ERR_LIMIT, "a header of %zu bytes exceeds the limit of %zu",
                           part->need, NEED_LIMIT);
        need = MAX(part->need, size + 1);
    }
}

static struct scan_extent *last_sample(const struct header_scan *s)
{
    return s->extents.size == 0 ? NULL
         : (struct scan_extent *)(void *)(s->extents.data + s->extents.size) - 1;
}

/* Drops the last sample if it may be incomplete. Returns the offset at which the lost bytes begin.
 * In a tar, damage after a member may hide more members of the same sample. A record in several
 * parts would be incomplete. Other records are known to be complete. */
static uint64_t drop_open(struct header_scan *s)
{
    const struct scan_extent *last = last_sample(s);
    uint64_t begin = s->offset;

    if (s->open && last != NULL && (s->format->has_members || s->state.frame_open)) {
        begin = last->begin;
        s->extents.size -= sizeof(*last);
        s->records--;
    }
    s->open = false;
    return begin;
}

static int place_error(const struct header_scan *s, uint64_t at, struct sheaf_error *err)
{
    return err_prefix(err, "%s: offset %" PRIu64 ", record %" PRIu64 ": ", s->object->url, at,
                      s->records);
}

/* Finds the next plausible header after the damage. */
static int resync(struct header_scan *s, struct sheaf_error *err)
{
    const bool no_more = s->state.no_more;

    s->passed_over = scan_passed_over(s);
    format_scan_restart(&s->state);
    if (no_more)
        s->offset = s->object->bytes;
    while (s->offset < s->object->bytes) {
        const uint8_t *data;
        size_t size, skip;
        int code = show(s, DENSE_BYTES, &data, &size, err);

        if (code != SHEAF_OK)
            return code;
        skip = s->format->resync(data, size);
        s->offset += skip == 0 ? size : skip;
        if (skip != 0 && skip < size) {
            struct part part;

            code = next_part(s, &part, err);
            format_scan_restart(&s->state);
            if (code == SHEAF_OK && part.size <= s->object->bytes - s->offset) {
                s->suspect = s->format->has_members;
                return SHEAF_OK;
            }
        }
    }
    return SHEAF_END;
}

static void tell_lost(struct header_scan *s, uint64_t bytes, struct sheaf_error *err)
{
    s->lost_bytes += bytes;
    err_append(err, "; the rest of the shard, %" PRIu64 " byte%s, is lost", bytes, plural(bytes));
}

/* Reports damage, and searches immediately for the next sample after it. */
static int damage(struct header_scan *s, struct sheaf_error *err)
{
    const uint64_t at = drop_open(s), lost = s->object->bytes - at;
    int code;

    place_error(s, at, err);
    s->records++;
    code = resync(s, &s->kept);
    s->has_kept = code < 0;
    s->ended |= code == SHEAF_END;
    if (code == SHEAF_END && lost != 0)
        tell_lost(s, lost, err);
    return err->code;
}

/* Stops the scan because the shard cannot be read further. All bytes from here on are lost. */
static int give_up(struct header_scan *s, struct sheaf_error *err)
{
    const uint64_t at = drop_open(s);

    place_error(s, at, err);
    tell_lost(s, s->object->bytes - at, err);
    return err->code;
}

/* Begins a new sample with this part. */
static int begin_sample(struct header_scan *s, struct sheaf_error *err)
{
    const struct scan_extent extent = { .begin = s->offset, .end = s->offset, .key = s->keys.size };
    int code = SHEAF_OK;

    s->open = !s->suspect;
    if (s->suspect) {
        s->suspect = false;
        err_set(err, SHEAF_ERR_CORRUPT, "%s: offset %" PRIu64 ", record %" PRIu64 ": the sample "
                "follows damage and may have lost a member to it", s->object->url, s->offset,
                s->records++);
        return err->code;
    }
    s->records++;
    if (s->joins)
        code = buf_append(&s->keys, s->state.key.data, s->state.key.size, err);
    if (code == SHEAF_OK && s->joins)
        code = buf_append(&s->keys, "", 1, err);
    if (code == SHEAF_OK)
        code = buf_append(&s->extents, &extent, sizeof(extent), err);
    s->open &= code == SHEAF_OK;
    return code;
}

/* Scans one part of the shard, and moves s->offset to the end of the part. If the part is damaged,
 * reports the damage, and moves s->offset to the next sample. If no sample is found, moves
 * s->offset to the end of the shard. The next sample is suspect if its beginning may be missing. A
 * suspect sample is reported and skipped. */
static int step(struct header_scan *s, struct sheaf_error *err)
{
    struct part part;
    int code = next_part(s, &part, err);

    if (code == SHEAF_OK && part.kind != PART_NEXT)
        s->open = false;    /* the next member belongs to another sample */
    if (code == SHEAF_OK && part.size > s->object->bytes - s->offset)
        code = err_set(err, SHEAF_ERR_TRUNCATED, "the shard ends %" PRIu64 " byte%s after this, "
                       "expected %" PRIu64 " byte%s", s->object->bytes - s->offset,
                       plural(s->object->bytes - s->offset), part.size, plural(part.size));
    if (code == SHEAF_ERR_CORRUPT || code == SHEAF_ERR_TRUNCATED)
        return damage(s, err);
    if (code == SHEAF_ERR_LIMIT || code == SHEAF_ERR_UNSUPPORTED)
        return give_up(s, err);
    if (code != SHEAF_OK)
        return code;
    if (part.kind == PART_START)
        code = begin_sample(s, err);
    s->offset += part.size;
    if (part.kind != PART_SKIP && s->open)
        last_sample(s)->end = s->offset;
    return code;
}

int scan_run(struct header_scan *s, struct sheaf_error *err)
{
    if (s->has_kept) {
        *err = s->kept;
        return err->code;
    }
    while (s->offset < s->object->bytes) {
        int code = step(s, err);

        if (code != SHEAF_OK)
            return code;
    }
    if (!s->ended && s->format->end(&s->state, err) != SHEAF_OK) {
        s->ended = true;
        s->open &= !s->format->has_members;   /* the last member of the sample is complete */
        return damage(s, err);
    }
    return SHEAF_END;
}

uint64_t scan_passed_over(const struct header_scan *s)
{
    return s->passed_over + s->state.passed_over;
}

/* Returns the number of bytes between extent (range of a sample's bytes) number i and the previous
 * extent. */
static uint64_t gap_before(const struct scan_extent *extents, uint64_t i)
{
    return extents[i].begin - (i == 0 ? 0 : extents[i - 1].end);
}

/* ---- Joining ---------------------------------------------------------------------------------
 *
 *     shard    a.jpg | b.jpg | a.cls | b.cls        extents 0 1 2 3
 *     joined   a.jpg | a.cls | b.jpg | b.cls        extents 0 2 1 3; samples 0, 2 */

/* One extent, which is the range of a sample's files, and the first extent with the same key. A
 * list of these is sorted by the position of the first extent. */
struct joining {
    const struct scan_extent *extent, *first;
};

static int by_key(const void *a, const void *b, void *scan)
{
    const struct joining *x = a, *y = b;
    const char *keys = (const char *)((const struct header_scan *)scan)->keys.data;
    const int order = strcmp(keys + x->extent->key, keys + y->extent->key);

    return order != 0 ? order : (x->extent > y->extent) - (x->extent < y->extent);
}

static int by_first(const void *a, const void *b)
{
    const struct joining *x = a, *y = b;

    return x->first != y->first ? (x->first > y->first) - (x->first < y->first)
                                : (x->extent > y->extent) - (x->extent < y->extent);
}

/* Sorts the extents so that extents with the same key are adjacent, in the order of their first
 * extents. Sets *samples to the number of different keys. */
static void sort_joining(struct header_scan *s, struct joining *list, uint64_t count,
                         uint64_t *samples)
{
    const char *keys = (const char *)s->keys.data;

    *samples = 0;
    qsort_r(list, count, sizeof(list[0]), by_key, s);
    for (uint64_t i = 0; i < count; i++) {
        const bool is_new = i == 0 || strcmp(keys + list[i].extent->key,
                                             keys + list[i - 1].extent->key) != 0;

        list[i].first = is_new ? list[i].extent : list[i - 1].first;
        *samples += is_new;
    }
    qsort(list, count, sizeof(list[0]), by_first);
}

/* Fills in an index section whose samples were joined. The section lists the shard's pieces, one
 * for each extent. The bytes after the last sample become one more piece, at the end of the
 * list. */
static void fill_joined(struct header_scan *s, const struct joining *list, uint64_t count,
                        struct index_section *made)
{
    const struct scan_extent *last = last_sample(s);
    uint64_t at = 0, sample = 0;

    for (uint64_t i = 0; i < count; i++) {
        const struct scan_extent *extent = list[i].extent;

        if (extent == list[i].first)
            made->offsets[sample++] = at;
        made->pieces[made->piece_count++] = (struct index_block){ extent->begin, at };
        at += extent->end - extent->begin;
    }
    made->offsets[sample] = at;
    if (last != NULL && last->end < s->object->bytes) {
        made->pieces[made->piece_count++] = (struct index_block){ last->end, at };
        at += s->object->bytes - last->end;
    }
    made->pieces[made->piece_count] = (struct index_block){ s->object->bytes, at };
}

/* Makes an index section in which all extents with the same key form one sample. */
static int join_section(struct header_scan *s, struct joining *list, uint64_t count,
                        struct index_section **section, struct sheaf_error *err)
{
    struct index_section *made;
    uint64_t samples;
    size_t size;

    sort_joining(s, list, count, &samples);
    size = sizeof(*made) + (samples + 1) * sizeof(uint64_t) +
           (count + 2) * sizeof(struct index_block);
    made = calloc(1, size);
    if (made == NULL)
        return err_memory(err, size);
    made->samples = samples;
    made->memory_bytes = size;
    made->offsets = (uint64_t *)(void *)(made + 1);
    made->pieces = (struct index_block *)(void *)(made->offsets + samples + 1);
    fill_joined(s, list, count, made);
    *section = made;
    return SHEAF_OK;
}

static int scan_joined(struct header_scan *s, struct index_section **section,
                       struct sheaf_error *err)
{
    const struct scan_extent *extents = (const void *)s->extents.data;
    const uint64_t count = s->extents.size / sizeof(*extents);
    struct joining *list = calloc(count + 1, sizeof(list[0]));
    int code;

    if (list == NULL)
        return err_memory(err, count * sizeof(list[0]));
    for (uint64_t i = 0; i < count; i++)
        list[i].extent = &extents[i];
    code = join_section(s, list, count, section, err);
    free(list);
    return code;
}

/* ---- The section ----------------------------------------------------------------------------- */

static int plain_section(struct header_scan *s, struct index_section **section,
                         struct sheaf_error *err)
{
    const struct scan_extent *extents = (const void *)s->extents.data;
    const uint64_t count = s->extents.size / sizeof(*extents);
    struct index_section *made;
    uint64_t gaps = 0;
    size_t size;

    for (uint64_t i = 0; i < count; i++)
        gaps += gap_before(extents, i) != 0;
    size = sizeof(*made) + (count + 1) * sizeof(uint64_t) + gaps * sizeof(struct index_gap);
    made = calloc(1, size);     /* one allocation, as index_section_free expects */
    if (made == NULL)
        return err_memory(err, size);
    made->samples = count;
    made->memory_bytes = size;
    made->offsets = (uint64_t *)(void *)(made + 1);
    made->gaps = gaps == 0 ? NULL : (struct index_gap *)(void *)(made->offsets + count + 1);
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t gap = gap_before(extents, i);

        made->offsets[i] = extents[i].begin;
        if (gap != 0)
            made->gaps[made->gap_count++] = (struct index_gap){ .sample = i, .bytes = gap };
    }
    made->offsets[count] = count == 0 ? 0 : extents[count - 1].end;
    *section = made;
    return SHEAF_OK;
}

int scan_section(struct header_scan *s, struct index_section **section, struct sheaf_error *err)
{
    return s->joins && s->state.keys.repeated != 0 ? scan_joined(s, section, err)
                                                   : plain_section(s, section, err);
}
