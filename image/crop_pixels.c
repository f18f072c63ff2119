/* SPDX-License-Identifier: MIT
 *
 * Makes the crops of one picture; see crop_pixels.h.
 *
 * Usually only a part of a JPEG is decoded: the rows and columns that the crops need, and a few
 * columns more. The additional columns are decoded because the colours of a pixel depend on its
 * neighbours. The crops have the same bytes as if the whole picture had been decoded.
 *
 * Two kinds of JPEG are decoded completely:
 * - A JPEG without an end marker in the last bytes of the file. It may be truncated, and this must
 *   be noticed even if the crops do not need the missing part.
 * - A JPEG with several scans. libjpeg must read all of them in any case. If a scan is missing,
 *   libjpeg smooths the picture, which would change pixels at the edges of a decoded part. */
#include "image/crop_pixels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "image/crop_mask.h"
#include "image/crop_scaler.h"
#include "image/image.h"
#include "image/jpeg_input.h"

#define MARGIN_LEFT  1u
#define MARGIN_RIGHT 2u
#define COLUMNS_LEAST 32u       /* libjpeg cannot upsample a single column of colours */
/* A JPEG is taken as complete if its end marker is among the last END_BYTES bytes of the file. */
#define END_BYTES    32u
/* Rows of decoded pixels begin ROW_OFFSET bytes after a multiple of 32 bytes. For rows at a
 * multiple of 16 or 32 bytes, libjpeg-turbo uses store instructions that bypass the CPU's caches.
 * But the crops read each row soon after it is decoded, so the row should be in the caches. */
#define ROW_OFFSET  4u

struct cropping {
    const struct crop_plan *plan;
    const uint8_t *data;
    size_t size;
    const struct image_room *room;
    uint8_t *const *out;
    struct sheaf_error *err;
    struct image_look look;
    struct crop_cut *cuts;          /* one element for each of the plan's views */
    struct crop_scaler *scalers;    /* one element for each of the plan's views */
    size_t opened;
    uint64_t taken;                 /* number of bytes of memory taken from `room` */
    /* The following fields are used for a JPEG only. */
    struct jpeg_input in;
    struct decoding decoding;
    uint8_t *row_memory, *row;
};

static uint64_t scaler_bytes(const struct cropping *c, unsigned channels)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < c->plan->count; i++)
        bytes += crop_scaler_bytes(c->plan, &c->plan->views[i], &c->cuts[i], channels);
    return bytes;
}

static int open_scalers(struct cropping *c, unsigned channels)
{
    int code = SHEAF_OK;

    for (; c->opened < c->plan->count && code == SHEAF_OK; c->opened++) {
        const struct crop_view *view = &c->plan->views[c->opened];

        code = crop_scaler_open(&c->scalers[c->opened], c->plan, view, &c->cuts[c->opened],
                                channels, c->out[view->group] + view->at, c->err);
    }
    return code;
}

static void crop_pixels_add_row(struct cropping *c, const uint8_t *row, uint32_t left, uint32_t y,
                                unsigned pixel)
{
    for (size_t i = 0; i < c->opened; i++)
        crop_scaler_row(&c->scalers[i], row, left, y, pixel);
}

/* ---- JPEG ------------------------------------------------------------------------------------ */

/* The part of the picture that the crops need: columns `left` to `right` - 1 and rows `top` to
 * `bottom` - 1. */
struct region {
    uint32_t left, right, top, bottom;
};

static struct region region_of(const struct cropping *c)
{
    struct region r = { UINT32_MAX, 0, UINT32_MAX, 0 };

    for (size_t i = 0; i < c->opened; i++) {
        const struct crop_scaler *s = &c->scalers[i];

        r.left = MIN(r.left, s->left);
        r.right = MAX(r.right, s->left + s->columns);
        r.top = MIN(r.top, s->top);
        r.bottom = MAX(r.bottom, s->top + s->rows);
    }
    return r;
}

/* Returns true if the marker that ends a JPEG is among the last bytes of the file. */
static bool has_end(const uint8_t *data, size_t size)
{
    for (size_t i = 2; i <= MIN(size, END_BYTES); i++)
        if (data[size - i] == 0xff && data[size - i + 1] == 0xd9)
            return true;
    return false;
}

static bool is_as_looked(const struct cropping *c)
{
    return c->in.codec.image_width == c->look.width && c->in.codec.image_height == c->look.height &&
           (unsigned)c->in.codec.num_components == c->look.components;
}

/* Decodes the part `r` of the picture, or the whole picture if `whole` is true. Passes each decoded
 * row to all crops. */
