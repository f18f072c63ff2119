/* SPDX-License-Identifier: MIT
 *
 * Makes thumbnails and reads image headers, for people who look at a data set. A thumbnail is a
 * small JPEG that is made from a JPEG.
 *
 * libjpeg can scale down to an eighth. After that, pixels are averaged row by row, so only one row
 * of a large image must be in memory. libjpeg holds a progressive JPEG completely in memory. So
 * such a JPEG is refused if it has more than PIXELS_MOST pixels. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "image/image.h"
#include "image/jpeg_error.h"

#define PIXELS_MOST ((uint64_t)100000000)
#define QUALITY 75
#define SIDE_MOST 1024u

int sheaf_image_look(const void *data, size_t size, struct sheaf_image *image)
{
    struct image_look look;

    *image = (struct sheaf_image){ .format = NULL };
    if (!image_look(data, size, &look))
        return SHEAF_END;
    *image = (struct sheaf_image){ image_kinds[look.kind].name, look.width, look.height };
    return SHEAF_OK;
}

/* ---- Thumbnails ------------------------------------------------------------------------------ */

struct scaling {
    struct jpeg_failure failure;
    struct jpeg_decompress_struct in;
    struct jpeg_compress_struct out;
    /* size of the thumbnail in pixels, and number of its rows that are finished */
    uint32_t width, height, made;
    /* memory for one row of the decoded image, and for one row of the thumbnail */
    uint8_t *row, *small;
    uint32_t *sums;                     /* sums for the current row of the thumbnail */
    unsigned char *bytes;               /* the resulting JPEG, allocated by libjpeg */
    unsigned long size;
};

/* Chooses the scale at which libjpeg decodes: the smallest scale at which the image is not smaller
 * than the thumbnail. */
static void choose_size(struct scaling *s, unsigned side)
{
    const uint32_t width = s->in.image_width, height = s->in.image_height;
    const uint32_t longer = MAX(width, height);

    s->width = longer <= side ? width : (uint32_t)MAX((uint64_t)width * side / longer, 1u);
    s->height = longer <= side ? height : (uint32_t)MAX((uint64_t)height * side / longer, 1u);
    s->in.scale_num = 1;
    s->in.scale_denom = 8;
    while (s->in.scale_denom > 1 &&
           (width / s->in.scale_denom < s->width || height / s->in.scale_denom < s->height))
        s->in.scale_denom /= 2;
}

/* Converts a decoded pixel (grey, RGB or CMYK) to RGB. If the file has Adobe's marker, its CMYK
 * values are inverted. */
static void to_rgb(const struct scaling *s, const uint8_t *p, uint32_t rgb[3])
{
    const unsigned components = (unsigned)s->in.output_components;

    for (int i = 0; i < 3; i++) {
        if (components != 4)
            rgb[i] = p[components == 1 ? 0 : i];
        else if (s->in.saw_Adobe_marker)
            rgb[i] = (uint32_t)p[i] * p[3] / 255;
        else
            rgb[i] = (uint32_t)(255 - p[i]) * (255u - p[3]) / 255;
    }
}

static void thumbnail_add_row(struct scaling *s)
{
    const uint32_t width = s->in.output_width;

    for (uint32_t x = 0; x < width; x++) {
        uint32_t *sum = &s->sums[(uint64_t)x * s->width / width * 4], rgb[3];

        to_rgb(s, s->row + (size_t)x * (unsigned)s->in.output_components, rgb);
        for (int i = 0; i < 3; i++)
            sum[i] += rgb[i];
        sum[3]++;
    }
}

static void end_row(struct scaling *s)
{
    JSAMPROW row = s->small;

    for (uint32_t x = 0; x < s->width; x++) {
        const uint32_t *sum = &s->sums[x * 4];

        for (int i = 0; i < 3; i++)
            s->small[x * 3 + (uint32_t)i] = (uint8_t)(sum[3] == 0 ? 0 : sum[i] / sum[3]);
    }
    jpeg_write_scanlines(&s->out, &row, 1);
    s->made++;
    memset(s->sums, 0, (size_t)s->width * 4 * sizeof(s->sums[0]));
}

