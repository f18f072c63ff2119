/* SPDX-License-Identifier: MIT
 *
 * See html.h. */
#include "tools/report/html.h"

#include "tools/size_text.h"
#include "tools/tool.h"

static void put_escaped(FILE *f, char c)
{
    switch (c) {
    case '&': fputs("&amp;", f); break;
    case '<': fputs("&lt;", f); break;
    case '>': fputs("&gt;", f); break;
    case '"': fputs("&quot;", f); break;
    case '\'': fputs("&#39;", f); break;
    default: fputc(c, f);
    }
}

void html_text(FILE *f, const char *text, size_t most)
{
    const char *p = shown(text);
    size_t at = 0;

    /* the text is not cut in the middle of a UTF-8 character, whose later bytes have the form
     * 10xxxxxx */
    for (; p[at] != '\0' && (at < most || (p[at] & 0xc0) == 0x80); at++)
        put_escaped(f, p[at]);
    if (p[at] != '\0')
        fputs("\xe2\x80\xa6", f);
}

void html_count(FILE *f, uint64_t count)
{
    char text[SIZE_TEXT_ROOM];

    fputs(count_text(count, text), f);
}

void html_size(FILE *f, double bytes)
{
    char text[SIZE_TEXT_ROOM];

    fputs(size_text(bytes, text), f);
}

void html_data(FILE *f, const char *type, const void *data, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *p = data;

    fprintf(f, "data:%s;base64,", type);
    for (size_t i = 0; i < size; i += 3) {
        const uint32_t three = (uint32_t)p[i] << 16 | (i + 1 < size ? (uint32_t)p[i + 1] << 8 : 0)
                             | (i + 2 < size ? p[i + 2] : 0u);

        fputc(digits[three >> 18], f);
        fputc(digits[three >> 12 & 63], f);
        fputc(i + 1 < size ? digits[three >> 6 & 63] : '=', f);
        fputc(i + 2 < size ? digits[three & 63] : '=', f);
    }
}
