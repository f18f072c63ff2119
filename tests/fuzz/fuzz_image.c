/* SPDX-License-Identifier: MIT
 *
 * Images: whatever the bytes are, a header, a check and a conversion end in bounded memory, and
 * what is converted is a sound JPEG. */
#include <stdlib.h>

#include "base/error.h"
#include "formats/jpeg.h"
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
    if (used != 0)
        abort();        /* all is given back */
    buf_free(&out);
    return 0;
}
