/* SPDX-License-Identifier: MIT
 *
 * Scans the headers of a shard; see scan.h. */
#include "reader/dataset/scan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"

/* Number of bytes to read at a position to which the scan has skipped. Nearly all headers are
 * shorter than this. */
#define HEADER_BYTES ((size_t)4 << 10)
/* Number of bytes to read at once if headers are close together, or if the scan searches for a
 * header after damage. */
#define DENSE_BYTES  ((size_t)256 << 10)

struct scan_extent {
    uint64_t begin, end;
    /* Used only if all files with the same key become one sample: offset in `keys` at which the key
     * of this sample begins. */
    uint64_t key;
};

/* Implements framing_bytes.show. */
static int scan_show(struct framing *w, size_t need, struct shown *shown, struct sheaf_error *err)
{
    struct header_scan *s = (struct header_scan *)w;
    const uint64_t left = w->bytes - w->at;
    const uint64_t window_end = s->window_offset + s->window.size;
    const bool near = w->at >= s->window_offset && w->at < window_end + DENSE_BYTES;
    size_t skip, wanted;
    int code;

    *shown = (struct shown){ .at_end = true };
    if (left == 0)
        return SHEAF_OK;
    if (w->at < s->window_offset || w->at > window_end
        || window_end - w->at < MIN((uint64_t)need, left)) {
        wanted = MAX(need, near && s->window.size != 0 ? DENSE_BYTES : HEADER_BYTES);
        wanted = (size_t)MIN((uint64_t)wanted, left);
        s->window.size = 0;
        code = buf_reserve(&s->window, wanted, err);
        if (code == SHEAF_OK)
            code = store_read(s->object, w->at, s->window.data, wanted, err);
        if (code != SHEAF_OK)
            return code;
        s->window_offset = w->at;
        s->window.size = wanted;
    }
    skip = (size_t)(w->at - s->window_offset);
    *shown = (struct shown){ s->window.data + skip, s->window.size - skip,
                             s->window.size - skip == left };
    return SHEAF_OK;
}

/* Implements framing_bytes.take for the scan of headers. If all files with the same key become one
 * sample, stores the key of the frame (stored record) that begins here. */
static int scan_take(struct framing *w, const struct part *part, struct sheaf_error *err)
{
    struct header_scan *s = (struct header_scan *)w;
    int code;

    if (!s->joins || part->kind != PART_START)
        return SHEAF_OK;
    s->key = s->keys.size;
    code = buf_append(&s->keys, w->scan.key.data, w->scan.key.size, err);
    return code == SHEAF_OK ? buf_append(&s->keys, "", 1, err) : code;
}

static const struct framing_bytes scanned_bytes = { .show = scan_show, .take = scan_take };

void scan_open(struct header_scan *s, const struct format_ops *format, struct store_object *object)
{
    memset(s, 0, sizeof(*s));
    framing_open(&s->framing, &scanned_bytes, format);
    s->framing.bytes = object->bytes;
    s->object = object;
    s->window.limit = s->extents.limit = s->keys.limit = SIZE_MAX;
}

void scan_close(struct header_scan *s)
{
    framing_close(&s->framing);
    buf_free(&s->window);
    buf_free(&s->extents);
    buf_free(&s->keys);
}

int scan_run(struct header_scan *s, struct sheaf_error *err)
{
    struct framing *w = &s->framing;
    int code;

    while ((code = framing_next(w, err)) == SHEAF_OK) {
        const struct scan_extent extent = { .begin = w->begin, .end = w->at, .key = s->key };

        code = buf_append(&s->extents, &extent, sizeof(extent), err);
        if (code != SHEAF_OK)
            return code;
    }
    if (!framing_is_of_data(code))
        return code;
    if (!framing_is_damage(code))       /* The shard cannot be read further. */
        framing_lose(w, w->bytes - w->begin, err);
    return err_prefix(err, "%s: ", s->object->url);
}

/* ---- The section ----------------------------------------------------------------------------- */

/* Returns the number of bytes between extent number `i` and the extent before it. An extent is the
 * range of bytes of a sample. */
static uint64_t scan_gap_before(const struct scan_extent *extents, uint64_t i)
{
    return extents[i].begin - (i == 0 ? 0 : extents[i - 1].end);
}

/* ---- Joining ---------------------------------------------------------------------------------
 *
 *     shard    a.jpg | b.jpg | a.cls | b.cls        extents 0 1 2 3
 *     joined   a.jpg | a.cls | b.jpg | b.cls        extents 0 2 1 3; samples 0, 2 */

/* One extent, which is a range of adjacent files of one sample in a tar. `first` is the first
 * extent with the same key. If a list of these structs is sorted by `first`, extents with the same
 * key are adjacent. */
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

/* Sorts the extents (ranges of adjacent files with the same key) so that extents with the same key
 * are adjacent. The keys are in the order of their first extents. Sets *samples to the number of
 * different keys. */
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

/* Fills the index section of a tar in which files of other samples lie between the files of a
 * sample. The section has a list of pieces of the tar, one for each extent (range of adjacent files
 * with the same key). The bytes of the tar after the last sample are one more piece, which is the
 * last of the list. */
static void fill_joined(struct header_scan *s, const struct joining *list, uint64_t count,
                        struct index_section *made)
{
    uint64_t at = 0, sample = 0, end = 0;

    for (uint64_t i = 0; i < count; i++) {
        const struct scan_extent *extent = list[i].extent;

        if (extent == list[i].first)
            made->offsets[sample++] = at;
        made->pieces[made->piece_count++] = (struct index_block){ extent->begin, at };
        at += extent->end - extent->begin;
        end = MAX(end, extent->end);
    }
    made->offsets[sample] = at;
    if (count != 0 && end < s->object->bytes) {
        made->pieces[made->piece_count++] = (struct index_block){ end, at };
        at += s->object->bytes - end;
    }
    made->pieces[made->piece_count] = (struct index_block){ s->object->bytes, at };
}

/* Makes an index section in which all extents (ranges of adjacent files) with the same key form one
 * sample. */
static int scan_join_section(struct header_scan *s, struct joining *list, uint64_t count,
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
    code = scan_join_section(s, list, count, section, err);
    free(list);
    return code;
}

static int plain_section(struct header_scan *s, struct index_section **section,
                         struct sheaf_error *err)
{
    const struct scan_extent *extents = (const void *)s->extents.data;
    const uint64_t count = s->extents.size / sizeof(*extents);
    struct index_section *made;
    uint64_t gaps = 0;
    size_t size;

    for (uint64_t i = 0; i < count; i++)
        gaps += scan_gap_before(extents, i) != 0;
    size = sizeof(*made) + (count + 1) * sizeof(uint64_t) + gaps * sizeof(struct index_gap);
    made = calloc(1, size);     /* index_section_free expects a single allocation. */
    if (made == NULL)
        return err_memory(err, size);
    made->samples = count;
    made->memory_bytes = size;
    made->offsets = (uint64_t *)(void *)(made + 1);
    made->gaps = gaps == 0 ? NULL : (struct index_gap *)(void *)(made->offsets + count + 1);
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t gap = scan_gap_before(extents, i);

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
    return s->joins && s->framing.scan.keys.repeated != 0 ? scan_joined(s, section, err)
                                                   : plain_section(s, section, err);
}
