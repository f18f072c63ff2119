/* SPDX-License-Identifier: MIT
 *
 * Resizes one plane of a picture, or three planes at once. In the second case, the rows of the
 * picture consist of pixels of four bytes (red, green, blue, and one that is ignored). The
 * resampler takes rows as they arrive, so only some rows of the large picture are in memory. */
#ifndef IMAGE_RESAMPLE_H
#define IMAGE_RESAMPLE_H

#include "image/pixels.h"
#include "image/resample_axis.h"

/* Version of the resampler. It must change with every change of the result, or of the decoder's
 * output that is resampled. */
#define RESAMPLE_VERSION 2

struct resampler {
    const struct resample_kernel *kernel;
    const struct resample_axis *across, *down;
    struct resample_axis own[2];        /* the two, unless the caller keeps them */
    /* number of planes of the result: 1 if the caller adds rows of bytes, 3 if the caller adds
     * rows of pixels of four bytes */
    unsigned planes;
    bool down_first;            /* columns are filtered before rows are */
    uint32_t in_rows, read;     /* rows of the picture, and rows read so far */
    uint8_t *staged;            /* memory for the rows to be read next */
    size_t staged_stride;
    uint32_t staged_count;
    /* the rows of a plane that wait to be resampled, rearranged as a tile (see resample_kernel.h);
     * NULL if rows consist of pixels */
    uint32_t *tile;
    /* number of columns of the tile, which is at least one more than the plane has */
    uint32_t tile_columns;
    uint8_t *columns;
    uint8_t *kept;              /* rows that have their width (or down_first: have not), */
    size_t kept_stride;
    unsigned kept_planes;       /* number of planes in `kept` */
    size_t kept_plane;          /* bytes from one plane in `kept` to the next */
    uint32_t kept_rows, kept_first, kept_count;         /* from kept_first on */
    uint8_t *to;
    /* distance in bytes between two rows of the result, and between two planes */
    size_t to_stride, to_plane;
    /* number of finished rows; if down_first is set, number of rows that have their final height */
    uint32_t made;
    /* number of rows in `between` that have their final height but not yet their final width */
    uint32_t waiting;
    uint8_t *between;
};

/* Returns the memory that a resampler needs in addition to its result. */
uint64_t resampler_bytes(const struct resample_side *across, const struct resample_side *down);

/* Opens a resampler that writes to `to`. Consecutive rows of the result are `to_stride` bytes
 * apart. The stride must be a multiple of sixteen, because each row is written up to such a
 * multiple. */
int resampler_open(struct resampler *r, const struct resample_side *across,
                   const struct resample_side *down, uint8_t *to, size_t to_stride,
                   struct sheaf_error *err);
/* The weights for both directions, by which each plane of a picture is resampled. */
struct resample_axes {
    struct resample_axis across, down;
    uint32_t columns, rows;     /* of the picture */
    bool down_first;
};
/* The memory for a result. It has `planes` planes, which begin `plane` bytes apart. The rows of a
 * plane begin `stride` bytes apart, and `stride` is a multiple of sixteen. */
struct resample_place {
    uint8_t *to;
    size_t stride, plane;
    unsigned planes;
};
/* Returns the argument `step` with which resample_axis_open must be called for the horizontal
 * axis. */
uint32_t resampler_step(unsigned planes);
/* Opens a resampler like resampler_open, with axes (weights) that the caller has computed and
 * keeps. If there are three planes, the caller adds rows of pixels of four bytes. */
int resampler_open_on(struct resampler *r, const struct resample_axes *axes,
                      const struct resample_place *place, struct sheaf_error *err);
uint64_t resampler_bytes_on(const struct resample_axes *axes, unsigned planes);
void resampler_close(struct resampler *r);      /* Closes a resampler, which may be all zeros. */

/* Returns the address to which the caller must write the next rows, `staged_stride` bytes apart.
 * The number of rows must be a power of two, at most 32, and the same in each call. The number must
 * be 1 if the rows consist of pixels of four bytes. */
uint8_t *resampler_place(struct resampler *r);
/* Processes `count` rows that the caller has written to resampler_place. Rows beyond the plane's
 * last row are ignored. After the last row, the result is complete. */
void resampler_add(struct resampler *r, uint32_t count);

/* Replaces the picture by a smaller one. The picture may have been decoded at the scale 1 /
 * `divisor`. Its width then stands for `of_width` / `divisor` and its height for `of_height` /
 * `divisor`, which need not be whole numbers. */
int resample(struct pixels *pixels, uint32_t of_width, uint32_t of_height, unsigned divisor,
             uint32_t width, uint32_t height, struct sheaf_error *err);

#endif
