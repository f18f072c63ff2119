/* SPDX-License-Identifier: MIT
 *
 * Fuzzes images. For any bytes, reading the header, checking, converting and cropping must end and
 * use bounded memory. A converted image must be an intact JPEG. Crops must have the same pixels
 * whether a part of a JPEG or the whole was decoded. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "formats/jpeg.h"
#include "image/crop_pixels.h"
#include "image/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ROOM_BYTES ((uint64_t)64 << 20)

static int take(void *context, uint64_t bytes, struct sheaf_error *err)
{
    uint64_t *used = context;

    if (*used + bytes > ROOM_BYTES)
        return err_set(err, SHEAF_ERR_LIMIT, "too large for fuzzing");
    *used += bytes;
    return SHEAF_OK;
}

static void give(void *context, uint64_t bytes)
{
    *(uint64_t *)context -= bytes;
}

#define SIDE 24u

/* Makes crops by decoding only the necessary part, and by decoding the whole image, and compares
 * them. */
static void crop(const uint8_t *data, size_t size, const struct image_room *room)
{
    static uint8_t out[2][SIDE * SIDE * 3];
    struct sheaf_pixels_options options;
    int code[2];

    sheaf_pixels_options_init(&options, sizeof(options));
    options.width = options.height = SIDE;
    options.filter = (enum sheaf_resampling)(size % 3);
    for (int i = 0; i < 2; i++) {
        uint8_t *const groups[] = { out[i] };
        struct sheaf_error err;
        struct crop_plan plan;

        options.decodes_whole = i;
        if (crop_plan_open(&plan, &options, &err) != SHEAF_OK)
            abort();
        code[i] = crop_pixels(&plan, data, size, size, room, groups, NULL, &err);
        crop_plan_close(&plan);
    }
    if (code[0] == SHEAF_OK && code[1] == SHEAF_OK && memcmp(out[0], out[1], sizeof(out[0])) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct image_settings settings = {
        .size = size == 0 ? 0 : data[size - 1] % 16, .mode = (enum image_resize)(size % 3),
        .quality = 50,
    };
    uint64_t used = 0;
    const struct image_room room = { take, give, &used };
    struct buf out = BUF_INIT((size_t)16 << 20);
    struct sheaf_error err;
    struct image_look look;
    struct jpeg_info info;

    (void)image_look(data, size, &look);
    (void)image_check(data, size, &room, &err);
    if (image_to_jpeg(data, size, &settings, &room, &out, &err) == SHEAF_OK &&
        jpeg_check(out.data, out.size, &info) != NULL)
        abort();
    crop(data, size, &room);
    if (used != 0)
        abort();        /* all memory was given back */
    buf_free(&out);
    return 0;
}
