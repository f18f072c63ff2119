/* SPDX-License-Identifier: MIT
 *
 * Finds the part, by the option or the environment. */
#include "tools/plan/part.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "tools/tool.h"

/* Reads a whole number below 2^32 that ends at the character `stop`. Sets *end to the position
 * after this number. Returns false if the text has another form. */
static bool read_number(const char *text, char stop, const char **end, uint32_t *number)
{
    char *after;
    unsigned long value;

    errno = 0;
    value = strtoul(text, &after, 10);
    *number = (uint32_t)value;
    *end = after + 1;
    return text[0] >= '0' && text[0] <= '9' && errno == 0 && value <= UINT32_MAX &&
           *after == stop;
}

static int part_take_environment(uint32_t *part, uint32_t *parts)
{
    struct sheaf_error error;
    const char *source;
    const int code = sheaf_part_from_environment(NULL, part, parts, &source, &error);

    *parts = code == SHEAF_END ? 1 : *parts;
    if (code == SHEAF_OK)
        say("part %u of %u, by %s", *part, *parts, source);
    if (code == SHEAF_OK || code == SHEAF_END)
        return -1;
    complain("%s; --part I/N specifies it", error.message);
    return STATUS_FAILURE;
}

int part_take(const char *text, uint32_t *part, uint32_t *parts)
{
    const char *rest;

    *part = 0;
    *parts = 1;
    if (text == NULL)
        return part_take_environment(part, parts);
    if (!read_number(text, '/', &rest, part) || !read_number(rest, '\0', &rest, parts) ||
        *part >= *parts)
        return misuse("--part: invalid part \"%s\", expected I/N with I from 0 to N - 1", text);
    return -1;
}
