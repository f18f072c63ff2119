/* SPDX-License-Identifier: MIT
 *
 * Makes a picture smaller by Lanczos' filter of three lobes, widened by the ratio so that nothing
 * aliases: plane by plane, and row by row as they come, so that of the large picture there are but
 * some rows at a time. */
#ifndef IMAGE_RESAMPLE_H
#define IMAGE_RESAMPLE_H

#include "image/pixels.h"
#include "image/resample_axis.h"

/* Changes with every change of what it computes, or of what is given to it. */
#define RESAMPLE_VERSION 2

struct resampler {
    const struct resample_kernel *kernel;
    struct resample_axis across, down;
    uint32_t in_rows, read;     /* rows of the plane; that have been read */
    uint8_t *staged;            /* rows that are to be read next: */
    size_t staged_stride;
    uint32_t staged_rows, staged_count;
    uint32_t *tile;             /* of them, */
    uint32_t tile_columns;      /* with one more column at least */
    uint8_t *columns;
    uint8_t *kept;              /* rows that have their width, */
    size_t kept_stride;
    uint32_t kept_rows, kept_first, kept_count;         /* from kept_first on */
    uint8_t *to;
    size_t to_stride;
    uint32_t made;              /* rows of the result */
};

/* What one takes beside its result. */
uint64_t resampler_bytes(const struct resample_side *across, const struct resample_side *down);

/* The result's rows begin `to_stride` apart, which is a multiple of sixteen, as they are filled up
 * to one. */
int resampler_open(struct resampler *r, const struct resample_side *across,
                   const struct resample_side *down, uint8_t *to, size_t to_stride,
                   struct sheaf_error *err);
void resampler_close(struct resampler *r);      /* also of one that is zero */

/* Where the next rows are to be put, `staged_stride` apart; there is room for a power of two, at
 * most 32, if it is always the same one. */
uint8_t *resampler_place(struct resampler *r);
/* So many are there; what is more than the plane has is passed over.  With the last row the result
 * is whole. */
void resampler_add(struct resampler *r, uint32_t count);

/* Replaces the picture, which stands for `of_width` / `divisor` columns and `of_height` / `divisor`
 * rows. */
int resample(struct pixels *pixels, uint32_t of_width, uint32_t of_height, unsigned divisor,
             uint32_t width, uint32_t height, struct sheaf_error *err);

#endif
