/* SPDX-License-Identifier: MIT
 *
 * Encoding by libjpeg-turbo, into a buffer of the caller's. */
#include "packer/image/encode_jpeg.h"

#include "base/bytes.h"
#include "base/error.h"
#include "packer/image/jpeg_error.h"

#define CHUNK_BYTES 4096u

struct writing {
    struct jpeg_failure failure;
    struct jpeg_compress_struct codec;
    struct jpeg_destination_mgr to;
    struct buf *out;
    struct sheaf_error *err;
    int result;
    uint8_t chunk[CHUNK_BYTES];
};

static void begin(j_compress_ptr codec)
{
    struct writing *w = codec->client_data;

    w->to.next_output_byte = w->chunk;
    w->to.free_in_buffer = sizeof(w->chunk);
}

static void put(struct writing *w, size_t size)
{
    w->result = buf_append(w->out, w->chunk, size, w->err);
    if (w->result != SHEAF_OK)
        longjmp(w->failure.failed, 1);
}

static boolean put_chunk(j_compress_ptr codec)
{
    put(codec->client_data, CHUNK_BYTES);
    begin(codec);
    return TRUE;
}

static void end(j_compress_ptr codec)
{
    struct writing *w = codec->client_data;

    put(w, sizeof(w->chunk) - w->to.free_in_buffer);
}

static void write_all(struct writing *w, const struct pixels *pixels, int quality)
{
    struct jpeg_compress_struct *codec = &w->codec;

    w->to.init_destination = begin;
    w->to.empty_output_buffer = put_chunk;
    w->to.term_destination = end;
    codec->client_data = w;
    codec->dest = &w->to;
    codec->image_width = pixels->width;
    codec->image_height = pixels->height;
    codec->input_components = (int)pixels->channels;
    codec->in_color_space = pixels->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(codec);
    jpeg_set_quality(codec, quality, TRUE);
    codec->dct_method = JDCT_ISLOW;
    jpeg_start_compress(codec, TRUE);
    while (codec->next_scanline < codec->image_height) {
        uint8_t *row = pixels_row(pixels, codec->next_scanline);

        jpeg_write_scanlines(codec, &row, 1);
    }
    jpeg_finish_compress(codec);
}

int encode_jpeg(const struct pixels *pixels, int quality, struct buf *out, struct sheaf_error *err)
{
    const size_t before = out->size;
    struct writing w = { .out = out, .err = err, .result = SHEAF_OK };

    w.codec.err = jpeg_failure_init(&w.failure);
    if (setjmp(w.failure.failed) == 0) {
        jpeg_create_compress(&w.codec);
        write_all(&w, pixels, quality);
    } else {
        out->size = before;
        if (w.result == SHEAF_OK)       /* wider or higher than a JPEG may be */
            w.result = err_set(err, SHEAF_ERR_UNSUPPORTED, "cannot become a JPEG: %s",
                               w.failure.message);
    }
    jpeg_destroy_compress(&w.codec);
    return w.result;
}
