/* SPDX-License-Identifier: MIT
 *
 * Makes one crop from the rows of a picture, which arrive from top to bottom. The resampler keeps
 * only the rows that it still needs, so the unscaled crop is never completely in memory. */
#ifndef IMAGE_CROP_SCALER_H
#define IMAGE_CROP_SCALER_H

#include "image/crop_plan.h"
#include "image/resample.h"

struct crop_scaler {
    uint32_t left, top;             /* what it needs of the picture: */
    uint32_t columns, rows;
    unsigned channels;              /* of the rows: 1 or 3 */
    uint32_t width, height;
    enum sheaf_layout layout;
    struct resample_axes axes;
    struct resampler resampler;
    uint8_t *out;
    /* memory for the planes of the result; NULL if they are written directly to `out` */
    uint8_t *scratch;
    size_t stride;                  /* of their rows */
};

/* The memory that one takes, at most. */
uint64_t crop_scaler_bytes(const struct crop_plan *plan, const struct crop_view *view,
                           const struct crop_cut *cut, unsigned channels);
int crop_scaler_open(struct crop_scaler *s, const struct crop_plan *plan,
                     const struct crop_view *view, const struct crop_cut *cut, unsigned channels,
                     uint8_t *out, struct sheaf_error *err);
void crop_scaler_close(struct crop_scaler *s);      /* also of one that is zero */

/* Takes row `y` of the picture, from column `left` on. `pixel` is the number of bytes of a pixel: 1
 * for grey, 3 for RGB, or 4 for RGB with one more byte that is ignored. */
void crop_scaler_row(struct crop_scaler *s, const uint8_t *row, uint32_t left, uint32_t y,
                     unsigned pixel);
/* Must be called after the last row. Converts the result to the layout that the plan states. */
void crop_scaler_finish(const struct crop_scaler *s);

#endif
