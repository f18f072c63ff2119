/* SPDX-License-Identifier: MIT
 *
 * Decodes WebP with libwebp. If the file is an animation, decodes its first image, on a black
 * canvas. Transparency is dropped. */
#include <string.h>

#include <webp/decode.h>
#include <webp/demux.h>

#include "base/error.h"
#include "image/pixels.h"

/* Upper bound for the memory that libwebp needs, in bytes for each pixel. A lossless picture needs
 * the most: 4 bytes for the pixel and 4 bytes for an intermediate value. The bound has a margin of
 * 2 bytes. */
#define BYTES_PER_PIXEL 10u
#define LIBRARY_BYTES ((uint64_t)1 << 20)

static int decode_webp_damaged(struct sheaf_error *err, const char *what)
{
    return err_set(err, SHEAF_ERR_CORRUPT, "damaged WebP: %s", what);
}

static int decode_frame(const WebPIterator *frame, const struct pixels *p, struct sheaf_error *err)
{
    const uint64_t right = (uint64_t)frame->x_offset + (uint64_t)frame->width;
    const uint64_t bottom = (uint64_t)frame->y_offset + (uint64_t)frame->height;
    const size_t stride = (size_t)p->width * 3;
    uint8_t *to;

    if (frame->x_offset < 0 || frame->y_offset < 0 || right > p->width || bottom > p->height)
        return decode_webp_damaged(err, "an image outside of its canvas");
    if (!frame->complete)
        return decode_webp_damaged(err, "it ends too early");
    to = pixels_row(p, (uint64_t)frame->y_offset) + (size_t)frame->x_offset * 3;
    if (WebPDecodeRGBInto(frame->fragment.bytes, frame->fragment.size, to,
                          stride * (size_t)frame->height - (size_t)frame->x_offset * 3,
                          (int)stride) == NULL)
        return decode_webp_damaged(err, "its image data");
    return SHEAF_OK;
}

int decode_webp(struct decoding *d, struct pixels *pixels, struct sheaf_error *err)
{
    const WebPData data = { d->data, d->size };
    WebPDemuxState state;
    WebPDemuxer *demuxer = WebPDemuxPartial(&data, &state);
    WebPIterator frame;
    uint64_t width, height;
    int code;

    if (demuxer == NULL)
        return decode_webp_damaged(err, "its header");
    width = WebPDemuxGetI(demuxer, WEBP_FF_CANVAS_WIDTH);
    height = WebPDemuxGetI(demuxer, WEBP_FF_CANVAS_HEIGHT);
    if (state != WEBP_DEMUX_DONE) {
        code = decode_webp_damaged(err, state == WEBP_DEMUX_PARSE_ERROR ? "its chunks"
                                   : "it ends too early");
    } else if (!WebPDemuxGetFrame(demuxer, 1, &frame)) {
        code = decode_webp_damaged(err, "it has no image");
    } else {
        code = pixels_open(pixels, d, width, height, 3,
                           LIBRARY_BYTES + width * height * BYTES_PER_PIXEL, err);
        if (code == SHEAF_OK)
            code = decode_frame(&frame, pixels, err);
        WebPDemuxReleaseIterator(&frame);
    }
    WebPDemuxDelete(demuxer);
    return code;
}
