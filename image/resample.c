/* SPDX-License-Identifier: MIT
 *
 * Resamples rows first and then columns, or the other way round if the caller says so. Each output
 * pixel is a sum of input bytes multiplied by weights of 22 binary digits. This is Pillow's
 * arithmetic, so the result equals Pillow's byte for byte on every machine.
 *
 *     staged (16 rows) -> tile -> columns -> kept (the rows that a pixel is made of) -> to
 *
 * All these buffers stay in the processor's cache. resample_axis.c computes the weights.
 * resample_plain.c and resample_avx2.c have the inner loops. */
#include "image/resample.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"

#define STAGED_MOST 32u         /* rows that a decoder delivers at once */

static size_t in_sixteens(size_t count)
{
    return (count + RESAMPLE_ROWS - 1) / RESAMPLE_ROWS * RESAMPLE_ROWS;
}

/* Returns the number of rows for which the buffer `kept` has room. It is twice the necessary
 * number, so that rows need not be moved each time. */
static size_t kept_rows(uint32_t most)
{
    return 4 * (size_t)most + RESAMPLE_ROWS;
}

static uint64_t weight_bytes(const struct resample_side *side)
{
    return (uint64_t)resample_axis_most(side) *
           (side->out * sizeof(struct resample_pair) + 2 * sizeof(double)) + 8 * side->out;
}

uint64_t resampler_bytes(const struct resample_side *across, const struct resample_side *down)
{
    const struct resample_axes axes = {
        .across = { .size = across->out }, .columns = across->in,
        .down = { .size = down->out, .most = resample_axis_most(down) }, .rows = down->in,
    };

    return resampler_bytes_on(&axes) + weight_bytes(across) + weight_bytes(down);
}

/* Returns the size in bytes of a staged row. It has room for a tile that extends beyond the row's
 * end. */
static size_t wide(const struct resample_axes *axes)
{
    return in_sixteens((size_t)axes->columns + 2 * RESAMPLE_ROWS);
}

uint64_t resampler_bytes_on(const struct resample_axes *axes)
{
    const uint64_t in = wide(axes), out = in_sixteens(axes->across.size);
    const uint64_t rows = kept_rows(axes->down.most) + 1;

    return in * (STAGED_MOST + 2 * RESAMPLE_ROWS) + out * 2 * RESAMPLE_ROWS +
           (axes->down_first ? in * (rows + RESAMPLE_ROWS) : out * rows);
}

int resampler_open_on(struct resampler *r, const struct resample_axes *axes, uint8_t *to,
                      size_t to_stride, struct sheaf_error *err)
{
    const size_t out = in_sixteens(axes->across.size);

    *r = (struct resampler){
        .kernel = resample_kernel(), .across = &axes->across, .down = &axes->down,
        .down_first = axes->down_first, .in_rows = axes->rows, .to = to, .to_stride = to_stride,
        .staged_stride = wide(axes),
        .tile_columns = (uint32_t)in_sixteens((size_t)axes->columns + 1),
        .kept_stride = axes->down_first ? wide(axes) : out,
        .kept_rows = (uint32_t)kept_rows(axes->down.most),
    };
    r->staged = calloc(STAGED_MOST, r->staged_stride);
    r->tile = malloc((size_t)r->tile_columns * 2 * RESAMPLE_ROWS);
    r->columns = calloc(2 * RESAMPLE_ROWS, out);
    r->kept = calloc(r->kept_rows + 1, r->kept_stride);
    if (axes->down_first)
        r->between = calloc(RESAMPLE_ROWS, r->staged_stride);
    if (r->staged == NULL || r->tile == NULL || r->columns == NULL || r->kept == NULL ||
        (axes->down_first && r->between == NULL))
        return err_memory(err, resampler_bytes_on(axes));
    return SHEAF_OK;
}

int resampler_open(struct resampler *r, const struct resample_side *across,
                   const struct resample_side *down, uint8_t *to, size_t to_stride,
                   struct sheaf_error *err)
{
    struct resample_axes axes = { .columns = across->in, .rows = down->in };
    int code = resample_axis_open(&axes.across, across, err);

    *r = (struct resampler){ .in_rows = 0 };
    if (code == SHEAF_OK)
        code = resample_axis_open(&axes.down, down, err);
    if (code == SHEAF_OK)
        code = resampler_open_on(r, &axes, to, to_stride, err);
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

/* Removes rows that no output pixel needs any more from the buffer, to make room for new rows. */
static void make_room(struct resampler *r)
{
    const uint32_t next = r->made < r->down->size ? r->down->first[r->made] : r->in_rows;
    const uint32_t gone = MIN(next - MIN(next, r->kept_first), r->kept_count);

    if (r->kept_count + RESAMPLE_ROWS <= r->kept_rows)
        return;
    memmove(r->kept, r->kept + gone * r->kept_stride, (r->kept_count - gone) * r->kept_stride);
    r->kept_first += gone;
    r->kept_count -= gone;
}

/* Filters at most sixteen rows in the horizontal direction. The output must have room for sixteen
 * rows. */
static void filter_across(struct resampler *r, const uint8_t *from, uint8_t *to, size_t stride)
{
    r->kernel->tile(from, r->staged_stride, r->tile_columns, r->tile);
    r->kernel->across(r->across, r->tile, r->columns);
    r->kernel->untile(r->columns, (uint32_t)in_sixteens(r->across->size), to, stride);
}

/* Used only if columns are resized first. Resizes the waiting rows, which have their final height,
 * to their final width, and adds them to the result. */
static void finish_rows(struct resampler *r)
{
    const size_t out = in_sixteens(r->across->size);
    uint8_t *rows = r->columns + out * RESAMPLE_ROWS;

    filter_across(r, r->between, rows, out);
    for (uint32_t i = 0; i < r->waiting; i++)
        memcpy(r->to + (r->made - r->waiting + i) * r->to_stride, rows + i * out, out);
    r->waiting = 0;
}

/* Where the next row that has its height goes. */
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
        r->kernel->down(down->weights + (size_t)r->made * down->most, pairs,
                        r->kept + (first - r->kept_first) * r->kept_stride, r->kept_stride,
                        (uint32_t)r->kept_stride, next_row(r));
        r->made++;
        if (r->down_first && (++r->waiting == RESAMPLE_ROWS || r->made == down->size))
            finish_rows(r);
    }
}

/* Filters at most sixteen staged rows, which begin at `from`. */
static void filter_rows(struct resampler *r, const uint8_t *from, uint32_t count)
{
    uint8_t *to;

    make_room(r);
    to = r->kept + r->kept_count * r->kept_stride;
    if (r->down_first)
        memcpy(to, from, count * r->kept_stride);
    else
        filter_across(r, from, to, r->kept_stride);
    r->kept_count += count;
    make_rows(r);
}

uint8_t *resampler_place(struct resampler *r)
{
    return r->staged + r->staged_count * r->staged_stride;
}

void resampler_add(struct resampler *r, uint32_t count)
{
    uint32_t at = 0;

    count = MIN(count, r->in_rows - r->read);
    r->read += count;
    r->staged_count += count;
    if (r->staged_count < RESAMPLE_ROWS && r->read < r->in_rows)
        return;
    for (; at < r->staged_count; at += RESAMPLE_ROWS)
        filter_rows(r, r->staged + at * r->staged_stride, MIN(r->staged_count - at, RESAMPLE_ROWS));
    r->staged_count = 0;
}

/* ---- The picture ----------------------------------------------------------------------------- */

/* One of its channels. */
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
    const size_t stride = in_sixteens(width);
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
