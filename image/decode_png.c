/* SPDX-License-Identifier: MIT
 *
 * Decodes PNG with libpng. Grey stays grey. Colours are the same as after Pillow's convert("RGB"):
 * transparency is dropped without blending, and gamma is ignored. If values have 16 bits, the upper
 * eight bits are used. For grey this differs from Pillow, which clips 16-bit values to 255. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "image/pixels.h"
#include "image/png_error.h"

/* Memory of libpng: zlib's window and some rows. */
#define LIBRARY_BYTES ((uint64_t)512 << 10)
#define CHUNK_BYTES_MOST ((png_alloc_size_t)8 << 20)

struct png_reading {
    struct png_failure failure;
    png_structp png;
    png_infop info;
    const uint8_t *at, *end;
    struct decoding *d;
    struct pixels *pixels;
    struct sheaf_error *err;
    png_bytep *rows;            /* addresses of the rows, if the picture is interlaced */
};

static void decode_png_read_bytes(png_structp png, png_bytep to, size_t size)
{
    struct png_reading *r = png_get_io_ptr(png);

    if (size > (size_t)(r->end - r->at))
        png_error(png, "it ends too early");
    memcpy(to, r->at, size);
    r->at += size;
}

/* Returns SHEAF_ERR_UNSUPPORTED if the PNG is not suitable as a mask. Each pixel of a mask is one
 * byte, a palette index or a grey value. */
static int decode_png_check_values(const struct png_reading *r)
{
    const int type = png_get_color_type(r->png, r->info);

    if (type != PNG_COLOR_TYPE_PALETTE && (type & PNG_COLOR_MASK_COLOR) != 0)
        return err_set(r->err, SHEAF_ERR_UNSUPPORTED, "a PNG of colours, expected one with a "
                       "palette or grey values");
    if (png_get_bit_depth(r->png, r->info) == 16)
        return err_set(r->err, SHEAF_ERR_UNSUPPORTED, "a PNG with values of 16 bits, expected at "
                       "most 8");
    return SHEAF_OK;
}

/* Tells libpng to transform the pixels while it decodes, for example to drop transparency. Returns
 * the number of channels that a transformed pixel has. */
static unsigned transform(struct png_reading *r)
{
    const int type = png_get_color_type(r->png, r->info);

    if (type == PNG_COLOR_TYPE_PALETTE && r->d->keeps_values) {
        png_set_packing(r->png);
        return 1;
    }
    if (png_get_bit_depth(r->png, r->info) == 16)
        png_set_strip_16(r->png);
    if (type == PNG_COLOR_TYPE_PALETTE)
        png_set_palette_to_rgb(r->png);
    else if (png_get_bit_depth(r->png, r->info) < 8)
        png_set_expand_gray_1_2_4_to_8(r->png);
    png_set_strip_alpha(r->png);
    return (type & PNG_COLOR_MASK_COLOR) != 0 ? 3 : 1;
}

static int decode_png_open_pixels(struct png_reading *r)
{
    const uint64_t width = png_get_image_width(r->png, r->info);
    const uint64_t height = png_get_image_height(r->png, r->info);
    const bool interlaced = png_get_interlace_type(r->png, r->info) != PNG_INTERLACE_NONE;
    const uint64_t library = LIBRARY_BYTES + 64 * width +
                             (interlaced ? height * sizeof(r->rows[0]) : 0);
    const int code = r->d->keeps_values ? decode_png_check_values(r) : SHEAF_OK;

    if (code != SHEAF_OK)
        return code;
    return pixels_open(r->pixels, r->d, width, height, transform(r), library, r->err);
}

static int decode_png_read_rows(struct png_reading *r)
{
    const uint32_t height = r->pixels->height;

    if (png_get_interlace_type(r->png, r->info) == PNG_INTERLACE_NONE) {
        for (uint32_t y = 0; y < height; y++)
            png_read_row(r->png, pixels_row(r->pixels, y), NULL);
        return SHEAF_OK;
    }
    r->rows = malloc(height * sizeof(r->rows[0]));
    if (r->rows == NULL)
        return err_memory(r->err, height * sizeof(r->rows[0]));
    for (uint32_t y = 0; y < height; y++)
        r->rows[y] = pixels_row(r->pixels, y);
    png_read_image(r->png, r->rows);
    return SHEAF_OK;
}

static int decode_png_read_all(struct png_reading *r)
{
    int code;

    /* pixels_open has limits of its own */
    png_set_user_limits(r->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_chunk_malloc_max(r->png, CHUNK_BYTES_MOST);
    png_set_read_fn(r->png, r, decode_png_read_bytes);
    png_read_info(r->png, r->info);
    code = decode_png_open_pixels(r);
    if (code != SHEAF_OK)
        return code;
    png_set_interlace_handling(r->png);
    png_read_update_info(r->png, r->info);
    if (png_get_rowbytes(r->png, r->info) != (size_t)r->pixels->width * r->pixels->channels)
        png_error(r->png, "rows of another size than its header says");
    code = decode_png_read_rows(r);
    if (code == SHEAF_OK)
        png_read_end(r->png, NULL);
    return code;
}

int decode_png(struct decoding *d, struct pixels *pixels, struct sheaf_error *err)
{
    struct png_reading r = { .at = d->data, .end = d->data + d->size, .d = d, .pixels = pixels,
                         .err = err };
    int code;

    r.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &r.failure, png_failure_error,
                                   png_failure_warning);
    if (r.png == NULL)
        return err_memory(err, LIBRARY_BYTES);
    if (setjmp(r.failure.failed) == 0) {
        r.info = png_create_info_struct(r.png);
        code = r.info == NULL ? err_memory(err, LIBRARY_BYTES) : decode_png_read_all(&r);
    } else {
        code = err_set(err, SHEAF_ERR_CORRUPT, "damaged PNG: %s", r.failure.message);
    }
    png_destroy_read_struct(&r.png, &r.info, NULL);
    free(r.rows);
    return code;
}
