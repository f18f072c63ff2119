/* SPDX-License-Identifier: MIT
 *
 * Decodes BMP without a library, because the format is simple and Debian has no library for BMP
 * alone.
 *
 * A BMP has a file header, an information header that begins with its own size, colour masks or a
 * palette, and rows of pixels. Rows are stored from bottom to top. Each row is padded to a multiple
 * of four bytes. A pixel is a palette index of 1, 4 or 8 bits (possibly run-length encoded) or a
 * colour of 16, 24 or 32 bits. Transparency is dropped. */
#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "image/pixels.h"

enum { FILE_HEADER = 14, CORE_HEADER = 12, INFO_HEADER = 40, MASKS_HEADER = 52 };
enum compression { BMP_RGB = 0, BMP_RLE8 = 1, BMP_RLE4 = 2, BMP_BITFIELDS = 3,
                   BMP_ALPHAFIELDS = 6 };

struct bmp {
    const uint8_t *data;
    size_t size;
    uint32_t width, height;
    bool top_down;
    unsigned bits;
    uint32_t compression;
    /* offset of the palette in `data`, size of a palette entry in bytes, and number of entries */
    size_t palette, palette_entry, colours;
    uint32_t masks[3];
    size_t pixels;              /* offset of the pixels in `data` */
    struct sheaf_error *err;
};

static uint32_t get16(const struct bmp *b, size_t at)
{
    return (uint32_t)b->data[at] | (uint32_t)b->data[at + 1] << 8;
}

static uint32_t get32(const struct bmp *b, size_t at)
{
    return get16(b, at) | get16(b, at + 2) << 16;
}

static int decode_bmp_damaged(const struct bmp *b, const char *what)
{
    return err_set(b->err, SHEAF_ERR_CORRUPT, "damaged BMP: %s", what);
}

/* ---- Headers --------------------------------------------------------------------------------- */

static int read_masks(struct bmp *b, size_t header)
{
    static const uint32_t usual[2][3] = { { 0x7c00, 0x03e0, 0x001f },
                                          { 0xff0000, 0x00ff00, 0x0000ff } };

    memcpy(b->masks, usual[b->bits == 32], sizeof(b->masks));
    if (b->compression != BMP_BITFIELDS && b->compression != BMP_ALPHAFIELDS)
        return SHEAF_OK;
    if (b->bits != 16 && b->bits != 32)
        return decode_bmp_damaged(b, "masks of colours that are indices");
    if (b->size < FILE_HEADER + MASKS_HEADER)
        return decode_bmp_damaged(b, "it ends too early");
    for (size_t i = 0; i < 3; i++)
        b->masks[i] = get32(b, FILE_HEADER + INFO_HEADER + 4 * i);
    if (header < MASKS_HEADER)
        b->palette += b->compression == BMP_ALPHAFIELDS ? 16 : 12;
    return SHEAF_OK;
}

static int read_core(struct bmp *b)
{
    b->width = get16(b, FILE_HEADER + 4);
    b->height = get16(b, FILE_HEADER + 6);
    b->bits = get16(b, FILE_HEADER + 10);
    b->palette_entry = 3;
    return SHEAF_OK;
}

static int read_info(struct bmp *b, size_t header)
{
    const int32_t height = (int32_t)get32(b, FILE_HEADER + 8);

    if (header < INFO_HEADER || b->size < FILE_HEADER + INFO_HEADER)
        return decode_bmp_damaged(b, "a header of no known size");
    b->width = get32(b, FILE_HEADER + 4);
    b->top_down = height < 0;
    b->height = height < 0 ? 0u - (uint32_t)height : (uint32_t)height;
    b->bits = get16(b, FILE_HEADER + 14);
    b->compression = get32(b, FILE_HEADER + 16);
    b->colours = get32(b, FILE_HEADER + 32);
    b->palette_entry = 4;
    return read_masks(b, header);
}

static bool is_supported(const struct bmp *b)
{
    switch (b->compression) {
    case BMP_RGB:
        return b->bits == 1 || b->bits == 4 || b->bits == 8 || b->bits == 16 || b->bits == 24 ||
               b->bits == 32;
    case BMP_RLE8: return b->bits == 8 && !b->top_down;
    case BMP_RLE4: return b->bits == 4 && !b->top_down;
    default: return b->compression == BMP_BITFIELDS || b->compression == BMP_ALPHAFIELDS;
    }
}

static int read_headers(struct bmp *b)
{
    size_t header;
    int code;

    if (b->size < FILE_HEADER + CORE_HEADER)
        return decode_bmp_damaged(b, "it ends too early");
    header = get32(b, FILE_HEADER);
    b->pixels = get32(b, 10);
    if (header > b->size || b->pixels > b->size)
        return decode_bmp_damaged(b, "it ends too early");
    b->palette = FILE_HEADER + header;
    code = header == CORE_HEADER ? read_core(b) : read_info(b, header);
    if (code != SHEAF_OK)
        return code;
    if (!is_supported(b))
        return err_set(b->err, SHEAF_ERR_UNSUPPORTED, "a BMP of %u bits with compression %u",
                       b->bits, b->compression);
    if (b->bits > 8)
        return SHEAF_OK;
    if (b->colours == 0 || b->colours > (size_t)1 << b->bits)
        b->colours = (size_t)1 << b->bits;
    if (b->palette > b->size || b->colours * b->palette_entry > b->size - b->palette)
        return decode_bmp_damaged(b, "it ends in its palette");
    return SHEAF_OK;
}

