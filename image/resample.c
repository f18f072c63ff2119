/* SPDX-License-Identifier: MIT
 *
 * Resizes a picture. First its rows are resized to the final width, and then its columns to the
 * final height. If the caller says so, columns are resized first.
 *
 * Each value of the result is a sum of bytes multiplied by weights. The weights have 22 binary
 * digits after the point, as in Pillow. So the result has the same bytes as Pillow's on every
 * machine.
 *
 * If rows are resized first, the rows of a plane pass through these buffers:
 * - `staged`: rows from the decoder.
 * - `tile`: 16 rows of `staged`, rearranged for vector instructions.
 * - `columns`: the 16 rows with the final width, stored column by column.
 * - `kept`: the same values, stored row by row. From them, the rows of the result are computed.
 *
 * Rows of RGB pixels take a shorter way: two rows at a time go directly from `staged` to three
 * planes in `kept`. All buffers fit into the processor's cache. */
#include "image/resample.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"

/* largest number of rows that a decoder delivers at once */
#define STAGED_MOST 32u

static size_t resample_in_sixteens(size_t count)
{
    return (count + RESAMPLE_ROWS - 1) / RESAMPLE_ROWS * RESAMPLE_ROWS;
}

/* Returns the number of rows for which the buffer `kept` has room. This is about twice the number
 * of rows that are needed at a time. So the rows must be moved to the beginning of the buffer only
 * now and then, and not for each new row. */
static size_t kept_rows(uint32_t most)
{
    return 4 * (size_t)most + RESAMPLE_ROWS;
}

uint64_t resampler_bytes(const struct resample_side *across, const struct resample_side *down)
{
    const struct resample_axes axes = {
        .across = { .size = across->out }, .columns = across->in,
        .down = { .size = down->out, .most = resample_axis_most(down) }, .rows = down->in,
    };

    return resampler_bytes_on(&axes, 1) + resample_axis_bytes(across) + resample_axis_bytes(down);
}

/* Returns the number of rows that the inner loop for rows resizes in one call. It is RESAMPLE_ROWS
 * for one plane, and RESAMPLE_PIXEL_ROWS for rows of pixels of four bytes. */
static uint32_t resample_at_once(unsigned planes)
{
    return planes == 1 ? RESAMPLE_ROWS : RESAMPLE_PIXEL_ROWS;
}

static uint32_t staged_rows(unsigned planes)
{
    return planes == 1 ? STAGED_MOST : RESAMPLE_PIXEL_ROWS;
}

/* Returns the number of bytes to allocate for each row of the buffer `staged`. This is more than
 * the length of the row, because the inner loops may read beyond its end. */
static size_t wide(const struct resample_axes *axes, unsigned planes)
{
    return resample_in_sixteens((size_t)axes->columns + 2 * RESAMPLE_ROWS) * (planes == 1 ? 1 : 4);
}

static size_t kept_stride(const struct resample_axes *axes, unsigned planes)
{
    return axes->down_first ? wide(axes, planes) : resample_in_sixteens(axes->across.size);
}

static unsigned kept_planes(const struct resample_axes *axes, unsigned planes)
{
    return axes->down_first ? 1 : planes;
}

static size_t kept_plane(const struct resample_axes *axes, unsigned planes)
{
    return (kept_rows(axes->down.most) + 1) * kept_stride(axes, planes);
}

static uint32_t tile_columns(const struct resample_axes *axes)
{
    return (uint32_t)resample_in_sixteens((size_t)axes->columns + 1);
}

uint32_t resampler_step(unsigned planes)
{
    return planes == 1 ? 2 : 1;
}

uint64_t resampler_bytes_on(const struct resample_axes *axes, unsigned planes)
{
    const uint64_t in = wide(axes, planes), out = resample_in_sixteens(axes->across.size);

    return in * staged_rows(planes) + out * 2 * RESAMPLE_ROWS +
           (planes == 1 ? (uint64_t)tile_columns(axes) * 2 * RESAMPLE_ROWS : 0) +
           (uint64_t)kept_planes(axes, planes) * kept_plane(axes, planes) +
           (axes->down_first ? in * resample_at_once(planes) : 0);
}

