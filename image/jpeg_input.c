/* SPDX-License-Identifier: MIT
 *
 * Begins to decode a JPEG: reads its header, and chooses the scale. */
#include "image/jpeg_input.h"

/* Largest number of scans that a JPEG may have. Decoding a scan takes the time of decoding a whole
 * picture, so a file made by an attacker could otherwise take very long. */
#define SCANS_MOST 500
/* Memory in bytes that libjpeg needs for tables and a few rows. */
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

/* Chooses the scale at which libjpeg decodes: the smallest scale at which both sides have at least
 * twice the requested number of pixels. Decoding at the requested size would be faster. But the
 * pixels would then differ more from those of a full picture that is decoded first and shrunk
 * afterwards. Pillow's `thumbnail` makes the same choice. */
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

/* Returns the memory in bytes for the DCT coefficients of the whole picture. libjpeg keeps all of
 * them only if the JPEG has several scans, because each scan adds to them. For other JPEGs the
 * result is 0. */
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
