/* SPDX-License-Identifier: MIT
 *
 * See size_text.h. */
#include "tools/size_text.h"

#include <stddef.h>
#include <stdio.h>

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