int resampler_open_on(struct resampler *r, const struct resample_axes *axes,
                      const struct resample_place *place, struct sheaf_error *err)
{
    const unsigned planes = place->planes;

    *r = (struct resampler){
        .kernel = resample_kernel(), .across = &axes->across, .down = &axes->down,
        .planes = planes, .down_first = axes->down_first, .in_rows = axes->rows,
        .to = place->to, .to_stride = place->stride, .to_plane = place->plane,
        .staged_stride = wide(axes, planes), .tile_columns = tile_columns(axes),
        .kept_stride = kept_stride(axes, planes), .kept_planes = kept_planes(axes, planes),
        .kept_plane = kept_plane(axes, planes), .kept_rows = (uint32_t)kept_rows(axes->down.most),
    };
    r->staged = calloc(staged_rows(planes), r->staged_stride);
    if (planes == 1)
        r->tile = malloc((size_t)r->tile_columns * 2 * RESAMPLE_ROWS);
    r->columns = calloc(2 * RESAMPLE_ROWS, resample_in_sixteens(axes->across.size));
    r->kept = calloc(r->kept_planes, r->kept_plane);
    if (axes->down_first)
        r->between = calloc(resample_at_once(planes), r->staged_stride);
    if (r->staged == NULL || (planes == 1 && r->tile == NULL) || r->columns == NULL ||
        r->kept == NULL || (axes->down_first && r->between == NULL))
        return err_memory(err, resampler_bytes_on(axes, planes));
    return SHEAF_OK;
}

int resampler_open(struct resampler *r, const struct resample_side *across,
                   const struct resample_side *down, uint8_t *to, size_t to_stride,
                   struct sheaf_error *err)
{
    const struct resample_place place = { .to = to, .stride = to_stride, .planes = 1 };
    struct resample_axes axes = { .columns = across->in, .rows = down->in };
    int code = resample_axis_open(&axes.across, across, resampler_step(1), err);

    *r = (struct resampler){ .in_rows = 0 };
    if (code == SHEAF_OK)
        code = resample_axis_open(&axes.down, down, 1, err);
    if (code == SHEAF_OK)
        code = resampler_open_on(r, &axes, &place, err);
    r->own[0] = axes.across;
    r->own[1] = axes.down;
    r->across = &r->own[0];
    r->down = &r->own[1];
    return code;
}

