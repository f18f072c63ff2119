/* SPDX-License-Identifier: MIT
 *
 * Resamples rows first, then columns. Each pixel is a sum of bytes times weights of 22 binary
 * digits. This is Pillow's arithmetic, so the result equals Pillow's byte for byte, on every
 * machine.
 *
 *     staged (16 rows) -> tile -> columns -> kept (the rows that a pixel is made of) -> to
 *
 * All of it stays in the processor's cache. resample_axis.c computes the weights, and
 * resample_plain.c and others have the inner loops. */
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

/* Returns the number of rows kept. Twice the necessary number avoids moving rows each time. */
static size_t kept_rows(const struct resample_side *down)
{
    return 4 * (size_t)resample_axis_most(down) + RESAMPLE_ROWS;
}

/* Returns the bytes of the kept rows. One more row is added, because the last pair of a plane may
 * lack its second row. */
static size_t kept_bytes(const struct resample_side *across, const struct resample_side *down)
{
    return (kept_rows(down) + 1) * in_sixteens(across->out);
}

static uint64_t weight_bytes(const struct resample_side *side)
{
    return (uint64_t)resample_axis_most(side) *
           (side->out * sizeof(struct resample_pair) + 2 * sizeof(double)) + 8 * side->out;
}

uint64_t resampler_bytes(const struct resample_side *across, const struct resample_side *down)
{
    const uint64_t wide = in_sixteens(across->in + 2 * RESAMPLE_ROWS);

    return wide * (STAGED_MOST + 2 * RESAMPLE_ROWS) + kept_bytes(across, down) +
           in_sixteens(across->out) * RESAMPLE_ROWS + weight_bytes(across) + weight_bytes(down);
}

int resampler_open(struct resampler *r, const struct resample_side *across,
                   const struct resample_side *down, uint8_t *to, size_t to_stride,
                   struct sheaf_error *err)
{
    int code;

    *r = (struct resampler){
        .kernel = resample_avx2(), .in_rows = down->in, .to = to, .to_stride = to_stride,
        .staged_stride = in_sixteens(across->in + 2 * RESAMPLE_ROWS),
        .tile_columns = (uint32_t)in_sixteens((size_t)across->in + 1),
        .kept_stride = in_sixteens(across->out), .kept_rows = (uint32_t)kept_rows(down),
    };
    if (r->kernel == NULL)
        r->kernel = &resample_plain;
    code = resample_axis_open(&r->across, across, err);
    if (code == SHEAF_OK)
        code = resample_axis_open(&r->down, down, err);
    if (code != SHEAF_OK)
        return code;
    r->staged = calloc(STAGED_MOST, r->staged_stride);
    r->tile = malloc((size_t)r->tile_columns * 2 * RESAMPLE_ROWS);
    r->columns = calloc(RESAMPLE_ROWS, r->kept_stride);
    r->kept = calloc(r->kept_rows + 1, r->kept_stride);
    if (r->staged == NULL || r->tile == NULL || r->columns == NULL || r->kept == NULL)
        return err_memory(err, resampler_bytes(across, down));
    return SHEAF_OK;
}

void resampler_close(struct resampler *r)
{
    resample_axis_close(&r->across);
    resample_axis_close(&r->down);
    free(r->staged);
    free(r->tile);
    free(r->columns);
    free(r->kept);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Removes rows that no pixel needs any more, to make room for new ones. */
static void make_room(struct resampler *r)
{
    const uint32_t next = r->made < r->down.size ? r->down.first[r->made] : r->in_rows;
    const uint32_t gone = MIN(next - MIN(next, r->kept_first), r->kept_count);

    if (r->kept_count + RESAMPLE_ROWS <= r->kept_rows)
        return;
    memmove(r->kept, r->kept + gone * r->kept_stride, (r->kept_count - gone) * r->kept_stride);
    r->kept_first += gone;
    r->kept_count -= gone;
}

static void make_rows(struct resampler *r)
{
    const struct resample_axis *down = &r->down;
    const uint32_t end = r->kept_first + r->kept_count;

    for (; r->made < down->size; r->made++) {
        const uint32_t first = down->first[r->made], pairs = down->pairs[r->made];

        if (MIN(first + 2 * pairs, r->in_rows) > end)
            return;
        r->kernel->down(down->weights + (size_t)r->made * down->most, pairs,
                        r->kept + (first - r->kept_first) * r->kept_stride, r->kept_stride,
                        (uint32_t)r->kept_stride, r->to + r->made * r->to_stride);
    }
}

/* Filters at most sixteen rows that are staged from `from` on. */
static void filter_rows(struct resampler *r, const uint8_t *from, uint32_t count)
{
    make_room(r);
    r->kernel->tile(from, r->staged_stride, r->tile_columns, r->tile);
    r->kernel->across(&r->across, r->tile, r->columns);
    r->kernel->untile(r->columns, (uint32_t)r->kept_stride,
                      r->kept + r->kept_count * r->kept_stride, r->kept_stride);
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
    const struct resample_side across = { p->width, width, (double)of_width / divisor, width, 0 };
    const struct resample_side down = { p->height, height, (double)of_height / divisor, height, 0 };
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