static void read_region(struct cropping *c, const struct region *r, bool whole)
{
    struct jpeg_decompress_struct *codec = &c->in.codec;
    const unsigned pixel = codec->num_components == 1 ? 1 : 4;
    JDIMENSION left = 0;

    if (!whole) {
        const JDIMENSION right = MIN(codec->image_width, r->right + MARGIN_RIGHT);
        JDIMENSION width;

        left = MIN(r->left - MIN(r->left, MARGIN_LEFT), right - MIN(right, COLUMNS_LEAST));
        width = right - left;
        jpeg_crop_scanline(codec, &left, &width);
        if (r->top != 0)
            jpeg_skip_scanlines(codec, r->top);
    }
    while (codec->output_scanline < (whole ? codec->output_height : r->bottom)) {
        const uint32_t y = codec->output_scanline;

        jpeg_read_scanlines(codec, &c->row, 1);
        crop_pixels_add_row(c, c->row, left, y, pixel);
    }
    if (whole)
        jpeg_finish_decompress(codec);
}

static int read_jpeg(struct cropping *c)
{
    struct jpeg_decompress_struct *codec = &c->in.codec;
    const unsigned channels = c->look.components;
    const uint64_t row_bytes = (uint64_t)c->look.width * 4 + ROW_OFFSET;
    struct region region;
    bool whole;
    int code;

    jpeg_input_begin(&c->in, &c->decoding);
    whole = c->plan->decodes_whole || !has_end(c->data, c->size) || jpeg_has_multiple_scans(codec);
    if (!is_as_looked(c))
        return err_set(c->err, SHEAF_ERR_CORRUPT, "damaged JPEG: it has several headers");
    codec->out_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_EXT_RGBX;
    c->taken = jpeg_input_bytes(&c->in) + row_bytes + scaler_bytes(c, channels);
    code = c->room->take(c->room->context, c->taken, c->err);
    if (code != SHEAF_OK) {
        c->taken = 0;
        return code;
    }
    c->row_memory = malloc(row_bytes);
    if (c->row_memory == NULL)
        return err_memory(c->err, row_bytes);
    c->row = c->row_memory + ROW_OFFSET;
    code = open_scalers(c, channels);
    if (code != SHEAF_OK)
        return code;
    region = region_of(c);
    jpeg_start_decompress(codec);
    read_region(c, &region, whole);
    if (c->in.failure.warnings != 0)
        return err_set(c->err, SHEAF_ERR_CORRUPT, "damaged JPEG: %s", c->in.failure.message);
    return SHEAF_OK;
}

static int crop_jpeg(struct cropping *c)
{
    int code;

    c->decoding = (struct decoding){ .data = c->data, .size = c->size };
    jpeg_input_init(&c->in, true);
    if (setjmp(c->in.failure.failed) == 0)
        code = read_jpeg(c);
    else
        code = err_set(c->err, SHEAF_ERR_CORRUPT, "damaged JPEG: %s", c->in.failure.message);
    jpeg_input_close(&c->in);
    return code;
}

/* ---- Other pictures -------------------------------------------------------------------------- */

static int crop_whole(struct cropping *c)
{
    struct decoding d = { .data = c->data, .size = c->size, .room = c->room, .divisor = 1,
                          .beside = MAX(scaler_bytes(c, 1), scaler_bytes(c, 3)),
                          .copies = c->look.orientation != 1 };
    const bool turned = c->look.orientation >= 5;
    struct pixels pixels = { .data = NULL };
    int code = image_decode(&d, &pixels, c->err);

    if (code == SHEAF_OK && (pixels.width != c->look.width || pixels.height != c->look.height))
        code = err_set(c->err, SHEAF_ERR_CORRUPT, "damaged %s: %u x %u pixels, but its header says "
                       "%u x %u", image_kinds[c->look.kind].name, pixels.width, pixels.height,
                       c->look.width, c->look.height);
    if (code == SHEAF_OK)
        code = pixels_upright(&pixels, c->look.orientation, c->err);
    if (code == SHEAF_OK)
        code = open_scalers(c, pixels.channels);
    for (uint32_t y = 0; code == SHEAF_OK && y < (turned ? c->look.width : c->look.height); y++)
        crop_pixels_add_row(c, pixels_row(&pixels, y), 0, y, pixels.channels);
    pixels_close(&pixels);
    /* The image memory is given back later, when the scalers are closed. */
    c->taken = d.taken;
    return code;
}

/* ---- One picture ----------------------------------------------------------------------------- */

static int crop_pixels_look_at(struct cropping *c)
{
    if (image_look(c->data, c->size, &c->look))
        return pixels_check_size(c->look.width, c->look.height, c->err);
    if (c->look.kind == IMAGE_UNKNOWN)
        return err_set(c->err, SHEAF_ERR_CORRUPT, "not an image: neither JPEG, PNG, GIF, BMP nor "
                       "WebP");
    return err_set(c->err, SHEAF_ERR_CORRUPT, "damaged %s: its header",
                   image_kinds[c->look.kind].name);
}

