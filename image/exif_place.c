/* SPDX-License-Identifier: MIT
 *
 * Finds the EXIF data and the XMP text in an image file:
 * - In a JPEG, they are in APP1 segments.
 * - In a PNG, they are in the chunk eXIf and in text chunks. Older releases of ImageMagick write
 *   EXIF data to a text chunk, as hexadecimal digits.
 * - In a WebP, they are in chunks of their own. The header states which of these chunks exist. */
#include "image/exif_place.h"

#include <stdbool.h>
#include <string.h>

#include <zlib.h>

#include "base/bytes.h"
#include "formats/jpeg.h"

/* ---- PNG ------------------------------------------------------------------------------------- */

static uint32_t load32_big(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* The bytes of a text in a PNG. They may be compressed. */
struct png_text {
    const uint8_t *data;
    size_t size;
    bool is_compressed;
};

/* Removes `count` NUL-terminated texts from the front. */
static bool pass_texts(struct png_text *t, unsigned count)
{
    for (; count != 0; count--) {
        const uint8_t *zero = t->size == 0 ? NULL : memchr(t->data, '\0', t->size);

        if (zero == NULL)
            return false;
        t->size -= (size_t)(zero - t->data) + 1;
        t->data = zero + 1;
    }
    return true;
}

/* Finds the text in a PNG chunk of type tEXt, zTXt or iTXt. Sets t->data and t->size to the text.
 * Returns false if the chunk's keyword is not `keyword`. */
static bool find_text(const char *type, const char *keyword, struct png_text *t)
{
    const size_t size = strlen(keyword) + 1;
    const size_t flags = type[0] == 'i' ? 2 : type[0] == 'z' ? 1 : 0;

    if (t->size < size + flags || memcmp(t->data, keyword, size) != 0)
        return false;
    t->data += size;
    t->size -= size;
    t->is_compressed = type[0] == 'z' || (type[0] == 'i' && t->data[0] != 0);
    if (flags != 0 && t->data[flags - 1] != 0)      /* unknown method of compression */
        return false;
    t->data += flags;
    t->size -= flags;
    /* Pass the language, and the keyword in this language. */
    return type[0] != 'i' || pass_texts(t, 2);
}

/* Unpacks the text into `room` if it is compressed. */
static void unpack_text(struct png_text *t, uint8_t room[EXIF_TEXT_BYTES])
{
    z_stream z = { .next_in = (Bytef *)(uintptr_t)t->data,
                   .avail_in = (uInt)MIN(t->size, (size_t)UINT32_MAX),
                   .next_out = room, .avail_out = EXIF_TEXT_BYTES };

    if (!t->is_compressed)
        return;
    t->data = room;
    t->size = 0;
    if (inflateInit(&z) != Z_OK)
        return;
    (void)inflate(&z, Z_SYNC_FLUSH);
    t->size = EXIF_TEXT_BYTES - z.avail_out;
    inflateEnd(&z);
}

static int exif_place_digit(uint8_t c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Decodes the hexadecimal digits in which ImageMagick stores EXIF data in a PNG text chunk, and
 * writes the bytes to `room`. Returns their number. The digits follow three lines: an empty line,
 * the name of the profile, and its size. */
static size_t parse_profile(const struct png_text *t, uint8_t room[EXIF_TEXT_BYTES])
{
    const uint8_t *p = t->data, *const end = t->data + t->size;
    size_t size = 0;
    int high = -1;

    for (unsigned line = 0; line < 3 && p != NULL; line++) {
        p = p == end ? NULL : memchr(p, '\n', (size_t)(end - p));
        p = p == NULL ? NULL : p + 1;
    }
    for (; p != NULL && p != end && size < EXIF_TEXT_BYTES; p++) {
        const int value = exif_place_digit(*p);

        if (value >= 0 && high >= 0)
            room[size++] = (uint8_t)(high << 4 | value);
        high = value < 0 ? high : high >= 0 ? -1 : value;
    }
    return size;
}

static void exif_place_take_text(const char *type, const uint8_t *data, size_t size,
                                 struct exif_place *p)
{
    struct png_text exif = { data, size, false }, xmp = exif;

    if (p->exif == NULL && find_text(type, "Raw profile type exif", &exif)) {
        unpack_text(&exif, p->exif_text);
        p->exif_size = parse_profile(&exif, p->exif_text);
        p->exif = p->exif_text;
    }
    if (p->xmp == NULL && type[0] == 'i' && find_text(type, "XML:com.adobe.xmp", &xmp)) {
        unpack_text(&xmp, p->xmp_text);
        p->xmp = xmp.data;
        p->xmp_size = xmp.size;
    }
}

static void find_in_png(const uint8_t *data, size_t size, struct exif_place *p)
{
    bool has_chunk = false;

    for (size_t at = 8; at <= size && size - at >= 12; ) {
        const size_t bytes = load32_big(data + at);
        const char *type = (const char *)data + at + 4;

        if (bytes > size - at - 12 || memcmp(type, "IEND", 4) == 0)
            return;
        if (memcmp(type, "eXIf", 4) == 0 && !has_chunk) {
            has_chunk = true;
            p->exif = data + at + 8;
            p->exif_size = bytes;
        } else if (memcmp(type + 1, "EXt", 3) == 0 || memcmp(type + 1, "TXt", 3) == 0) {
            exif_place_take_text(type, data + at + 8, bytes, p);
        }
        at += 12 + bytes;
    }
}

/* ---- WebP ------------------------------------------------------------------------------------ */

enum { WEBP_HAS_XMP = 0x04, WEBP_HAS_EXIF = 0x08 };

static void find_in_webp(const uint8_t *data, size_t size, struct exif_place *p)
{
    const uint8_t flags = size >= 21 && memcmp(data + 12, "VP8X", 4) == 0 ? data[20] : 0;

    for (size_t at = 12; flags != 0 && at <= size && size - at >= 8; ) {
        const uint8_t *const chunk = data + at + 8;
        const size_t bytes = load32(data + at + 4);

        if (bytes > size - at - 8)
            return;
        if (p->exif == NULL && (flags & WEBP_HAS_EXIF) != 0 && memcmp(data + at, "EXIF", 4) == 0) {
            p->exif = chunk;
            p->exif_size = bytes;
        }
        if (p->xmp == NULL && (flags & WEBP_HAS_XMP) != 0 && memcmp(data + at, "XMP ", 4) == 0) {
            p->xmp = chunk;
            p->xmp_size = bytes;
        }
        at += 8 + bytes + bytes % 2;
    }
}

/* ---- All ------------------------------------------------------------------------------------- */

void exif_find(enum image_kind kind, const uint8_t *data, size_t size, struct exif_place *place)
{
    static const char exif[6] = "Exif\0", xmp[] = "http://ns.adobe.com/xap/1.0/";

    place->exif = place->xmp = NULL;
    place->exif_size = place->xmp_size = 0;
    if (kind == IMAGE_JPEG) {
        place->exif = jpeg_app1(data, size, exif, sizeof(exif), &place->exif_size);
        place->xmp = jpeg_app1(data, size, xmp, sizeof(xmp), &place->xmp_size);
    } else if (kind == IMAGE_PNG) {
        find_in_png(data, size, place);
    } else if (kind == IMAGE_WEBP) {
        find_in_webp(data, size, place);
    }
}
