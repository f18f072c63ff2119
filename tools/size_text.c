/* SPDX-License-Identifier: MIT
 *
 * See size_text.h. */
#include "tools/size_text.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

const char *size_text(double bytes, char text[SIZE_TEXT_ROOM])
{
    static const char *const units[] = { "B", "kB", "MB", "GB", "TB" };
    size_t i = 0;

    while (bytes >= 999.5 && i < sizeof(units) / sizeof(units[0]) - 1) {
        bytes /= 1000;
        i++;
    }
    snprintf(text, SIZE_TEXT_ROOM, "%.*f %s", i > 0 && bytes < 99.95, bytes, units[i]);
    return text;
}

const char *count_text(uint64_t count, char text[SIZE_TEXT_ROOM])
{
    char digits[SIZE_TEXT_ROOM];
    const int size = snprintf(digits, sizeof(digits), "%" PRIu64, count);
    char *to = text;

    for (int i = 0; i < size; i++) {
        if (i > 0 && (size - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
    return text;
}
