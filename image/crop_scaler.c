/* SPDX-License-Identifier: MIT
 *
 * Makes one crop from the rows of a picture; see crop_scaler.h. */
#include "image/crop_scaler.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"

static uint32_t crop_scaler_in_sixteens(uint32_t count)
{
    return (count + RESAMPLE_ROWS - 1) / RESAMPLE_ROWS * RESAMPLE_ROWS;
}

static struct resample_side across_of(const struct crop_plan *plan, const struct crop_view *view,
                                      const struct crop_cut *cut)
{
    return (struct resample_side){ cut->box.width, view->width, cut->box.width, cut->full_width,
                                   cut->left, plan->filter };
}

static struct resample_side down_of(const struct crop_plan *plan, const struct crop_view *view,
                                    const struct crop_cut *cut)
{
    return (struct resample_side){ cut->box.height, view->height, cut->box.height,
                                   cut->full_height, cut->top, plan->filter };
}

/* Returns true if columns are resized before rows. Pillow 13 resizes columns first if the height
 * loses more than twice the number of pixels that the width loses. Earlier releases resize columns
 * first only if the picture is more than 100 times as tall as wide. */
static bool goes_down_first(enum sheaf_pillow order, const struct crop_cut *cut)
{
    const int64_t less_high = (int64_t)cut->box.height - cut->full_height;
    const int64_t less_wide = (int64_t)cut->box.width - cut->full_width;

    if (order == SHEAF_PILLOW13)
        return less_high > 0 && less_high > 2 * less_wide;
    return less_high > 0 && cut->box.height > 100 * (uint64_t)cut->box.width;
}

/* Returns true if the resampler can write directly to the memory of the caller. This requires the
 * layout NCHW (one plane after another) and a width that is a multiple of sixteen. */
static bool is_direct(const struct crop_plan *plan, const struct crop_view *view)
{
    return plan->layout == SHEAF_NCHW && view->width % RESAMPLE_ROWS == 0;
}

static uint64_t crop_scaler_scratch_bytes(const struct crop_view *view, unsigned channels)
{
    return (uint64_t)crop_scaler_in_sixteens(view->width) * view->height * channels;
}

uint64_t crop_scaler_bytes(const struct crop_plan *plan, const struct crop_view *view,
                           const struct crop_cut *cut, unsigned channels)
{
    const struct resample_side across = across_of(plan, view, cut), down = down_of(plan, view, cut);
    const struct resample_axes axes = {
        .across = { .size = across.out }, .columns = across.in,
        .down = { .size = down.out, .most = resample_axis_most(&down) }, .rows = down.in,
        .down_first = goes_down_first(plan->order, cut),
    };

    return resampler_bytes_on(&axes, channels) + resample_axis_bytes(&across) +
           resample_axis_bytes(&down) + crop_scaler_scratch_bytes(view, channels);
}

static int open_axes(struct crop_scaler *s, const struct crop_plan *plan,
                     const struct crop_view *view, const struct crop_cut *cut,
                     struct sheaf_error *err)
{
    const struct resample_side across = across_of(plan, view, cut), down = down_of(plan, view, cut);
    uint32_t first;
    int code = resample_axis_open(&s->axes.across, &across, resampler_step(s->channels), err);

    if (code == SHEAF_OK)
        code = resample_axis_open(&s->axes.down, &down, 1, err);
    if (code != SHEAF_OK)
        return code;
    resample_axis_cut(&s->axes.across, &across, &first, &s->columns);
    s->left = cut->box.left + first;
    resample_axis_cut(&s->axes.down, &down, &first, &s->rows);
    s->top = cut->box.top + first;
    if (cut->box.flipped)
        resample_axis_mirror(&s->axes.across);
    s->axes.columns = s->columns;
    s->axes.rows = s->rows;
    s->axes.down_first = goes_down_first(plan->order, cut);
    return SHEAF_OK;
}

int crop_scaler_open(struct crop_scaler *s, const struct crop_plan *plan,
                     const struct crop_view *view, const struct crop_cut *cut, unsigned channels,
                     uint8_t *out, struct sheaf_error *err)
{
    struct resample_place place = {
        .to = out, .stride = crop_scaler_in_sixteens(view->width), .planes = channels,
        .plane = crop_scaler_in_sixteens(view->width) * (size_t)view->height,
    };
    int code;

    *s = (struct crop_scaler){
        .channels = channels, .width = view->width, .height = view->height,
        .layout = plan->layout, .out = out, .stride = place.stride,
    };
    code = open_axes(s, plan, view, cut, err);
    if (code == SHEAF_OK && !is_direct(plan, view)) {
        s->scratch = place.to = malloc(crop_scaler_scratch_bytes(view, channels));
        if (s->scratch == NULL)
            code = err_memory(err, crop_scaler_scratch_bytes(view, channels));
    }
    if (code == SHEAF_OK)
        code = resampler_open_on(&s->resampler, &s->axes, &place, err);
    return code;
}

void crop_scaler_close(struct crop_scaler *s)
{
    resampler_close(&s->resampler);
    resample_axis_close(&s->axes.across);
    resample_axis_close(&s->axes.down);
    free(s->scratch);
}

void crop_scaler_row(struct crop_scaler *s, const uint8_t *row, uint32_t left, uint32_t y,
                     unsigned pixel)
{
    const uint8_t *from = row + (size_t)(s->left - left) * pixel;
    uint8_t *to;

    if (y < s->top || y - s->top >= s->rows)
        return;
    to = resampler_place(&s->resampler);
    if (pixel == 3)
        for (uint32_t x = 0; x < s->columns; x++)
            for (int c = 0; c < 3; c++)
                to[4 * x + c] = from[3 * x + c];
    else
        memcpy(to, from, (size_t)s->columns * pixel);
    resampler_add(&s->resampler, 1);
}

void crop_scaler_finish(const struct crop_scaler *s)
{
    const size_t plane = (size_t)s->width * s->height;
    const uint8_t *from[3] = { s->scratch, s->scratch, s->scratch };

    if (s->scratch == NULL) {
        for (unsigned c = s->channels; c < 3; c++)
            memcpy(s->out + c * plane, s->out, plane);
        return;
    }
    for (unsigned c = 0; c < s->channels; c++)
        from[c] = s->scratch + c * s->stride * s->height;
    for (uint32_t y = 0; y < s->height; y++)
        if (s->layout == SHEAF_NHWC) {
            const uint8_t *const rows[] = { from[0] + y * s->stride, from[1] + y * s->stride,
                                            from[2] + y * s->stride };

            s->resampler.kernel->join(rows, s->width, s->out + (size_t)y * s->width * 3);
        } else {
            for (unsigned c = 0; c < 3; c++)
                memcpy(s->out + c * plane + (size_t)y * s->width, from[c] + y * s->stride,
                       s->width);
        }
}
