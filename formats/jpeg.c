/* SPDX-License-Identifier: MIT
 *
 * Checks that a JPEG is complete: SOI, marker segments, scans of entropy-coded data, EOI (ISO/IEC
 * 10918-1, annex B).
 *
 * This check is needed because decoders invent the missing part of a truncated file. The content of
 * the entropy-coded data is not checked here, because the decoder does that itself. */
#include "formats/jpeg.h"

#include <string.h>

enum { SOI = 0xd8, EOI = 0xd9, SOS = 0xda, RST0 = 0xd0, RST7 = 0xd7, TEM = 0x01,
       APP1 = 0xe1 };

/* Position of the walk, after a marker. */
struct jpeg_walk {
    const uint8_t *p, *end;
    uint8_t marker;
    /* data of the marker's segment, without the two bytes of its length; NULL if the marker has no
     * segment */
    const uint8_t *segment;
    size_t segment_size;
};

static bool stands_alone(uint8_t marker)
{
    return marker == SOI || marker == EOI || marker == TEM || (marker >= RST0 && marker <= RST7);
}

/* Moves to the first byte after the next marker. Skips fill bytes and, like all decoders, bytes
 * outside of segments. Returns false, with p == end, if there is no further marker. */
static bool find_marker(struct jpeg_walk *w)
{
    do {
        w->p = w->p == w->end ? NULL : memchr(w->p, 0xff, (size_t)(w->end - w->p));
        while (w->p != NULL && w->p != w->end && *w->p == 0xff)
            w->p++;
        if (w->p == NULL || w->p == w->end) {
            w->p = w->end;
            return false;
        }
        w->marker = *w->p++;
    } while (w->marker == 0);       /* a stuffed byte */
    return true;
}

/* Moves to the next marker and to the first byte after its segment. Returns false with p == end if
 * the data has ended. Returns false with p != end if the length of the segment is invalid. */
static bool next_marker(struct jpeg_walk *w)
{
    size_t size;

    if (!find_marker(w))
        return false;
    w->segment = NULL;
    w->segment_size = 0;
    if (stands_alone(w->marker))
        return true;
    size = w->end - w->p < 2 ? SIZE_MAX : (size_t)w->p[0] << 8 | w->p[1];
    if (size > (size_t)(w->end - w->p)) {
        w->p = w->end;
        return false;
    }
    if (size < 2)
        return false;
    w->segment = w->p + 2;
    w->segment_size = size - 2;
    w->p += size;
    return true;
}

/* Skips the entropy-coded data of a scan, up to the next marker that is not part of the data. */
static void pass_scan(struct jpeg_walk *w)
{
    while (w->p != w->end) {
        const uint8_t *mark = memchr(w->p, 0xff, (size_t)(w->end - w->p));

        if (mark == NULL || mark + 1 == w->end) {
            w->p = w->end;
            return;
        }
        w->p = mark;
        if (mark[1] != 0 && mark[1] != 0xff && !(mark[1] >= RST0 && mark[1] <= RST7))
            return;
        w->p += mark[1] == 0xff ? 1 : 2;
    }
}

static bool is_frame_header(uint8_t marker)
{
    return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

static bool parse_frame_header(const struct jpeg_walk *w, struct jpeg_info *info)
{
    const uint8_t *s = w->segment;

    if (w->segment_size < 6)
        return false;
    info->height = (uint32_t)s[1] << 8 | s[2];
    info->width = (uint32_t)s[3] << 8 | s[4];
    info->components = s[5];
    return info->height != 0 && info->width != 0 && info->components != 0;
}

static bool walk_begin(struct jpeg_walk *w, const void *data, size_t size)
{
    w->p = data;
    w->end = w->p + size;
    return size >= 3 && w->p[0] == 0xff && w->p[1] == SOI && w->p[2] == 0xff && next_marker(w);
}

bool jpeg_size(const void *data, size_t size, struct jpeg_info *info)
{
    struct jpeg_walk w;

    if (size == 0 || !walk_begin(&w, data, size))
        return false;
    while (next_marker(&w)) {
        if (is_frame_header(w.marker))
            return parse_frame_header(&w, info);
        if (w.marker == SOS || w.marker == EOI)
            return false;
    }
    return false;
}

const uint8_t *jpeg_app1(const void *data, size_t size, const char *begins, size_t begins_size,
                         size_t *rest_size)
{
    struct jpeg_walk w;

    if (size == 0 || !walk_begin(&w, data, size))
        return NULL;
    while (next_marker(&w) && w.marker != SOS && w.marker != EOI) {
        if (w.marker != APP1 || w.segment_size < begins_size ||
            memcmp(w.segment, begins, begins_size) != 0)
            continue;
        *rest_size = w.segment_size - begins_size;
        return w.segment + begins_size;
    }
    return NULL;
}

const char *jpeg_check_whole(const void *data, size_t size, struct jpeg_info *info)
{
    bool framed = false, scanned = false;
    struct jpeg_walk w;

    memset(info, 0, sizeof(*info));
    if (size == 0)
        return "the file is empty";
    if (!walk_begin(&w, data, size))
        return "not a JPEG: it does not begin with SOI and a marker";
    while (next_marker(&w)) {
        if (w.marker == EOI)
            break;
        if (is_frame_header(w.marker) && !framed) {
            framed = true;
            if (!parse_frame_header(&w, info))
                return "invalid JPEG: its frame header is invalid";
        }
        if (w.marker == SOS) {
            scanned = true;
            pass_scan(&w);
        }
    }
    if (w.marker != EOI)
        return w.p == w.end ? "truncated JPEG: it ends before its EOI marker"
                            : "damaged JPEG: a segment with a length below 2";
    if (!framed || !scanned)
        return "invalid JPEG: it has no image data";
    return NULL;
}

const char *jpeg_check(const void *data, size_t size, struct jpeg_info *info)
{
    const char *problem = jpeg_check_whole(data, size, info);

    if (problem == NULL && info->components == 4)
        problem = "a JPEG of four components (CMYK or YCCK)";
    return problem;
}
