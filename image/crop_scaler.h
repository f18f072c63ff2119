/* SPDX-License-Identifier: MIT
 *
 * Makes one crop of a picture whose rows come from the top: each row is split into planes, of which
 * the resampler keeps as few rows as it can, so the crop never exists as a picture. */
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
    struct resampler planes[3];
    uint8_t *out;
    uint8_t *scratch;               /* planes that the result is made of; NULL: they are in `out` */
    size_t stride;                  /* of their rows */
};

/* The memory that one takes, at most. */
uint64_t crop_scaler_bytes(const struct crop_plan *plan, const struct crop_view *view,
                           const struct crop_cut *cut, unsigned channels);
int crop_scaler_open(struct crop_scaler *s, const struct crop_plan *plan,
                     const struct crop_view *view, const struct crop_cut *cut, unsigned channels,
                     uint8_t *out, struct sheaf_error *err);
void crop_scaler_close(struct crop_scaler *s);      /* also of one that is zero */

/* Takes row `y` of the picture, which begins with column `left`.  A pixel has `pixel` bytes: 1 of a
 * grey picture, else 3, or 4 of which the last is ignored. The row must be followed by
 * CROP_ROW_SLACK more bytes. */
#define CROP_ROW_SLACK 64u
void crop_scaler_row(struct crop_scaler *s, const uint8_t *row, uint32_t left, uint32_t y,
                     unsigned pixel);
/* After the last row: brings the result into its layout. */
void crop_scaler_finish(const struct crop_scaler *s);

#endif
