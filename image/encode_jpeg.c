/* SPDX-License-Identifier: MIT
 *
 * Encodes with libjpeg-turbo into a buffer of the caller. */
#include "image/encode_jpeg.h"

#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "image/jpeg_error.h"

#define CHUNK_BYTES 4096u

struct jpeg_writing {
    struct jpeg_failure failure;
    struct jpeg_compress_struct codec;
    struct jpeg_destination_mgr to;
    struct buf *out;
    struct sheaf_error *err;
    int result;
    uint8_t chunk[CHUNK_BYTES];
};

static void encode_jpeg_begin(j_compress_ptr codec)
{
    struct jpeg_writing *w = codec->client_data;

    w->to.next_output_byte = w->chunk;
    w->to.free_in_buffer = sizeof(w->chunk);
}

static void encode_jpeg_put(struct jpeg_writing *w, size_t size)
{
    w->result = buf_append(w->out, w->chunk, size, w->err);
    if (w->result != SHEAF_OK)
        longjmp(w->failure.failed, 1);
}

static boolean put_chunk(j_compress_ptr codec)
{
    encode_jpeg_put(codec->client_data, CHUNK_BYTES);
    encode_jpeg_begin(codec);
    return TRUE;
}

static void encode_jpeg_end(j_compress_ptr codec)
{
    struct jpeg_writing *w = codec->client_data;

    encode_jpeg_put(w, sizeof(w->chunk) - w->to.free_in_buffer);
}

static void set_up(struct jpeg_writing *w, uint32_t width, uint32_t height, unsigned components,
                   J_COLOR_SPACE colours, int quality)
{
    struct jpeg_compress_struct *codec = &w->codec;

    w->to.init_destination = encode_jpeg_begin;
    w->to.empty_output_buffer = put_chunk;
    w->to.term_destination = encode_jpeg_end;
    codec->client_data = w;
    codec->dest = &w->to;
    codec->image_width = width;
    codec->image_height = height;
    codec->input_components = (int)components;
    codec->in_color_space = components == 1 ? JCS_GRAYSCALE : colours;
    jpeg_set_defaults(codec);
    jpeg_set_quality(codec, quality, TRUE);
    codec->dct_method = JDCT_ISLOW;
}

static void write_pixels(struct jpeg_writing *w, const struct pixels *pixels, int quality)
{
    struct jpeg_compress_struct *codec = &w->codec;

    set_up(w, pixels->width, pixels->height, pixels->channels, JCS_RGB, quality);
    jpeg_start_compress(codec, TRUE);
    while (codec->next_scanline < codec->image_height) {
        uint8_t *row = pixels_row(pixels, codec->next_scanline);

        jpeg_write_scanlines(codec, &row, 1);
    }
    jpeg_finish_compress(codec);
}

/* Sets `rows` to the addresses of the plane's rows from row `first` on. libjpeg encodes whole
 * blocks of pixels, and the plane may end within a block. So the last column is repeated to the
 * right and the last row downwards. libjpeg's encoder does the same with ordinary input. */
static void rows_of(const struct plane *plane, uint32_t first, JSAMPROW rows[2 * DCTSIZE])
{
    for (uint32_t i = 0; i < 2 * DCTSIZE; i++) {
        uint8_t *row = plane->data + MIN(first + i, plane->height - 1) * plane->stride;

        memset(row + plane->width, row[plane->width - 1], plane->stride - plane->width);
        rows[i] = row;
    }
}

static void write_planes(struct jpeg_writing *w, const struct planes *planes, int quality)
{
    struct jpeg_compress_struct *codec = &w->codec;
    const struct plane *first = &planes->plane[0];
    JSAMPROW rows[PLANES_MOST][2 * DCTSIZE];
    JSAMPARRAY arrays[PLANES_MOST];

    set_up(w, first->width, first->height, planes->count, JCS_YCbCr, quality);
    codec->raw_data_in = TRUE;
    jpeg_start_compress(codec, TRUE);
    while (codec->next_scanline < codec->image_height) {
        for (unsigned i = 0; i < planes->count; i++) {
            arrays[i] = rows[i];
            rows_of(&planes->plane[i], codec->next_scanline / (i == 0 ? 1 : 2), rows[i]);
        }
        jpeg_write_raw_data(codec, arrays, 2 * DCTSIZE);
    }
    jpeg_finish_compress(codec);
}

/* Encodes a picture as a JPEG. Either `pixels` or `planes` is the picture, and the other pointer is
 * NULL. */
static int encode_jpeg_encode(const struct pixels *pixels, const struct planes *planes, int quality,
                              struct buf *out, struct sheaf_error *err)
{
    const size_t before = out->size;
    struct jpeg_writing w = { .out = out, .err = err, .result = SHEAF_OK };

    w.codec.err = jpeg_failure_init(&w.failure);
    if (setjmp(w.failure.failed) == 0) {
        jpeg_create_compress(&w.codec);
        if (pixels != NULL)
            write_pixels(&w, pixels, quality);
        else
            write_planes(&w, planes, quality);
    } else {
        out->size = before;
        /* If w.result is already an error, `out` could not grow. If it is still SHEAF_OK, libjpeg
         * itself has refused the picture, for example because it is too wide for a JPEG. */
        if (w.result == SHEAF_OK)
            w.result = err_set(err, SHEAF_ERR_UNSUPPORTED, "cannot become a JPEG: %s",
                               w.failure.message);
    }
    jpeg_destroy_compress(&w.codec);
    return w.result;
}

int encode_jpeg(const struct pixels *pixels, int quality, struct buf *out, struct sheaf_error *err)
{
    return encode_jpeg_encode(pixels, NULL, quality, out, err);
}

int encode_planes(const struct planes *planes, int quality, struct buf *out,
                  struct sheaf_error *err)
{
    return encode_jpeg_encode(NULL, planes, quality, out, err);
}
