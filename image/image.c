/* SPDX-License-Identifier: MIT
 *
 * Reads the headers of images, and connects decoding, shrinking and encoding. */
#include "image/image.h"

#include <stdio.h>

#include <jpeglib.h>
#include <webp/decode.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/jpeg.h"
#include "image/encode_jpeg.h"
#include "image/exif.h"
#include "image/pixels.h"
#include "image/planes.h"
#include "image/resample.h"

/* ---- Kinds ----------------------------------------------------------------------------------- */

static bool look_jpeg(const uint8_t *data, size_t size, struct image_look *look)
{
    struct jpeg_info info;

    if (!jpeg_size(data, size, &info))
        return false;
    look->width = info.width;
    look->height = info.height;
    look->components = info.components;
    return true;
}

static bool look_png(const uint8_t *data, size_t size, struct image_look *look)
{
    if (size < 24)
        return false;
    look->width = (uint32_t)data[16] << 24 | (uint32_t)data[17] << 16 | (uint32_t)data[18] << 8 |
                  data[19];
    look->height = (uint32_t)data[20] << 24 | (uint32_t)data[21] << 16 | (uint32_t)data[22] << 8 |
                   data[23];
    return true;
}

/* Reads the size of a GIF's screen. */
static bool look_gif(const uint8_t *data, size_t size, struct image_look *look)
{
    if (size < 10)
        return false;
    look->width = (uint32_t)data[6] | (uint32_t)data[7] << 8;
    look->height = (uint32_t)data[8] | (uint32_t)data[9] << 8;
    return true;
}

static bool look_bmp(const uint8_t *data, size_t size, struct image_look *look)
{
    const bool is_core = size >= 26 && data[14] == 12;
    int32_t height;

    if (size < 26)
        return false;
    look->width = (uint32_t)data[18] | (uint32_t)data[19] << 8;
    look->height = (uint32_t)data[20] | (uint32_t)data[21] << 8;
    if (is_core)
        return true;
    look->width |= look->height << 16;
    height = (int32_t)((uint32_t)data[22] | (uint32_t)data[23] << 8 | (uint32_t)data[24] << 16 |
                       (uint32_t)data[25] << 24);
    look->height = height < 0 ? 0u - (uint32_t)height : (uint32_t)height;
    return true;
}

static bool look_webp(const uint8_t *data, size_t size, struct image_look *look)
{
    int width, height;

    if (!WebPGetInfo(data, size, &width, &height))
        return false;
    look->width = (uint32_t)width;
    look->height = (uint32_t)height;
    return true;
}

static const struct {
    bool (*look)(const uint8_t *data, size_t size, struct image_look *look);
    decode_fn *decode;
} codes[IMAGE_KINDS] = {
    [IMAGE_JPEG] = { look_jpeg, decode_jpeg },
    [IMAGE_PNG] = { look_png, decode_png },
    [IMAGE_GIF] = { look_gif, decode_gif },
    [IMAGE_BMP] = { look_bmp, decode_bmp },
    [IMAGE_WEBP] = { look_webp, decode_webp },
};

bool image_look(const void *data, size_t size, struct image_look *look)
{
    *look = (struct image_look){ .kind = image_kind_of(data, size), .orientation = 1 };
    if (look->kind == IMAGE_UNKNOWN || !codes[look->kind].look(data, size, look) ||
        look->width == 0 || look->height == 0)
        return false;
    look->orientation = exif_orientation(look->kind, data, size);
    return true;
}

/* ---- Sizes ----------------------------------------------------------------------------------- */

static void swap(uint32_t *a, uint32_t *b)
{
    const uint32_t kept = *a;

    *a = *b;
    *b = kept;
}

void image_upright_size(const struct image_look *look, uint32_t *width, uint32_t *height)
{
    *width = look->width;
    *height = look->height;
    if (look->orientation >= 5)
        swap(width, height);
}

/* A picture is shrunk in proportion, so that one side changes from `side` to `size` pixels. Returns
 * the new length of the other side, whose old length is `other`. The result is rounded down as in
 * torchvision and im2rec, and is at least 1. */
static uint32_t other_side(uint32_t other, uint32_t size, uint32_t side)
{
    return (uint32_t)MAX((uint64_t)other * size / side, (uint64_t)1);
}

bool image_shrinks(const struct image_look *look, const struct image_settings *settings,
                   uint32_t *width, uint32_t *height)
{
    const uint32_t size = settings->size;
    uint32_t shorter, longer;

    image_upright_size(look, width, height);
    shorter = MIN(*width, *height);
    longer = MAX(*width, *height);
    if (size == 0 || size >= longer || (settings->mode == IMAGE_SHORTER && size >= shorter) ||
        (settings->mode == IMAGE_EXACT && size > shorter))
        return false;
    if (settings->mode == IMAGE_EXACT) {
        *width = *height = size;
    } else if ((settings->mode == IMAGE_SHORTER) == (*width <= *height)) {
        *height = other_side(*height, size, *width);
        *width = size;
    } else {
        *width = other_side(*width, size, *height);
        *height = size;
    }
    return true;
}

