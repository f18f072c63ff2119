/* SPDX-License-Identifier: MIT
 *
 * Memory for pictures, and turning pictures upright. The memory is mapped with mmap, so the system
 * gets it back as soon as a picture is closed. malloc would keep the memory of the largest picture
 * for later use. */
#include "image/pixels.h"

#include <string.h>
#include <sys/mman.h>

#include "base/bytes.h"
#include "base/error.h"

/* For a picture of width x height pixels, the resampler needs at most RESAMPLE_BYTES * (width +
 * height) bytes of memory. It stores weights and some rows there. */
#define RESAMPLE_BYTES 256u

/* Returns the number of bytes to map for a picture of this size. It includes one extra byte after
 * the last pixel, because a reader may load the three bytes of a pixel as four bytes. */
static size_t mapped_bytes(uint32_t width, uint32_t height, unsigned channels)
{
    return (size_t)width * height * channels + 1;
}

int pixels_map(struct pixels *p, uint32_t width, uint32_t height, unsigned channels,
               struct sheaf_error *err)
{
    /* All of the memory will be written. */
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE;
    const size_t bytes = mapped_bytes(width, height, channels);
    void *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);

    *p = (struct pixels){ .width = width, .height = height, .channels = channels };
    if (data == MAP_FAILED)
        return err_memory(err, bytes);
    p->data = data;
    return SHEAF_OK;
}

int pixels_check_size(uint64_t width, uint64_t height, struct sheaf_error *err)
{
    if (width == 0 || height == 0)
        return err_set(err, SHEAF_ERR_CORRUPT, "an image of %llu x %llu pixels",
                       (unsigned long long)width, (unsigned long long)height);
    if (width > IMAGE_SIDE_MOST || height > IMAGE_SIDE_MOST || width * height > IMAGE_PIXELS_MOST)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "an image of %llu x %llu pixels; at most %llu "
                       "pixels are decoded, and %u on a side", (unsigned long long)width,
                       (unsigned long long)height, (unsigned long long)IMAGE_PIXELS_MOST,
                       IMAGE_SIDE_MOST);
    return SHEAF_OK;
}

int pixels_open(struct pixels *p, struct decoding *d, uint64_t width, uint64_t height,
                unsigned channels, uint64_t library_bytes, struct sheaf_error *err)
{
    const uint64_t rows = d->by_row ? 1 : height, bytes = width * rows * channels;
    uint64_t needed;
    int code;

    *p = (struct pixels){ .channels = channels };
    code = pixels_check_size(width, height, err);
    if (code != SHEAF_OK)
        return code;
    needed = bytes + library_bytes;
    /* The picture will be copied, so memory for two pictures is taken. The resampler works on one
     * channel at a time and needs memory for this channel as well. */
    if (d->copies)
        needed = bytes + MAX(bytes + bytes / channels, library_bytes) +
                 RESAMPLE_BYTES * (width + height);
    needed += d->beside;
    code = d->room->take(d->room->context, needed, err);
    if (code != SHEAF_OK)
        return code;
    d->taken = needed;
    return pixels_map(p, (uint32_t)width, (uint32_t)rows, channels, err);
}

void pixels_close(struct pixels *p)
{
    if (p->data != NULL)
        munmap(p->data, mapped_bytes(p->width, p->height, p->channels));
    p->data = NULL;
}

/* ---- Orientation ----------------------------------------------------------------------------- */

/* Finds the pixels for row `y` of the turned picture. Returns the address of the row's first pixel
 * in the original picture. Sets *step to the distance in bytes from each pixel of the row to the
 * next. */
static const uint8_t *first_of_row(const struct turning *p, unsigned orientation, uint32_t y,
                                   ptrdiff_t *step)
{
    const ptrdiff_t pixel = (ptrdiff_t)p->channels, row = (ptrdiff_t)p->stride;
    const ptrdiff_t right = (ptrdiff_t)p->width - 1, bottom = (ptrdiff_t)p->height - 1;
    const ptrdiff_t at = (ptrdiff_t)y;

    switch (orientation) {
    case 2: *step = -pixel; return p->data + at * row + right * pixel;
    case 3: *step = -pixel; return p->data + (bottom - at) * row + right * pixel;
    case 4: *step = pixel; return p->data + (bottom - at) * row;
    case 5: *step = row; return p->data + at * pixel;
    case 6: *step = -row; return p->data + bottom * row + at * pixel;
    case 7: *step = -row; return p->data + bottom * row + (right - at) * pixel;
    case 8: *step = row; return p->data + (right - at) * pixel;
    default: *step = pixel; return p->data + at * row;
    }
}

void pixels_turn(const struct turning *from, unsigned orientation, uint8_t *to, size_t stride)
{
    const uint32_t width = orientation >= 5 ? from->height : from->width;
    const uint32_t height = orientation >= 5 ? from->width : from->height;

    for (uint32_t y = 0; y < height; y++) {
        uint8_t *pixel = to + y * stride;
        ptrdiff_t step;
        const uint8_t *at = first_of_row(from, orientation, y, &step);

        for (uint32_t x = 0; x < width; x++, at += step)
            for (unsigned c = 0; c < from->channels; c++)
                *pixel++ = at[c];
    }
}

int pixels_upright(struct pixels *p, unsigned orientation, struct sheaf_error *err)
{
    const struct turning from = {
        p->data, p->width, p->height, (size_t)p->width * p->channels, p->channels,
    };
    const bool turned = orientation >= 5;
    struct pixels result;
    int code;

    if (orientation <= 1)
        return SHEAF_OK;
    code = pixels_map(&result, turned ? p->height : p->width, turned ? p->width : p->height,
                      p->channels, err);
    if (code != SHEAF_OK)
        return code;
    pixels_turn(&from, orientation, result.data, (size_t)result.width * result.channels);
    pixels_close(p);
    *p = result;
    return SHEAF_OK;
}