/* ---- Colours --------------------------------------------------------------------------------- */

static void decode_bmp_put_index(const struct bmp *b, unsigned index, uint8_t *to)
{
    const uint8_t *entry = b->data + b->palette + index * b->palette_entry;

    if (index >= b->colours) {
        memset(to, 0, 3);
        return;
    }
    to[0] = entry[2];
    to[1] = entry[1];
    to[2] = entry[0];
}

static uint8_t of_mask(uint32_t value, uint32_t mask)
{
    const uint32_t most = mask == 0 ? 0 : mask >> __builtin_ctz(mask);

    return most == 0 ? 0
         : (uint8_t)((uint64_t)((value & mask) >> __builtin_ctz(mask)) * 255 / most);
}

static void put_row(const struct bmp *b, const uint8_t *from, uint8_t *to)
{
    for (uint32_t x = 0; x < b->width; x++, to += 3) {
        const size_t bit = (size_t)x * b->bits;
        const uint8_t *at = from + bit / 8;
        uint32_t value;

        if (b->bits <= 8) {
            decode_bmp_put_index(b,
                                 (unsigned)*at >> (8 - b->bits - bit % 8) & ((1u << b->bits) - 1),
                                 to);
        } else if (b->bits == 24) {
            to[0] = at[2];
            to[1] = at[1];
            to[2] = at[0];
        } else {
            value = (uint32_t)at[0] | (uint32_t)at[1] << 8;
            if (b->bits == 32)
                value |= (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
            for (size_t c = 0; c < 3; c++)
                to[c] = of_mask(value, b->masks[c]);
        }
    }
}

static int read_plain(const struct bmp *b, const struct pixels *p)
{
    const uint64_t row = ((uint64_t)b->width * b->bits + 31) / 32 * 4;

    if (row * b->height > b->size - b->pixels)
        return decode_bmp_damaged(b, "it ends too early");
    for (uint32_t y = 0; y < b->height; y++)
        put_row(b, b->data + b->pixels + row * y,
                pixels_row(p, b->top_down ? y : b->height - 1 - y));
    return SHEAF_OK;
}

/* ---- Runs ------------------------------------------------------------------------------------ */

struct runs {
    const struct bmp *bmp;
    const struct pixels *pixels;
    const uint8_t *at, *end;
    /* position of the next pixel; y counts from the bottom */
    uint64_t x, y;
};

static void put_pixel(struct runs *r, unsigned index)
{
    const struct bmp *b = r->bmp;

    if (r->x < b->width && r->y < b->height)
        decode_bmp_put_index(b, index, pixels_row(r->pixels, b->height - 1 - r->y) + 3 * r->x);
    r->x++;
}

/* Copies `count` palette indices from an uncompressed section of a run-length encoded BMP. The
 * section is padded to an even number of bytes. */
static bool put_literals(struct runs *r, unsigned count)
{
    const unsigned bits = r->bmp->bits;
    const size_t bytes = (count * bits + 7) / 8, padded = (bytes + 1) / 2 * 2;

    if ((size_t)(r->end - r->at) < bytes)
        return false;
    for (unsigned i = 0; i < count; i++)
        put_pixel(r, bits == 8 ? r->at[i] : r->at[i / 2] >> (i % 2 == 0 ? 4 : 0) & 15);
    r->at += MIN(padded, (size_t)(r->end - r->at));
    return true;
}

static bool put_run(struct runs *r, unsigned count, unsigned value)
{
    for (unsigned i = 0; i < count; i++)
        put_pixel(r, r->bmp->bits == 8 ? value : value >> (i % 2 == 0 ? 4 : 0) & 15);
    return true;
}

/* Decodes run-length encoded pixels. Stops at the mark for the end of the picture, or at the end of
 * the data. */
static int read_runs(const struct bmp *b, const struct pixels *p)
{
    struct runs r = { b, p, b->data + b->pixels, b->data + b->size, 0, 0 };

    for (uint64_t i = 0; i < (uint64_t)p->width * p->height; i++)
        decode_bmp_put_index(b, 0, p->data + 3 * i);
    while (r.end - r.at >= 2) {
        const unsigned count = r.at[0], value = r.at[1];
        bool whole = true;

        r.at += 2;
        if (count != 0) {
            whole = put_run(&r, count, value);
        } else if (value == 0) {
            r.x = 0;
            r.y++;
        } else if (value == 1) {
            return SHEAF_OK;
        } else if (value == 2) {
            whole = r.end - r.at >= 2;
            r.x += whole ? r.at[0] : 0;
            r.y += whole ? r.at[1] : 0;
            r.at += whole ? 2 : 0;
        } else {
            whole = put_literals(&r, value);
        }
        if (!whole)
            break;
    }
    return decode_bmp_damaged(b, "it ends too early");
}

int decode_bmp(struct decoding *d, struct pixels *pixels, struct sheaf_error *err)
{
    struct bmp b = { .data = d->data, .size = d->size, .err = err };
    int code = read_headers(&b);

    if (code == SHEAF_OK)
        code = pixels_open(pixels, d, b.width, b.height, 3, 0, err);
    if (code != SHEAF_OK)
        return code;
    return b.compression == BMP_RLE8 || b.compression == BMP_RLE4 ? read_runs(&b, pixels)
                                                                  : read_plain(&b, pixels);
}
