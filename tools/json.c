/* SPDX-License-Identifier: MIT
 *
 * Prints strings in JSON, escaped as RFC 8259 requires. The output is always valid UTF-8, even if
 * the string, such as the name of a file, is not. */
#include "tools/json.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/utf8.h"
#include "sheaf.h"

/* Returns whether the UTF-8 character at `p` may be printed on a terminal unchanged. (All unsafe
 * characters are below U+10000, so no character of four bytes needs to be replaced.) */
static bool is_shown(const uint8_t *p, size_t size)
{
    char sequence[8] = "";

    memcpy(sequence, p, size);
    return sheaf_show(sequence, NULL, 0) == size;
}

void print_json_string(FILE *file, const char *text)
{
    const uint8_t *p = (const uint8_t *)text;
    size_t left = text != NULL ? strlen(text) : 0;

    if (text == NULL) {
        fputs("null", file);
        return;
    }
    putc('"', file);
    while (left != 0) {
        const size_t size = utf8_sequence(p, left);

        if (size == 0)
            fputs("\\ufffd", file);
        else if (*p == '"' || *p == '\\')
            fprintf(file, "\\%c", *p);
        else if (*p < 0x20 || *p == 0x7f)
            fprintf(file, "\\u%04x", *p);
        else if (size > 1 && !is_shown(p, size))
            fprintf(file, "\\u%04x", utf8_code_point(p, size));
        else
            fwrite(p, 1, size, file);
        p += size != 0 ? size : 1;
        left -= size != 0 ? size : 1;
    }
    putc('"', file);
}
