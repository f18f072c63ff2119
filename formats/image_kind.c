/* SPDX-License-Identifier: MIT
 *
 * The table of the kinds of image files; see image_kind.h. */
#include "formats/image_kind.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/bytes.h"

const struct image_kind_row image_kinds[IMAGE_KINDS] = {
    [IMAGE_UNKNOWN] = { .name = "an unknown kind" },
    [IMAGE_JPEG] = { "JPEG", "JPEG", { "jpg", "jpeg" }, 0, 3, "\xff\xd8\xff" },
    [IMAGE_PNG] = { "PNG", "PNG", { "png" }, 0, 8, "\x89PNG\r\n\x1a\n" },
    [IMAGE_GIF] = { "GIF", "GIF", { "gif" }, 0, 4, "GIF8" },
    [IMAGE_BMP] = { "BMP", "BMP", { "bmp" }, 0, 2, "BM" },
    [IMAGE_WEBP] = { "WebP", "WEBP", { "webp" }, 8, 4, "WEBP" },
};

/* Returns whether data that has the bytes `begins` of the kind also has its other fixed bytes. */
static bool image_kind_fits(enum image_kind kind, const char *data, size_t size)
{
    if (kind == IMAGE_GIF)
        return size >= 6 && (memcmp(data + 4, "7a", 2) == 0 || memcmp(data + 4, "9a", 2) == 0);
    return kind != IMAGE_WEBP || memcmp(data, "RIFF", 4) == 0;
}

enum image_kind image_kind_of(const void *data, size_t size)
{
    for (enum image_kind i = IMAGE_JPEG; i < IMAGE_KINDS; i++)
        if (size >= image_kinds[i].at + image_kinds[i].begins_size &&
            memcmp((const char *)data + image_kinds[i].at, image_kinds[i].begins,
                   image_kinds[i].begins_size) == 0 && image_kind_fits(i, data, size))
            return i;
    return IMAGE_UNKNOWN;
}

enum image_kind image_kind_named(const char *name)
{
    const char *dot = strrchr(name, '.'), *suffix = dot != NULL ? dot + 1 : name;

    for (enum image_kind i = IMAGE_JPEG; i < IMAGE_KINDS; i++)
        for (size_t k = 0; k < COUNT_OF(image_kinds[i].suffixes); k++)
            if (image_kinds[i].suffixes[k] != NULL &&
                strcasecmp(suffix, image_kinds[i].suffixes[k]) == 0)
                return i;
    return IMAGE_UNKNOWN;
}
