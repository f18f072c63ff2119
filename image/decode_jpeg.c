/* SPDX-License-Identifier: MIT
 *
 * Decodes JPEG with libjpeg-turbo. A grey picture stays grey, and any other picture becomes RGB. In
 * a JPEG with four components (CMYK), the values are taken as inverted, whether or not the file
 * says so. Adobe's programs write inverted values, and Pillow also assumes them. */
#include <string.h>

#include "base/error.h"
#include "image/jpeg_input.h"

struct jpeg_reading {
    struct jpeg_input in;
    struct decoding *d;
    struct pixels *pixels;
    struct sheaf_error *err;
    int result;
    /* memory for rows of four components, which are then converted to RGB */
    struct pixels row;
};

/* Returns a * b / 255 for two values from 0 to 255, rounded in the same way as Pillow does. */
static unsigned scaled(unsigned a, unsigned b)
{
    const unsigned product = a * b + 128;

    return ((product >> 8) + product) >> 8;
}

/* Converts inverted CMYK to RGB. In inverted CMYK, 0 means full ink and 255 means no ink. */
static void rgb_of_cmyk(const uint8_t *from, uint8_t *to, uint32_t width)
{
    for (uint32_t x = 0; x < width; x++, from += 4, to += 3)
        for (int c = 0; c < 3; c++) {
            const int value = (int)from[3] - (int)scaled(255u - from[c], from[3]);

            to[c] = (uint8_t)(value < 0 ? 0 : value);
        }
}

static int decode_jpeg_open_pixels(struct jpeg_reading *r)
{
    struct jpeg_decompress_struct *codec = &r->in.codec;
    const unsigned channels = codec->num_components == 1 ? 1 : 3;
    int code;

    r->d->by_row = r->d->checks;
    if ((uint64_t)codec->image_width * codec->image_height > IMAGE_PIXELS_MOST)
        return pixels_open(r->pixels, r->d, codec->image_width, codec->image_height, channels, 0,
                           r->err);
    code = pixels_open(r->pixels, r->d, codec->output_width, codec->output_height, channels,
                       jpeg_input_bytes(&r->in), r->err);
    if (code == SHEAF_OK && codec->num_components == 4)
        code = pixels_map(&r->row, codec->output_width, 1, 4, r->err);
    return code;
}

static void decode_jpeg_read_rows(struct jpeg_reading *r)
{
    struct jpeg_decompress_struct *codec = &r->in.codec;

    while (codec->output_scanline < codec->output_height) {
        uint8_t *to = pixels_row(r->pixels, r->d->by_row ? 0 : codec->output_scanline);
        uint8_t *row = r->row.data != NULL ? r->row.data : to;

        jpeg_read_scanlines(codec, &row, 1);
        if (row != to)
            rgb_of_cmyk(row, to, codec->output_width);
    }
}

static int decode_jpeg_read_all(struct jpeg_reading *r)
{
    struct jpeg_decompress_struct *codec = &r->in.codec;

    jpeg_input_begin(&r->in, r->d);
    codec->out_color_space = codec->num_components == 1 ? JCS_GRAYSCALE
                           : codec->num_components == 4 ? JCS_CMYK : JCS_RGB;
    jpeg_calc_output_dimensions(codec);
    r->result = decode_jpeg_open_pixels(r);
    if (r->result != SHEAF_OK)
        return r->result;
    jpeg_start_decompress(codec);
    decode_jpeg_read_rows(r);
    jpeg_finish_decompress(codec);
    if (r->in.failure.warnings != 0)
        return err_set(r->err, SHEAF_ERR_CORRUPT, "damaged JPEG: %s", r->in.failure.message);
    return SHEAF_OK;
}

int decode_jpeg(struct decoding *d, struct pixels *pixels, struct sheaf_error *err)
{
    struct jpeg_reading r = { .d = d, .pixels = pixels, .err = err };
    int code;

    /* Some faults in a JPEG are tolerated by every image loader. Such faults are errors if the
     * image is being checked (d->checks), and are ignored if the image is only decoded. */
    jpeg_input_init(&r.in, !d->checks);
    if (setjmp(r.in.failure.failed) == 0) {
        code = decode_jpeg_read_all(&r);
    } else {
        code = err_set(err, SHEAF_ERR_CORRUPT, "damaged JPEG: %s", r.in.failure.message);
    }
    jpeg_input_close(&r.in);
    pixels_close(&r.row);
    return code;
}
