/* SPDX-License-Identifier: MIT
 *
 * Reads EXIF, which is a TIFF in the first segment APP1 that begins with "Exif": a header, and a
 * directory of 12-byte entries, one of which is the orientation (tag 0x112, one SHORT). */
#include "image/exif.h"

#include <stdbool.h>
#include <string.h>

#include "formats/jpeg.h"

struct tiff {
    const uint8_t *data;
    size_t size;
    bool big;
};

static uint32_t number(const struct tiff *t, size_t at, size_t bytes)
{
    uint32_t value = 0;

    for (size_t i = 0; i < bytes; i++)
        value = value << 8 | t->data[at + (t->big ? i : bytes - 1 - i)];
    return value;
}

static unsigned of_directory(const struct tiff *t, size_t at)
{
    const size_t count = number(t, at, 2);

    for (size_t i = 0; i < count && t->size - at - 2 >= 12 * (i + 1); i++) {
        const size_t entry = at + 2 + 12 * i;
        uint32_t value;

        if (number(t, entry, 2) != 0x112)
            continue;
        value = number(t, entry + 8, 2);
        return number(t, entry + 2, 2) == 3 && number(t, entry + 4, 4) == 1 && value >= 1 &&
               value <= 8 ? value : 1;
    }
    return 1;
}

unsigned exif_orientation(const uint8_t *jpeg, size_t size)
{
    struct tiff t = { .data = NULL };
    size_t at;

    t.data = jpeg_exif(jpeg, size, &t.size);
    if (t.data == NULL || t.size < 8)
        return 1;
    t.big = t.data[0] == 'M';
    if (memcmp(t.data, t.big ? "MM\0*" : "II*\0", 4) != 0)
        return 1;
    at = number(&t, 4, 4);
    return at <= t.size - 2 ? of_directory(&t, at) : 1;
}
