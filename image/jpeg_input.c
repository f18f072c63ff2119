/* SPDX-License-Identifier: MIT
 *
 * The beginning of each decoding. */
#include "image/jpeg_input.h"

/* Largest number of scans of a JPEG. A hostile file may have more scans, each of which takes the
 * time of the whole picture. */
#define SCANS_MOST 500
/* Memory of libjpeg for tables and a few rows. */
#define TABLE_BYTES ((uint64_t)256 << 10)

static void on_progress(j_common_ptr codec)
{
    const struct jpeg_decompress_struct *d = (const void *)codec;

    if (d->input_scan_number <= SCANS_MOST)
        return;
    snprintf(((struct jpeg_failure *)(void *)codec->err)->message, JMSG_LENGTH_MAX,
             "more than %d scans", SCANS_MOST);
    longjmp(((struct jpeg_failure *)(void *)codec->err)->failed, 1);
}

void jpeg_input_init(struct jpeg_input *in, bool lenient)
{
    in->codec.err = jpeg_failure_init(&in->failure);
    in->failure.lenient = lenient;
    in->progress.progress_monitor = on_progress;
}

/* Chooses the smallest size at which libjpeg can decode and which is at least twice the requested
 * size. The requested size itself would be enough, but with twice the size the result is close to
 * that of resampling the whole picture, as in Pillow's `thumbnail`. */
static void choose_scale(struct jpeg_decompress_struct *codec, struct decoding *d)
{
    unsigned divisor = 1;

    while (d->width != 0 && divisor < 8 &&
           codec->image_width / (2 * divisor) >= 2 * (uint64_t)d->width &&
           codec->image_height / (2 * divisor) >= 2 * (uint64_t)d->height)
        divisor *= 2;
    codec->scale_num = 1;
    codec->scale_denom = divisor;
    d->divisor = divisor;
}

void jpeg_input_begin(struct jpeg_input *in, struct decoding *d)
{
    jpeg_create_decompress(&in->codec);
    in->codec.progress = &in->progress;
    jpeg_mem_src(&in->codec, d->data, d->size);
    jpeg_read_header(&in->codec, TRUE);
    in->codec.dct_method = JDCT_ISLOW;
    choose_scale(&in->codec, d);
    jpeg_calc_output_dimensions(&in->codec);
}

/* Returns the memory for the coefficients of the whole picture. A JPEG with several scans needs
 * this memory; for other JPEGs it is 0. */
static uint64_t coefficient_bytes(struct jpeg_decompress_struct *codec)
{
    uint64_t blocks = 0;

    if (!jpeg_has_multiple_scans(codec))
        return 0;
    for (int i = 0; i < codec->num_components; i++) {
        const jpeg_component_info *c = &codec->comp_info[i];

        blocks += ((uint64_t)c->width_in_blocks + (unsigned)c->h_samp_factor) *
                  ((uint64_t)c->height_in_blocks + (unsigned)c->v_samp_factor);
    }
    return blocks * sizeof(JBLOCK);
}

uint64_t jpeg_input_bytes(struct jpeg_input *in)
{
    return coefficient_bytes(&in->codec) + TABLE_BYTES + (uint64_t)in->codec.image_width * 4 * 32;
}

void jpeg_input_close(struct jpeg_input *in)
{
    jpeg_destroy_decompress(&in->codec);
}
