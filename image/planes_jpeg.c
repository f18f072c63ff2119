/* SPDX-License-Identifier: MIT
 *
 * Shrinks a JPEG plane by plane (brightness, and two planes of colour). Some rows at a time go from
 * libjpeg's decoder to the resampler, in the form in which they are stored. The colour planes are
 * not enlarged to the size of the brightness plane, and not converted to RGB, because the encoder
 * would undo both. */
#include "base/bytes.h"
#include "base/error.h"
#include "image/jpeg_input.h"
#include "image/planes.h"
#include "image/resample.h"

/* Largest number of rows of a component that libjpeg delivers at once. These are four blocks of
 * eight rows each. */
#define ROWS_MOST 32

#if JPEG_LIB_VERSION >= 70
#define ACROSS_SIZE DCT_h_scaled_size
#define DOWN_SIZE   DCT_v_scaled_size
#else
#define ACROSS_SIZE DCT_scaled_size
#define DOWN_SIZE   DCT_scaled_size
#endif

struct shrinking {
    struct jpeg_input in;
    struct decoding *d;
    struct planes *planes;
    struct resampler resampler[PLANES_MOST];
    struct sheaf_error *err;
    unsigned orientation;
};

/* ---- What is usual --------------------------------------------------------------------------- */

static bool is_power_of_2(int factor)
{
    return factor == 1 || factor == 2 || factor == 4;
}

/* Returns true if the JPEG is grey, or if it is YCbCr and its brightness plane has the full
 * size. */
static bool is_usual(const struct jpeg_decompress_struct *codec)
{
    const bool is_grey = codec->num_components == 1 && codec->jpeg_color_space == JCS_GRAYSCALE;

    if (!is_grey && (codec->num_components != 3 || codec->jpeg_color_space != JCS_YCbCr))
        return false;
    for (int i = 0; i < codec->num_components; i++) {
        const jpeg_component_info *c = &codec->comp_info[i];

        if (!is_power_of_2(c->h_samp_factor) || !is_power_of_2(c->v_samp_factor))
            return false;
    }
    return codec->comp_info[0].h_samp_factor == codec->max_h_samp_factor &&
           codec->comp_info[0].v_samp_factor == codec->max_v_samp_factor;
}

/* ---- Sides ----------------------------------------------------------------------------------- */

/* Returns true if left and right are exchanged in the stored picture, so that each stored row must
 * be reversed to turn the picture upright. (Orientations 5 to 8 also turn rows into columns.) */
static bool across_is_mirrored(unsigned orientation)
{
    return orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
}

static bool down_is_mirrored(unsigned orientation)
{
    return orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
}

/* Describes one side (horizontal or vertical) of a plane for the resampler. `out` is the length of
 * this side of the final picture, in pixels.
 *
 * A value of a colour plane stands for two pixels of the picture. If `out` is odd, the last value
 * stands for a single pixel. For example, if `out` is 5, the three values stand for 2 + 2 + 1
 * pixels.
 *
 * If the picture will be mirrored after resizing, the values must stand for 1 + 2 + 2 pixels. For
 * this purpose, `shift` in the result is -0.5: the first value then begins half a value before the
 * edge of the picture. */
static struct resample_side side_of(uint32_t in, double extent, uint32_t out, bool is_colour,
                                    bool is_mirrored)
{
    struct resample_side side = { in, out, extent, out, 0, RESAMPLE_LANCZOS };

    if (is_colour) {
        side.out = (out + 1) / 2;
        side.out_extent = out / 2.0;
        side.shift = is_mirrored && out % 2 == 1 ? -0.5 : 0;
    }
    return side;
}

static void sides_of(const struct shrinking *s, int component, struct resample_side *across,
                     struct resample_side *down)
{
    const struct jpeg_decompress_struct *codec = &s->in.codec;
    const jpeg_component_info *c = &codec->comp_info[component];
    const double width = (double)codec->image_width * c->h_samp_factor * c->ACROSS_SIZE;
    const double height = (double)codec->image_height * c->v_samp_factor * c->DOWN_SIZE;

    *across = side_of(c->downsampled_width, width / (codec->max_h_samp_factor * DCTSIZE),
                      s->d->width, component > 0, across_is_mirrored(s->orientation));
    *down = side_of(c->downsampled_height, height / (codec->max_v_samp_factor * DCTSIZE),
                    s->d->height, component > 0, down_is_mirrored(s->orientation));
}

