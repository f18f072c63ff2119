/* SPDX-License-Identifier: MIT
 *
 * Makes one crop from the rows of a picture, which the caller passes from top to bottom. The
 * resampler keeps only the rows that it still needs, so the crop is never completely in memory
 * before it is resized. */
#ifndef IMAGE_CROP_SCALER_H
#define IMAGE_CROP_SCALER_H

#include "image/crop_plan.h"
#include "image/resample.h"

struct crop_scaler {
    uint32_t left, top;             /* the part of the picture that the crop needs */
    uint32_t columns, rows;
    unsigned channels;              /* channels of the picture's rows: 1 or 3 */
    uint32_t width, height;
    enum sheaf_layout layout;
    struct resample_axes axes;
    struct resampler resampler;
    uint8_t *out;
    /* Memory for the planes of the resized crop, from which they are copied to `out`. NULL if the
     * resampler writes the planes directly to `out`. */
    uint8_t *scratch;
    /* number of bytes from one row of `scratch` to the next */
    size_t stride;
};

/* Returns an upper bound for the memory that a scaler allocates, in bytes. */
uint64_t crop_scaler_bytes(const struct crop_plan *plan, const struct crop_view *view,
                           const struct crop_cut *cut, unsigned channels);
int crop_scaler_open(struct crop_scaler *s, const struct crop_plan *plan,
                     const struct crop_view *view, const struct crop_cut *cut, unsigned channels,
                     uint8_t *out, struct sheaf_error *err);
void crop_scaler_close(struct crop_scaler *s);      /* The scaler may be all zeros. */

/* Adds row `y` of the picture to the crop. The first pixel of `row` belongs to column `left` of the
 * picture. `pixel` is the number of bytes of a pixel: 1 for grey, 3 for RGB, or 4 for RGB and a
 * byte that is ignored. */
void crop_scaler_row(struct crop_scaler *s, const uint8_t *row, uint32_t left, uint32_t y,
                     unsigned pixel);
/* Writes the finished crop to `out` in the layout of the plan. Does nothing if the resampler has
 * already written it there. Must be called after the last row was added. */
void crop_scaler_finish(const struct crop_scaler *s);

#endif