/* ---- Decoding -------------------------------------------------------------------------------- */

int image_decode(struct decoding *d, struct pixels *pixels, struct sheaf_error *err)
{
    const enum image_kind kind = image_kind_of(d->data, d->size);

    if (kind == IMAGE_UNKNOWN)
        return err_set(err, SHEAF_ERR_CORRUPT, "not an image: neither JPEG, PNG, GIF, BMP nor "
                       "WebP");
    return codes[kind].decode(d, pixels, err);
}

static void give_back(struct decoding *d)
{
    if (d->taken != 0)
        d->room->give(d->room->context, d->taken);
}

int image_check(const void *data, size_t size, const struct image_room *room,
                struct sheaf_error *err)
{
    struct decoding d = { .data = data, .size = size, .room = room, .checks = true };
    struct pixels pixels = { .data = NULL };
    const int code = image_decode(&d, &pixels, err);

    pixels_close(&pixels);
    give_back(&d);
    return code;
}

/* Resizes a decoded picture to its final size. A JPEG may have been decoded at the scale 1 /
 * divisor. The last decoded pixel of a row then stands for fewer than `divisor` pixels of the file,
 * if the width in the file is not a multiple of the divisor. So the resampler gets the width in the
 * file, and in the same way the height. */
static int image_shrink(struct pixels *p, const struct image_look *look, const struct decoding *d,
                        struct sheaf_error *err)
{
    const uint64_t whole_width = (uint64_t)p->width * d->divisor;
    const uint64_t whole_height = (uint64_t)p->height * d->divisor;

    if (p->width < d->width || p->height < d->height)
        return err_set(err, SHEAF_ERR_CORRUPT, "damaged %s: %u x %u pixels, but its header says "
                       "%u x %u", image_kinds[look->kind].name, p->width, p->height, look->width,
                       look->height);
    return resample(p, d->divisor == 1 ? p->width : (uint32_t)MIN(whole_width, look->width),
                    d->divisor == 1 ? p->height : (uint32_t)MIN(whole_height, look->height),
                    d->divisor, d->width, d->height, err);
}

/* Shrinks a JPEG without converting its planes (brightness and colours) to RGB. Sets *done to true
 * if this was possible. Sets *done to false if the JPEG is of an unusual kind. The caller must then
 * decode it to RGB and shrink that picture. */
static int shrink_planes(struct decoding *d, const struct image_look *look, int quality,
                         struct buf *out, bool *done, struct sheaf_error *err)
{
    struct planes planes;
    int code = planes_of_jpeg(d, look->orientation, &planes, err);

    *done = planes.count != 0;
    if (code == SHEAF_OK && *done)
        code = planes_upright(&planes, look->orientation, err);
    if (code == SHEAF_OK && *done)
        code = encode_planes(&planes, quality, out, err);
    planes_close(&planes);
    return code;
}

static int image_convert(struct decoding *d, const struct image_look *look, bool shrinks,
                         int quality, struct buf *out, struct sheaf_error *err)
{
    struct pixels pixels = { .data = NULL };
    int code;

    d->copies = shrinks || look->orientation != 1;
    code = image_decode(d, &pixels, err);
    if (code == SHEAF_OK && shrinks)
        code = image_shrink(&pixels, look, d, err);
    if (code == SHEAF_OK)
        code = pixels_upright(&pixels, look->orientation, err);
    if (code == SHEAF_OK)
        code = encode_jpeg(&pixels, quality, out, err);
    pixels_close(&pixels);
    return code;
}

int image_to_jpeg(const void *data, size_t size, const struct image_settings *settings,
                  const struct image_room *room, struct buf *out, struct sheaf_error *err)
{
    struct decoding d = { .data = data, .size = size, .room = room, .divisor = 1 };
    struct image_look look;
    const bool shrinks = image_look(data, size, &look) &&
                         image_shrinks(&look, settings, &d.width, &d.height);
    bool done = false;
    int code = SHEAF_OK;

    if (look.orientation >= 5)          /* The file has the picture before it is turned. */
        swap(&d.width, &d.height);
    if (shrinks && look.kind == IMAGE_JPEG)
        code = shrink_planes(&d, &look, settings->quality, out, &done, err);
    if (code == SHEAF_OK && !done)
        code = image_convert(&d, &look, shrinks, settings->quality, out, err);
    give_back(&d);
    return code;
}

/* ---- What the bytes depend on ---------------------------------------------------------------- */

#define TEXT_OF(x)    #x
#define VERSION_OF(x) TEXT_OF(x)

/* Returns the names of the libraries for JPEG and WebP, because only these two can change the
 * pixels. Images of other kinds (PNG, GIF, BMP) decode to the same pixels with every library. */
const char *image_libraries(void)
{
    static _Thread_local char text[96];
    const int webp = WebPGetDecoderVersion();

    snprintf(text, sizeof(text), "libjpeg-turbo %s, libwebp %d.%d.%d, resample %d",
             VERSION_OF(LIBJPEG_TURBO_VERSION), webp >> 16, webp >> 8 & 255, webp & 255,
             RESAMPLE_VERSION);
    return text;
}
