/* SPDX-License-Identifier: MIT
 *
 * JPEG, by libjpeg-turbo: grey stays grey, all else becomes RGB.  Pictures of four components are
 * taken as Adobe's programs write them, inverted, whether or not they say so: as Pillow does. */
#include <string.h>

#include "base/error.h"
#include "packer/image/jpeg_error.h"
#include "packer/image/pixels.h"

/* A hostile file has more scans, each of which takes as long as the whole picture. */
#define SCANS_MOST 500
/* What libjpeg takes for tables and a few rows. */
#define TABLE_BYTES ((uint64_t)256 << 10)

struct reading {
    struct jpeg_failure failure;
    struct jpeg_decompress_struct codec;
    struct jpeg_progress_mgr progress;
    struct decoding *d;
    struct pixels *pixels;
    struct sheaf_error *err;
    int result;
    struct pixels row;          /* of four components, before they are RGB */
};

static void on_progress(j_common_ptr codec)
{
    const struct jpeg_decompress_struct *d = (const void *)codec;

    if (d->input_scan_number <= SCANS_MOST)
        return;
    snprintf(((struct jpeg_failure *)(void *)codec->err)->message, JMSG_LENGTH_MAX,
             "more than %d scans", SCANS_MOST);
    longjmp(((struct jpeg_failure *)(void *)codec->err)->failed, 1);
}

/* As small as may be decoded.  What is asked for would do, but twice as much is what Pillow's
 * `thumbnail` takes to come close to resampling the whole. */
static void choose_scale(struct jpeg_decompress_struct *codec, struct decoding *d)
{
    unsigned divisor = 1;

    while (d->width != 0 && divisor < 8 &&
           codec->image_width / (2 * divisor) >= 2 * (uint64_t)d->width &&
           codec->image_height / (2 * divisor) >= 2 * (uint64_t)d->height)
        divisor *= 2;
    codec->scale_num = 1;
    codec->scale_denom = divisor;
    d->divisor = divisor;
}

/* Coefficients of the whole picture, where it comes in several scans. */
static uint64_t coefficient_bytes(struct jpeg_decompress_struct *codec)
{
    uint64_t blocks = 0;

    if (!jpeg_has_multiple_scans(codec))
        return 0;
    for (int i = 0; i < codec->num_components; i++) {
        const jpeg_component_info *c = &codec->comp_info[i];

        blocks += ((uint64_t)c->width_in_blocks + (unsigned)c->h_samp_factor) *
                  ((uint64_t)c->height_in_blocks + (unsigned)c->v_samp_factor);
    }
    return blocks * sizeof(JBLOCK);
}

/* Pillow's arithmetic: a product of two bytes, as a byte. */
static unsigned scaled(unsigned a, unsigned b)
{
    const unsigned product = a * b + 128;

    return ((product >> 8) + product) >> 8;
}

/* Inverted CMYK: 255 is no ink. */
static void rgb_of_cmyk(const uint8_t *from, uint8_t *to, uint32_t width)
{
    for (uint32_t x = 0; x < width; x++, from += 4, to += 3)
        for (int c = 0; c < 3; c++) {
            const int value = (int)from[3] - (int)scaled(255u - from[c], from[3]);

            to[c] = (uint8_t)(value < 0 ? 0 : value);
        }
}

static int open_pixels(struct reading *r)
{
    struct jpeg_decompress_struct *codec = &r->codec;
    const unsigned channels = codec->num_components == 1 ? 1 : 3;
    const uint64_t library = coefficient_bytes(codec) + TABLE_BYTES +
                             (uint64_t)codec->image_width * 4 * 32;
    int code;

    r->d->by_row = r->d->checks;
    if ((uint64_t)codec->image_width * codec->image_height > IMAGE_PIXELS_MOST)
        return pixels_open(r->pixels, r->d, codec->image_width, codec->image_height, channels, 0,
                           r->err);
    code = pixels_open(r->pixels, r->d, codec->output_width, codec->output_height, channels,
                       library, r->err);
    if (code == SHEAF_OK && codec->num_components == 4)
        code = pixels_map(&r->row, codec->output_width, 1, 4, r->err);
    return code;
}

static void read_rows(struct reading *r)
{
    struct jpeg_decompress_struct *codec = &r->codec;

    while (codec->output_scanline < codec->output_height) {
        uint8_t *to = pixels_row(r->pixels, r->d->by_row ? 0 : codec->output_scanline);
        uint8_t *row = r->row.data != NULL ? r->row.data : to;

        jpeg_read_scanlines(codec, &row, 1);
        if (row != to)
            rgb_of_cmyk(row, to, codec->output_width);
    }
}

static int read_all(struct reading *r)
{
    struct jpeg_decompress_struct *codec = &r->codec;

    jpeg_mem_src(codec, r->d->data, r->d->size);
    jpeg_read_header(codec, TRUE);
    codec->out_color_space = codec->num_components == 1 ? JCS_GRAYSCALE
                           : codec->num_components == 4 ? JCS_CMYK : JCS_RGB;
    codec->dct_method = JDCT_ISLOW;
    choose_scale(codec, r->d);
    jpeg_calc_output_dimensions(codec);
    r->result = open_pixels(r);
    if (r->result != SHEAF_OK)
        return r->result;
    jpeg_start_decompress(codec);
    read_rows(r);
    jpeg_finish_decompress(codec);
    if (r->failure.warnings != 0)
        return err_set(r->err, SHEAF_ERR_CORRUPT, "damaged JPEG: %s", r->failure.message);
    return SHEAF_OK;
}

int decode_jpeg(struct decoding *d, struct pixels *pixels, struct sheaf_error *err)
{
    struct reading r = { .d = d, .pixels = pixels, .err = err };
    int code;

    r.codec.err = jpeg_failure_init(&r.failure);
    r.failure.lenient = !d->checks;     /* the whole picture is there, as every loader shows it */
    if (setjmp(r.failure.failed) == 0) {
        jpeg_create_decompress(&r.codec);
        r.progress.progress_monitor = on_progress;
        r.codec.progress = &r.progress;
        code = read_all(&r);
    } else {
        code = err_set(err, SHEAF_ERR_CORRUPT, "damaged JPEG: %s", r.failure.message);
    }
    jpeg_destroy_decompress(&r.codec);
    pixels_close(&r.row);
    return code;
}
