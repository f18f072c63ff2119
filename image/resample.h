/* SPDX-License-Identifier: MIT
 *
 * Resizes one plane of a picture, or three planes at once. For three planes, the rows of the
 * picture must consist of pixels of four bytes: red, green, blue, and a byte that is ignored. The
 * caller passes rows one after another, so the large picture need not be completely in memory. */
#ifndef IMAGE_RESAMPLE_H
#define IMAGE_RESAMPLE_H

#include "image/pixels.h"
#include "image/resample_axis.h"

/* Version of the resampler. The number must be increased whenever the resized pixels change, even
 * if the cause is that the decoder delivers other pixels to the resampler. */
#define RESAMPLE_VERSION 2

struct resampler {
    const struct resample_kernel *kernel;
    const struct resample_axis *across, *down;
    /* weights for both directions, unless the caller provides them */
    struct resample_axis own[2];
    /* Number of planes of the result. It is 1 if the rows that the caller adds consist of single
     * bytes, and 3 if they consist of pixels of four bytes, the last of which is unused. */
    unsigned planes;
    bool down_first;            /* true if columns are filtered before rows */
    /* number of rows of the picture, and number of rows read so far */
    uint32_t in_rows, read;
    uint8_t *staged;            /* memory for the rows to be read next */
    size_t staged_stride;
    uint32_t staged_count;
    /* Rows that wait to be resized, rearranged as a tile (see resample_kernel.h). NULL if rows
     * consist of pixels of four bytes. */
    uint32_t *tile;
    /* number of columns of the tile: the number of columns of the plane, rounded up for the inner
     * loops */
    uint32_t tile_columns;
    uint8_t *columns;
    /* rows that have been resized to the final width; if down_first is set, rows that still have
     * the old width */
    uint8_t *kept;
    size_t kept_stride;
    unsigned kept_planes;       /* number of planes in `kept` */
    /* number of bytes from one plane in `kept` to the next */
    size_t kept_plane;
    /* number of rows for which `kept` has room, number of the first kept row, and number of kept
     * rows */
    uint32_t kept_rows, kept_first, kept_count;
    uint8_t *to;
    /* distances in bytes within the result: from one row to the next, and from one plane to the
     * next */
    size_t to_stride, to_plane;
    /* Number of finished rows of the result. If down_first is set, columns are resized before rows.
     * A row then counts as finished when it has its final height, although its width may not be
     * final yet. */
    uint32_t made;
    /* number of rows in `between`, which have their final height but still wait to be resized to
     * their final width */
    uint32_t waiting;
    uint8_t *between;
};

/* Returns the memory in bytes that a resampler needs, not counting the memory for the result. */
uint64_t resampler_bytes(const struct resample_side *across, const struct resample_side *down);

/* Opens a resampler that resizes one plane and writes the result to `to`. `to_stride` is the number
 * of bytes from one row of the result to the next. It must be a multiple of sixteen, because each
 * row is written up to a multiple of sixteen bytes. */
int resampler_open(struct resampler *r, const struct resample_side *across,
                   const struct resample_side *down, uint8_t *to, size_t to_stride,
                   struct sheaf_error *err);
/* The weights with which a picture is resized: `across` for rows and `down` for columns. All planes
 * of a picture use the same weights. */
struct resample_axes {
    struct resample_axis across, down;
    uint32_t columns, rows;     /* size of the picture */
    bool down_first;
};
/* Memory to which a resampler writes its result. In this memory, each plane begins `plane` bytes
 * after the plane before it, and each row `stride` bytes after the row before it. `stride` must be
 * a multiple of sixteen. */
struct resample_place {
    uint8_t *to;
    size_t stride, plane;
    unsigned planes;
};
/* Returns the argument `step` of resample_axis_open() for the weights of rows. The caller must use
 * this value if it will pass the weights to resampler_open_on(). */
uint32_t resampler_step(unsigned planes);
/* Opens a resampler like resampler_open, but with weights that the caller has computed. The weights
 * must stay valid while the resampler is in use. If `place` has three planes, the caller must add
 * rows of pixels of four bytes. */
int resampler_open_on(struct resampler *r, const struct resample_axes *axes,
                      const struct resample_place *place, struct sheaf_error *err);
uint64_t resampler_bytes_on(const struct resample_axes *axes, unsigned planes);
void resampler_close(struct resampler *r);      /* Closes a resampler, which may be all zeros. */

/* Returns the address to which the caller must write the next rows. The rows begin `staged_stride`
 * bytes apart. The caller must write the same number of rows each time: a power of two, at most 32.
 * If the rows consist of pixels of four bytes, this number must be 1. */
uint8_t *resampler_place(struct resampler *r);
/* Resizes `count` rows, which the caller has written to the address that resampler_place returned.
 * Rows after the last row of the plane are ignored. After the last row of the plane was added, the
 * result is complete. */
void resampler_add(struct resampler *r, uint32_t count);

/* Replaces a picture by a smaller one of `width` x `height` pixels. The picture may have been
 * decoded at the scale 1 / `divisor`. `of_width` and `of_height` are its width and height before
 * this scaling. If they are not multiples of the divisor, only a part of the last decoded row or
 * column belongs to the picture. */
int resample(struct pixels *pixels, uint32_t of_width, uint32_t of_height, unsigned divisor,
             uint32_t width, uint32_t height, struct sheaf_error *err);

#endif