void resampler_close(struct resampler *r)
{
    resample_axis_close(&r->own[0]);
    resample_axis_close(&r->own[1]);
    free(r->staged);
    free(r->tile);
    free(r->columns);
    free(r->kept);
    free(r->between);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Makes room for new rows in the buffer `kept` if it is full. Drops rows that are no longer needed,
 * and moves the other rows to the beginning of the buffer. */
static void resample_make_room(struct resampler *r)
{
    const uint32_t next = r->made < r->down->size ? r->down->first[r->made] : r->in_rows;
    const uint32_t gone = MIN(next - MIN(next, r->kept_first), r->kept_count);

    if (r->kept_count + RESAMPLE_ROWS <= r->kept_rows)
        return;
    for (unsigned p = 0; p < r->kept_planes; p++) {
        uint8_t *kept = r->kept + p * r->kept_plane;

        memmove(kept, kept + gone * r->kept_stride, (r->kept_count - gone) * r->kept_stride);
    }
    r->kept_first += gone;
    r->kept_count -= gone;
}

/* Resizes rows to the final width. Reads resample_at_once(planes) rows from `from`, and writes them
 * to `to`. In `to`, each row begins `stride` bytes after the row before it, and each plane `plane`
 * bytes after the plane before it. */
static void filter_across(struct resampler *r, const uint8_t *from, uint8_t *to, size_t stride,
                          size_t plane)
{
    if (r->planes != 1) {
        r->kernel->pixels(r->across, from, r->staged_stride, to, stride, plane);
        return;
    }
    r->kernel->tile(from, r->staged_stride, r->tile_columns, r->tile);
    r->kernel->across(r->across, r->tile, r->columns);
    r->kernel->untile(r->columns, (uint32_t)resample_in_sixteens(r->across->size), to, stride);
}

/* Resizes rows that already have the final height to the final width, and writes them to the
 * result. Used only if columns are resized before rows. */
static void finish_rows(struct resampler *r)
{
    const size_t out = resample_in_sixteens(r->across->size),
        plane = resample_at_once(r->planes) * out;
    uint8_t *rows = r->columns + out * RESAMPLE_ROWS;

    filter_across(r, r->between, rows, out, plane);
    for (unsigned p = 0; p < r->planes; p++)
        for (uint32_t i = 0; i < r->waiting; i++)
            memcpy(r->to + p * r->to_plane + (r->made - r->waiting + i) * r->to_stride,
                   rows + p * plane + i * out, out);
    r->waiting = 0;
}

/* Returns the address to which the next row with the final height is written. */
static uint8_t *next_row(struct resampler *r)
{
    return r->down_first ? r->between + r->waiting * r->staged_stride
                         : r->to + r->made * r->to_stride;
}

static void make_rows(struct resampler *r)
{
    const struct resample_axis *down = r->down;
    const uint32_t end = r->kept_first + r->kept_count;

    while (r->made < down->size) {
        const uint32_t first = down->first[r->made], pairs = down->pairs[r->made];

        if (MIN(first + 2 * pairs, r->in_rows) > end)
            return;
        for (unsigned p = 0; p < r->kept_planes; p++)
            r->kernel->down(down->weights + (size_t)r->made * down->most, pairs,
                            r->kept + p * r->kept_plane + (first - r->kept_first) * r->kept_stride,
                            r->kept_stride, (uint32_t)r->kept_stride,
                            next_row(r) + p * r->to_plane);
        r->made++;
        if (r->down_first && (++r->waiting == resample_at_once(r->planes) || r->made == down->size))
            finish_rows(r);
    }
}

/* Adds `count` decoded rows, which begin at `from`, to `kept`, and makes the rows of the result
 * that are now possible. `count` must be at most resample_at_once(planes). */
static void filter_rows(struct resampler *r, const uint8_t *from, uint32_t count)
{
    uint8_t *to;

    resample_make_room(r);
    to = r->kept + r->kept_count * r->kept_stride;
    if (r->down_first)
        memcpy(to, from, count * r->kept_stride);
    else
        filter_across(r, from, to, r->kept_stride, r->kept_plane);
    r->kept_count += count;
    make_rows(r);
}

uint8_t *resampler_place(struct resampler *r)
{
    return r->staged + r->staged_count * r->staged_stride;
}

void resampler_add(struct resampler *r, uint32_t count)
{
    const uint32_t most = resample_at_once(r->planes);
    uint32_t at = 0;

    count = MIN(count, r->in_rows - r->read);
    r->read += count;
    r->staged_count += count;
    if (r->staged_count < most && r->read < r->in_rows)
        return;
    for (; at < r->staged_count; at += most)
        filter_rows(r, r->staged + at * r->staged_stride, MIN(r->staged_count - at, most));
    r->staged_count = 0;
}

/* ---- The picture ----------------------------------------------------------------------------- */

/* Resizes one channel of a picture. */
static int resample_channel(const struct pixels *p, unsigned channel,
                            const struct resample_side *across, const struct resample_side *down,
                            uint8_t *to, size_t to_stride, struct sheaf_error *err)
{
    struct resampler r;
    int code = resampler_open(&r, across, down, to, to_stride, err);

    for (uint32_t y = 0; y < p->height && code == SHEAF_OK; y++) {
        const uint8_t *from = pixels_row(p, y) + channel;
        uint8_t *row = resampler_place(&r);

        for (uint32_t x = 0; x < p->width; x++, from += p->channels)
            row[x] = *from;
        resampler_add(&r, 1);
    }
    resampler_close(&r);
    return code;
}

int resample(struct pixels *p, uint32_t of_width, uint32_t of_height, unsigned divisor,
             uint32_t width, uint32_t height, struct sheaf_error *err)
{
    const struct resample_side across = { p->width, width, (double)of_width / divisor, width, 0,
                                          RESAMPLE_LANCZOS };
    const struct resample_side down = { p->height, height, (double)of_height / divisor, height, 0,
                                        RESAMPLE_LANCZOS };
    const size_t stride = resample_in_sixteens(width);
    struct pixels result = { .data = NULL };
    uint8_t *plane = malloc(stride * height);
    int code = plane == NULL ? err_memory(err, stride * height)
                             : pixels_map(&result, width, height, p->channels, err);

    for (unsigned c = 0; c < p->channels && code == SHEAF_OK; c++) {
        code = resample_channel(p, c, &across, &down, plane, stride, err);
        for (uint32_t y = 0; y < height && code == SHEAF_OK; y++)
            for (uint32_t x = 0; x < width; x++)
                pixels_row(&result, y)[x * p->channels + c] = plane[y * stride + x];
    }
    free(plane);
    if (code != SHEAF_OK) {
        pixels_close(&result);
        return code;
    }
    pixels_close(p);
    *p = result;
    return SHEAF_OK;
}
