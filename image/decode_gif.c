/* SPDX-License-Identifier: MIT
 *
 * Decodes GIF with giflib. If the file is an animation, decodes its first image. The image is
 * placed on the GIF's canvas, which the format calls the screen. As in Pillow, the rest of the
 * canvas gets the transparent colour, or the first colour of the palette if no colour is
 * transparent. */
#include <string.h>

#include <gif_lib.h>

#include "base/bytes.h"
#include "base/error.h"
#include "image/pixels.h"

#define LIBRARY_BYTES ((uint64_t)256 << 10)

struct gif_reading {
    const uint8_t *at, *end;
    struct decoding *d;
    GifFileType *gif;
    /* index of the transparent colour; -1 if all colours are opaque */
    int transparent;
    struct sheaf_error *err;
};

static int decode_gif_read_bytes(GifFileType *gif, GifByteType *to, int size)
{
    struct gif_reading *r = gif->UserData;
    const size_t left = (size_t)(r->end - r->at), count = MIN((size_t)size, left);

    memcpy(to, r->at, count);
    r->at += count;
    return (int)count;
}

static int decode_gif_damaged(const struct gif_reading *r, const char *otherwise)
{
    const char *why = r->gif == NULL ? NULL : GifErrorString(r->gif->Error);

    return err_set(r->err, SHEAF_ERR_CORRUPT, "damaged GIF: %s", why == NULL ? otherwise : why);
}

/* Reads an extension of the GIF. Uses only the transparent colour in it, and ignores the rest. */
static bool read_extension(struct gif_reading *r)
{
    GifByteType *data = NULL;
    GraphicsControlBlock control;
    int code;

    if (DGifGetExtension(r->gif, &code, &data) == GIF_ERROR)
        return false;
    if (code == GRAPHICS_EXT_FUNC_CODE && data != NULL && data[0] == 4 &&
        DGifExtensionToGCB(data[0], data + 1, &control) == GIF_OK)
        r->transparent = control.TransparentColor;
    while (data != NULL)
        if (DGifGetExtensionNext(r->gif, &data) == GIF_ERROR)
            return false;
    return true;
}

/* Moves to the first image of the GIF. */
static int decode_gif_find_image(struct gif_reading *r)
{
    GifRecordType type;

    for (;;) {
        if (DGifGetRecordType(r->gif, &type) == GIF_ERROR)
            return decode_gif_damaged(r, "a record of no known kind");
        if (type == IMAGE_DESC_RECORD_TYPE)
            return DGifGetImageDesc(r->gif) == GIF_ERROR ? decode_gif_damaged(r, "its image")
                : SHEAF_OK;
        if (type == TERMINATE_RECORD_TYPE)
            return decode_gif_damaged(r, "it has no image");
        if (type == EXTENSION_RECORD_TYPE && !read_extension(r))
            return decode_gif_damaged(r, "an extension");
    }
}

static void put_colour(const ColorMapObject *colours, const struct pixels *p, unsigned index,
                       uint8_t *to)
{
    if (p->channels == 1) {
        *to = (uint8_t)index;
        return;
    }
    if (index >= (unsigned)colours->ColorCount) {
        memset(to, 0, 3);
        return;
    }
    to[0] = colours->Colors[index].Red;
    to[1] = colours->Colors[index].Green;
    to[2] = colours->Colors[index].Blue;
}

static void decode_gif_fill(const struct gif_reading *r, const ColorMapObject *colours,
                            const struct pixels *p)
{
    const unsigned index = r->transparent >= 0 ? (unsigned)r->transparent : 0;
    uint8_t colour[3] = { 0 };

    put_colour(colours, p, index, colour);
    for (uint64_t i = 0; i < (uint64_t)p->width * p->height; i++)
        memcpy(p->data + i * p->channels, colour, p->channels);
}

/* Returns the row of the image to which row `number` of the file belongs, in an interlaced GIF.
 * Such a file does not store its rows from top to bottom. */
static int interlaced_row(int number, int height)
{
    static const struct { int first, step; } passes[] = { { 0, 8 }, { 4, 8 }, { 2, 4 }, { 1, 2 } };

    for (size_t i = 0; i < COUNT_OF(passes); i++) {
        const int count = (height - passes[i].first + passes[i].step - 1) / passes[i].step;

        if (number < count)
            return passes[i].first + number * passes[i].step;
        number -= MAX(count, 0);
    }
    return height - 1;
}

static int decode_gif_read_rows(const struct gif_reading *r, const ColorMapObject *colours,
                                const struct pixels *p)
{
    const GifImageDesc *image = &r->gif->Image;
    GifPixelType line[UINT16_MAX + 1];

    for (int i = 0; i < image->Height; i++) {
        const int y = image->Top + (image->Interlace ? interlaced_row(i, image->Height) : i);
        uint8_t *to = pixels_row(p, (uint64_t)y) + (size_t)image->Left * p->channels;

        if (DGifGetLine(r->gif, line, image->Width) == GIF_ERROR)
            return decode_gif_damaged(r, "its image data");
        for (int x = 0; x < image->Width; x++, to += p->channels)
            put_colour(colours, p, line[x], to);
    }
    return SHEAF_OK;
}

/* Reads the image. If it extends beyond the canvas (the GIF's screen), the canvas is enlarged, as
 * in Pillow. */
static int read_image(struct gif_reading *r, struct pixels *p)
{
    const GifImageDesc *image = &r->gif->Image;
    const ColorMapObject *colours = image->ColorMap != NULL ? image->ColorMap : r->gif->SColorMap;
    const int width = MAX(r->gif->SWidth, image->Left + image->Width);
    const int height = MAX(r->gif->SHeight, image->Top + image->Height);
    int code;

    if (image->Width <= 0 || image->Height <= 0)
        return err_set(r->err, SHEAF_ERR_CORRUPT, "damaged GIF: an image of %d x %d pixels",
                       image->Width, image->Height);
    code = pixels_open(p, r->d, (uint64_t)width, (uint64_t)height, colours == NULL ? 1 : 3,
                       LIBRARY_BYTES, r->err);
    if (code != SHEAF_OK)
        return code;
    decode_gif_fill(r, colours, p);
    return decode_gif_read_rows(r, colours, p);
}

int decode_gif(struct decoding *d, struct pixels *pixels, struct sheaf_error *err)
{
    struct gif_reading r = { .at = d->data, .end = d->data + d->size, .d = d, .transparent = -1,
                         .err = err };
    int failed = 0, code;

    r.gif = DGifOpen(&r, decode_gif_read_bytes, &failed);
    if (r.gif == NULL && failed == D_GIF_ERR_NOT_ENOUGH_MEM)
        return err_memory(err, LIBRARY_BYTES);
    if (r.gif == NULL)
        return err_set(err, SHEAF_ERR_CORRUPT, "damaged GIF: its header");
    code = decode_gif_find_image(&r);
    if (code == SHEAF_OK)
        code = read_image(&r, pixels);
    DGifCloseFile(r.gif, &failed);
    return code;
}
