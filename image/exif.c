/* SPDX-License-Identifier: MIT
 *
 * Reads the orientation of a picture from its EXIF data. EXIF data is a TIFF: a header and a
 * directory with entries of 12 bytes, one of which is the orientation (tag 0x112). The standard
 * requires the type SHORT for the orientation, but some programs write a LONG or another type of
 * number. exif_place.c finds the EXIF data and the XMP text in an image file. */
#include "image/exif.h"

#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"
#include "image/exif_place.h"

#define ORIENTATION 0x112u

enum { SHORT = 3, LONG = 4, RATIONAL = 5, SBYTE = 6, SSHORT = 8, SLONG = 9, SRATIONAL = 10,
       FLOAT = 11, DOUBLE = 12, IFD = 13 };

/* Size in bytes of a value of each EXIF type. */
static const uint8_t type_bytes[] = { 0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4 };

struct tiff {
    const uint8_t *data;
    size_t size;
    bool big;
};

static uint64_t number(const struct tiff *t, size_t at, size_t bytes)
{
    uint64_t value = 0;

    for (size_t i = 0; i < bytes; i++)
        value = value << 8 | t->data[at + (t->big ? i : bytes - 1 - i)];
    return value;
}

static double real(uint64_t bits, size_t bytes)
{
    const uint32_t word = (uint32_t)bits;
    float single;
    double value;

    memcpy(&single, &word, sizeof(single));
    memcpy(&value, &bits, sizeof(value));
    return bytes == sizeof(single) ? single : value;
}

/* Returns the number of type `type` that is stored at offset `at`. Returns 1, the orientation of an
 * upright picture, if the type is not a number. The caller must have checked that the number lies
 * within the data. */
static double value_at(const struct tiff *t, unsigned type, size_t at)
{
    const uint64_t bits = number(t, at, type_bytes[type]);
    const uint32_t above = (uint32_t)(t->big ? bits >> 32 : bits);
    const uint32_t below = (uint32_t)(t->big ? bits : bits >> 32);

    switch (type) {
    case SHORT: case LONG: case IFD: return (double)bits;
    case SBYTE: return (int8_t)bits;
    case SSHORT: return (int16_t)bits;
    case SLONG: return (int32_t)bits;
    case FLOAT: case DOUBLE: return real(bits, type_bytes[type]);
    case RATIONAL: return below == 0 ? 1 : (double)above / below;
    case SRATIONAL: return below == 0 ? 1 : (double)(int32_t)above / (int32_t)below;
    default: return 1;
    }
}

static unsigned valid(double value)
{
    for (unsigned i = 2; i <= 8; i++)
        if (value >= i && value <= i)
            return i;
    return 1;
}

/* Returns the orientation that the directory entry at offset `entry` states, or 0 if the entry is
 * not readable. If the entry has several values, the first value counts. */
static unsigned of_entry(const struct tiff *t, size_t entry)
{
    const uint64_t type = number(t, entry + 2, 2), count = number(t, entry + 4, 4);
    uint64_t bytes, at = entry + 8;

    if (type >= COUNT_OF(type_bytes) || type_bytes[type] == 0 || count == 0)
        return 0;
    bytes = count * type_bytes[type];
    if (bytes > 4)
        at = number(t, entry + 8, 4);
    if (at > t->size || bytes > t->size - at)
        return 0;
    return valid(value_at(t, (unsigned)type, (size_t)at));
}

static unsigned of_directory(const struct tiff *t, size_t at)
{
    const size_t count = (size_t)number(t, at, 2);

    for (size_t i = 0; i < count && t->size - at - 2 >= 12 * (i + 1); i++) {
        const size_t entry = at + 2 + 12 * i;
        const unsigned found = number(t, entry, 2) == ORIENTATION ? of_entry(t, entry) : 0;

        if (found != 0)
            return found;
    }
    return 0;
}

/* Returns the orientation that EXIF data states, or 0 if it states no orientation. The text "Exif"
 * before the data is skipped. */
static unsigned of_exif(const uint8_t *data, size_t size)
{
    struct tiff t = { .data = data, .size = size };
    uint64_t at;

    for (int i = 0; i < 2 && t.size >= 6 && memcmp(t.data, "Exif\0", 6) == 0; i++) {
        t.data += 6;
        t.size -= 6;
    }
    if (t.size < 8 || (memcmp(t.data, "MM", 2) != 0 && memcmp(t.data, "II", 2) != 0))
        return 0;
    t.big = t.data[0] == 'M';
    if (number(&t, 2, 2) != 42)
        return 0;
    at = number(&t, 4, 4);
    return at <= t.size - 2 ? of_directory(&t, (size_t)at) : 0;
}

/* Returns the orientation that an XMP text states, or 0 if it states no orientation. XMP is XML,
 * and the orientation is an attribute or an element. */
static unsigned of_xmp(const uint8_t *data, size_t size)
{
    static const char name[] = "tiff:Orientation";
    const uint8_t *const end = data + size;
    const uint8_t *p = data;

    while (p != NULL && (p = memmem(p, (size_t)(end - p), name, sizeof(name) - 1)) != NULL) {
        p += sizeof(name) - 1;
        if (end - p >= 3 && p[0] == '=' && p[1] == '"')
            p++;
        else if (end - p < 2 || p[0] != '>')
            continue;
        if (p[1] >= '0' && p[1] <= '9')
            return valid(p[1] - '0');
    }
    return 0;
}

unsigned exif_orientation(enum image_kind kind, const uint8_t *data, size_t size)
{
    struct exif_place place;
    unsigned found;

    exif_find(kind, data, size, &place);
    found = place.exif == NULL ? 0 : of_exif(place.exif, place.exif_size);
    if (found == 0 && place.xmp != NULL)
        found = of_xmp(place.xmp, place.xmp_size);
    return MAX(found, 1u);
}
