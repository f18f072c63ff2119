/* SPDX-License-Identifier: MIT
 *
 * Well-formed UTF-8. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Returns the size in bytes of the well-formed UTF-8 sequence at `p` (Unicode, table 3-7). Returns
 * 0 if no well-formed sequence begins at `p`. `left` is the number of bytes that may be read at
 * `p`. */
static inline size_t utf8_sequence(const uint8_t *p, size_t left)
{
    const uint8_t first = p[0];
    const size_t size = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    const uint8_t low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    const uint8_t high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    size_t i;

    if (size == 1)
        return 1;
    if (first < 0xc2 || first > 0xf4 || size > left || p[1] < low || p[1] > high)
        return 0;
    for (i = 2; i < size; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    }
    return size;
}

/* Returns the code point of a well-formed sequence. */
static inline uint32_t utf8_code_point(const uint8_t *p, size_t size)
{
    uint32_t c = size == 1 ? p[0] : p[0] & (0x7fu >> size);

    for (size_t i = 1; i < size; i++)
        c = c << 6 | (p[i] & 0x3fu);
    return c;
}

/* Skips a byte order mark (U+FEFF in UTF-8) at the beginning of a text. The mark only says that the
 * text is UTF-8, and is not part of the text. */
static inline void utf8_pass_mark(const char **text, size_t *size)
{
    if (*size >= 3 && memcmp(*text, "\xef\xbb\xbf", 3) == 0) {
        *text += 3;
        *size -= 3;
    }
}

#endif
