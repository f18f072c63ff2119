/* SPDX-License-Identifier: MIT
 *
 * JSON strings: escaped as RFC 8259 asks, and always valid UTF-8, since names of foreign shards
 * and of files may be any bytes. */
#include "tools/json.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "sheaf.h"

static uint32_t code_point(const unsigned char *p, size_t size)
{
    uint32_t c = size > 1 ? p[0] & (0x7fu >> size) : p[0];

    for (size_t i = 1; i < size; i++)
        c = c << 6 | (p[i] & 0x3fu);
    return c;
}

/* Whether a terminal may be shown the sequence as it is.  (What may not be is below U+10000.) */
static bool is_shown(const unsigned char *p, size_t size)
{
    char sequence[8] = "";

    memcpy(sequence, p, size);
    return sheaf_show(sequence, NULL, 0) == size;
}

/* The size of the UTF-8 sequence at p (of a NUL-terminated string); 0 if it is none. */
static size_t utf8_size(const unsigned char *p)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    const size_t size = p[0] < 0x80 ? 1 : p[0] < 0xc0 ? 0 : p[0] < 0xe0 ? 2 :
                        p[0] < 0xf0 ? 3 : p[0] < 0xf8 ? 4 : 0;
    uint32_t c = size > 1 ? p[0] & (0x7fu >> size) : 0;

    if (size <= 1)
        return size;
    for (size_t i = 1; i < size; i++) {
        if ((p[i] & 0xc0) != 0x80)      /* the NUL too */
            return 0;
        c = c << 6 | (p[i] & 0x3fu);
    }
    return c < least[size] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : size;
}

void print_json_string(FILE *file, const char *text)
{
    const unsigned char *p = (const unsigned char *)text;

    if (!p) {
        fputs("null", file);
        return;
    }
    putc('"', file);
    while (*p) {
        const size_t size = utf8_size(p);

        if (size == 0)
            fputs("\\ufffd", file);
        else if (*p == '"' || *p == '\\')
            fprintf(file, "\\%c", *p);
        else if (*p < 0x20 || *p == 0x7f)
            fprintf(file, "\\u%04x", *p);
        else if (size > 1 && !is_shown(p, size))
            fprintf(file, "\\u%04x", code_point(p, size));
        else
            fwrite(p, 1, size, file);
        p += size ? size : 1;
    }
    putc('"', file);
}