static int thumbnail_begin(struct scaling *s, const void *data, size_t size, unsigned side,
                           struct sheaf_error *err)
{
    jpeg_create_decompress(&s->in);
    jpeg_create_compress(&s->out);
    jpeg_mem_src(&s->in, data, (unsigned long)size);
    jpeg_read_header(&s->in, TRUE);
    if ((uint64_t)s->in.image_width * s->in.image_height > PIXELS_MOST)
        return err_set(err, SHEAF_ERR_LIMIT, "an image of %u x %u pixels", s->in.image_width,
                       s->in.image_height);
    choose_size(s, side);
    jpeg_start_decompress(&s->in);
    s->width = MIN(s->width, s->in.output_width);       /* Rounding could have made it larger. */
    s->height = MIN(s->height, s->in.output_height);
    s->row = malloc((size_t)s->in.output_width * (unsigned)s->in.output_components);
    s->small = malloc((size_t)s->width * 3);
    s->sums = calloc(s->width, 4 * sizeof(s->sums[0]));
    if (s->row == NULL || s->small == NULL || s->sums == NULL)
        return err_memory(err, (size_t)s->in.output_width * 4);
    jpeg_mem_dest(&s->out, &s->bytes, &s->size);
    s->out.image_width = s->width;
    s->out.image_height = s->height;
    s->out.input_components = 3;
    s->out.in_color_space = JCS_RGB;
    jpeg_set_defaults(&s->out);
    jpeg_set_quality(&s->out, QUALITY, TRUE);
    jpeg_start_compress(&s->out, TRUE);
    return SHEAF_OK;
}

/* Makes the thumbnail. If an error occurs, libjpeg leaves this function by longjmp. */
static int scale(struct scaling *s, const void *data, size_t size, unsigned side,
                 struct sheaf_error *err)
{
    JSAMPROW row;
    int code;

    if (setjmp(s->failure.failed) != 0)
        return err_set(err, SHEAF_ERR_CORRUPT, "%s", s->failure.message);
    code = thumbnail_begin(s, data, size, side, err);
    for (row = s->row; code == SHEAF_OK && s->in.output_scanline < s->in.output_height;) {
        jpeg_read_scanlines(&s->in, &row, 1);
        thumbnail_add_row(s);
        if ((uint64_t)s->in.output_scanline * s->height / s->in.output_height > s->made)
            end_row(s);
    }
    if (code == SHEAF_OK)
        jpeg_finish_compress(&s->out);
    return code;
}

int sheaf_thumbnail(const void *image, size_t size, unsigned side, void *thumbnail,
                    size_t *thumbnail_size, struct sheaf_error *err)
{
    struct scaling *s = calloc(1, sizeof(*s));
    struct sheaf_image look;
    int code = SHEAF_OK;

    if (s == NULL)
        return err_memory(err, sizeof(*s));
    s->in.err = s->out.err = jpeg_failure_init(&s->failure);
    if (side == 0 || side > SIDE_MOST)
        code = err_set(err, SHEAF_ERR_ARGUMENT, "a side of %u pixels, expected 1 to %u", side,
                       SIDE_MOST);
    else if (sheaf_image_look(image, size, &look) != SHEAF_OK || strcmp(look.format, "JPEG") != 0)
        code = err_set(err, SHEAF_ERR_UNSUPPORTED, "not a JPEG");
    if (code == SHEAF_OK)
        code = scale(s, image, size, side, err);
    if (code == SHEAF_OK && s->size > *thumbnail_size)
        code = err_set(err, SHEAF_ERR_LIMIT, "a thumbnail of %lu bytes, expected at most %zu",
                       s->size, *thumbnail_size);
    if (code == SHEAF_OK) {
        memcpy(thumbnail, s->bytes, s->size);
        *thumbnail_size = s->size;
    }
    jpeg_destroy_compress(&s->out);
    jpeg_destroy_decompress(&s->in);
    free(s->bytes);
    free(s->row);
    free(s->small);
    free(s->sums);
    free(s);
    return code;
}