static void make_cuts(struct cropping *c, uint64_t seed, struct sheaf_crop_box *crops)
{
    uint32_t width, height;

    image_upright_size(&c->look, &width, &height);
    for (size_t i = 0; i < c->plan->count; i++) {
        c->cuts[i] = crop_plan_cut(c->plan, i, seed, width, height);
        if (crops != NULL)
            crops[i] = crop_cut_box(&c->cuts[i], &c->plan->views[i]);
    }
}

static int crop(struct cropping *c, uint64_t seed, struct sheaf_crop_box *crops)
{
    int code = crop_pixels_look_at(c);

    if (code != SHEAF_OK)
        return code;
    make_cuts(c, seed, crops);
    if (c->look.kind == IMAGE_JPEG && c->look.orientation == 1 &&
        (c->look.components == 1 || c->look.components == 3))
        code = crop_jpeg(c);
    else
        code = crop_whole(c);
    for (size_t i = 0; i < c->opened && code == SHEAF_OK; i++)
        crop_scaler_finish(&c->scalers[i]);
    return code;
}

int crop_pixels(const struct crop_plan *plan, const void *data, size_t size, uint64_t seed,
                const struct image_room *room, uint8_t *const *out, struct sheaf_crop_box *crops,
                struct sheaf_error *err)
{
    struct cropping *c = calloc(1, sizeof(*c));
    int code;

    if (c == NULL)
        return err_memory(err, sizeof(*c));
    c->plan = plan;
    c->data = data;
    c->size = size;
    c->room = room;
    c->out = out;
    c->err = err;
    c->cuts = calloc(plan->count, sizeof(c->cuts[0]));
    c->scalers = calloc(plan->count, sizeof(c->scalers[0]));
    if (c->cuts != NULL && c->scalers != NULL)
        code = crop(c, seed, crops);
    else
        code = err_memory(err, plan->count * sizeof(c->scalers[0]));
    for (size_t i = 0; i < c->opened; i++)
        crop_scaler_close(&c->scalers[i]);
    if (c->taken != 0)
        room->give(room->context, c->taken);
    free(c->scalers);
    free(c->cuts);
    free(c->row_memory);
    free(c);
    return code;
}

/* ---- The public calls ------------------------------------------------------------------------ */

static int crop_pixels_take_any(void *context, uint64_t bytes, struct sheaf_error *err)
{
    (void)context;
    (void)bytes;
    (void)err;
    return SHEAF_OK;
}

static void give_any(void *context, uint64_t bytes)
{
    (void)context;
    (void)bytes;
}

/* Opens a plan for crops of a single picture. The crops of one element of options.views form a
 * group. The groups follow each other in `out`, and (*groups)[g] is set to the address of group g.
 *
 * `channels` is the number of bytes of a pixel. The caller must free *groups and close the plan,
 * even after an error. */
static int open_alone(const struct sheaf_pixels_options *options, uint8_t *out, size_t channels,
                      struct crop_plan *plan, uint8_t ***groups, struct sheaf_error *err)
{
    int code = crop_plan_open(plan, options, err);

    *groups = NULL;
    if (code != SHEAF_OK)
        return code;
    *groups = calloc(plan->group_count, sizeof((*groups)[0]));
    if (*groups == NULL)
        return err_memory(err, plan->group_count * sizeof((*groups)[0]));
    for (size_t i = 0; i < plan->group_count; i++) {
        (*groups)[i] = out;
        out += plan->group_bytes[i] / 3 * channels;
    }
    return SHEAF_OK;
}

int sheaf_pixels(const void *data, size_t size, const struct sheaf_pixels_options *options,
                 uint64_t seed, void *out, struct sheaf_crop_box *crops, struct sheaf_error *err)
{
    const struct image_room room = { crop_pixels_take_any, give_any, NULL };
    struct crop_plan plan;
    uint8_t **groups;
    int code = open_alone(options, out, 3, &plan, &groups, err);

    if (code == SHEAF_OK)
        code = crop_pixels(&plan, data, size, seed, &room, groups, crops, err);
    free(groups);
    crop_plan_close(&plan);
    return code;
}

const char *sheaf_pixels_version(void)
{
    static _Thread_local char text[128];

    snprintf(text, sizeof(text), "pixels1, %s", image_libraries());
    return text;
}

int sheaf_pixels_mask(const void *data, size_t size, const struct sheaf_pixels_options *options,
                      uint64_t seed, void *out, struct sheaf_error *err)
{
    const struct image_room room = { crop_pixels_take_any, give_any, NULL };
    struct crop_plan plan;
    uint8_t **groups;
    int code = open_alone(options, out, 1, &plan, &groups, err);

    if (code == SHEAF_OK)
        code = crop_mask(&plan, data, size, NULL, seed, &room, groups, err);
    free(groups);
    crop_plan_close(&plan);
    return code;
}
