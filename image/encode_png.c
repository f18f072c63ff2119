/* SPDX-License-Identifier: MIT
 *
 * Encodes crops as PNG files with libpng. The files are for people who want to look at crops. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"
#include "image/png_error.h"
#include "image/room.h"

/* compression level of zlib; higher levels hardly make photographs smaller */
#define LEVEL 3

struct encoding {
    struct png_failure failure;
    struct sheaf_error *err;
    struct buf out;
};

static void encode_png_put_bytes(png_structp png, png_bytep data, size_t size)
{
    struct encoding *e = png_get_io_ptr(png);

    if (buf_append(&e->out, data, size, NULL) != SHEAF_OK)
        png_error(png, "it has too little room");
}

static void flush_bytes(png_structp png)
{
    (void)png;
}

/* A crop in the caller's memory. */
struct raster {
    const uint8_t *data;
    uint32_t width, height;
    unsigned channels;
    bool has_planes;
};

/* Returns row `y` of the crop as a PNG needs it, with the channels of each pixel side by side. If
 * the crop stores its channels apart, the row is put together in `joined`. */
static const uint8_t *row_of(const struct raster *r, uint32_t y, uint8_t *joined)
{
    const size_t row = (size_t)r->width * r->channels, plane = (size_t)r->width * r->height;

    if (!r->has_planes)
        return r->data + y * row;
    for (uint32_t x = 0; x < r->width; x++)
        for (unsigned c = 0; c < r->channels; c++)
            joined[x * r->channels + c] = r->data[c * plane + (size_t)y * r->width + x];
    return joined;
}

static int encode_png_encode(struct encoding *e, const struct raster *r, uint8_t *joined)
{
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &e->failure,
                                              png_failure_error, png_failure_warning);
    png_infop info = png == NULL ? NULL : png_create_info_struct(png);
    int code = SHEAF_OK;

    if (info == NULL) {
        png_destroy_write_struct(&png, &info);
        return err_memory(e->err, r->width);
    }
    if (setjmp(e->failure.failed) == 0) {
        png_set_write_fn(png, e, encode_png_put_bytes, flush_bytes);
        png_set_compression_level(png, LEVEL);
        png_set_IHDR(png, info, r->width, r->height, 8,
                     r->channels == 3 ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_GRAY,
                     PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
        png_write_info(png, info);
        for (uint32_t y = 0; y < r->height; y++)
            png_write_row(png, row_of(r, y, joined));
        png_write_end(png, NULL);
    } else {
        code = err_set(e->err, SHEAF_ERR_LIMIT, "a PNG of %u x %u pixels: %s", r->width, r->height,
                       e->failure.message);
    }
    png_destroy_write_struct(&png, &info);
    return code;
}

int sheaf_pixels_png(const void *pixels, uint32_t width, uint32_t height, unsigned channels,
                     enum sheaf_layout layout, void *png, size_t *room, struct sheaf_error *err)
{
    const struct raster raster = { pixels, width, height, channels,
                                   channels != 1 && layout == SHEAF_NCHW };
    struct encoding e = { .err = err, .out = BUF_INIT(*room) };
    uint8_t *joined;
    int code;

    if ((channels != 1 && channels != 3) || width == 0 || height == 0 || width > IMAGE_SIDE_MOST ||
        height > IMAGE_SIDE_MOST)
        return err_set(err, SHEAF_ERR_ARGUMENT, "a PNG of %u x %u pixels of %u channels: expected "
                       "1 to %u pixels on a side, and 1 or 3 channels", width, height, channels,
                       IMAGE_SIDE_MOST);
    joined = malloc((size_t)width * channels);
    if (joined == NULL)
        return err_memory(err, (size_t)width * channels);
    code = encode_png_encode(&e, &raster, joined);
    if (code == SHEAF_OK) {
        memcpy(png, e.out.data, e.out.size);
        *room = e.out.size;
    }
    buf_free(&e.out);
    free(joined);
    return code;
}