/* ---- Planes ---------------------------------------------------------------------------------- */

static int planes_jpeg_take_room(struct shrinking *s)
{
    const unsigned count = (unsigned)s->in.codec.num_components;
    uint64_t bytes = jpeg_input_bytes(&s->in);
    int code;

    bytes += (s->orientation > 1 ? 2 : 1) * planes_bytes(s->d->width, s->d->height, count);
    for (unsigned i = 0; i < count; i++) {
        struct resample_side across, down;

        sides_of(s, (int)i, &across, &down);
        bytes += resampler_bytes(&across, &down);
    }
    code = s->d->room->take(s->d->room->context, bytes, s->err);
    if (code == SHEAF_OK)
        s->d->taken = bytes;
    return code;
}

static int open_planes(struct shrinking *s)
{
    const unsigned count = (unsigned)s->in.codec.num_components;
    int code = pixels_check_size(s->in.codec.image_width, s->in.codec.image_height, s->err);

    if (code == SHEAF_OK)
        code = planes_jpeg_take_room(s);
    if (code == SHEAF_OK)
        code = planes_open(s->planes, s->d->width, s->d->height, count, s->err);
    for (unsigned i = 0; i < count && code == SHEAF_OK; i++) {
        const struct plane *plane = &s->planes->plane[i];
        struct resample_side across, down;

        sides_of(s, (int)i, &across, &down);
        code = resampler_open(&s->resampler[i], &across, &down, plane->data, plane->stride, s->err);
    }
    return code;
}

/* Decodes the next rows of all components, and passes them to the resamplers. The number of rows is
 * the number that libjpeg delivers at once. */
static void planes_jpeg_read_some(struct shrinking *s)
{
    struct jpeg_decompress_struct *codec = &s->in.codec;
    JSAMPROW rows[PLANES_MOST][ROWS_MOST];
    JSAMPARRAY planes[PLANES_MOST];

    for (int i = 0; i < codec->num_components; i++) {
        const jpeg_component_info *c = &codec->comp_info[i];
        uint8_t *row = resampler_place(&s->resampler[i]);

        planes[i] = rows[i];
        for (int y = 0; y < c->v_samp_factor * c->DOWN_SIZE; y++)
            rows[i][y] = row + (size_t)y * s->resampler[i].staged_stride;
    }
    jpeg_read_raw_data(codec, planes, ROWS_MOST);
    for (int i = 0; i < codec->num_components; i++) {
        const jpeg_component_info *c = &codec->comp_info[i];

        resampler_add(&s->resampler[i], (uint32_t)(c->v_samp_factor * c->DOWN_SIZE));
    }
}

static int planes_jpeg_shrink(struct shrinking *s)
{
    struct jpeg_decompress_struct *codec = &s->in.codec;
    int code;

    jpeg_input_begin(&s->in, s->d);
    if (!is_usual(codec))
        return SHEAF_OK;
    codec->out_color_space = codec->jpeg_color_space;
    codec->raw_data_out = TRUE;
    jpeg_calc_output_dimensions(codec);
    code = open_planes(s);
    if (code != SHEAF_OK)
        return code;
    jpeg_start_decompress(codec);
    while (codec->output_scanline < codec->output_height)
        planes_jpeg_read_some(s);
    jpeg_finish_decompress(codec);
    if (s->in.failure.warnings != 0)
        return err_set(s->err, SHEAF_ERR_CORRUPT, "damaged JPEG: %s", s->in.failure.message);
    return SHEAF_OK;
}

int planes_of_jpeg(struct decoding *d, unsigned orientation, struct planes *planes,
                   struct sheaf_error *err)
{
    struct shrinking s = { .d = d, .planes = planes, .err = err, .orientation = orientation };
    int code;

    *planes = (struct planes){ .count = 0 };
    jpeg_input_init(&s.in, true);       /* Tolerate faults that every loader tolerates. */
    if (setjmp(s.in.failure.failed) == 0)
        code = planes_jpeg_shrink(&s);
    else
        code = err_set(err, SHEAF_ERR_CORRUPT, "damaged JPEG: %s", s.in.failure.message);
    jpeg_input_close(&s.in);
    for (unsigned i = 0; i < PLANES_MOST; i++)
        resampler_close(&s.resampler[i]);
    return code;
}
