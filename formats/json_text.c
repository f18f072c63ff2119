/* SPDX-License-Identifier: MIT
 *
 * Finds JSON values by tracking strings and the depth of brackets. */
#include "formats/json_text.h"

#include <stdbool.h>
#include <string.h>

const char *json_text_blanks(const char *text, const char *end)
{
    while (text < end && (*text == ' ' || *text == '\t' || *text == '\r' || *text == '\n'))
        text++;
    return text;
}

static const char *string_end(const char *text, const char *end)
{
    for (text++; text < end && *text != '"'; text++)
        if (*text == '\\' && text + 1 < end)
            text++;
    return text < end ? text + 1 : end;
}

static bool ends_scalar(char c)
{
    return c == ',' || c == ':' || c == ']' || c == '}' || c == ' ' || c == '\t' || c == '\r' ||
           c == '\n';
}

const char *json_text_value(const char *text, const char *end)
{
    unsigned depth = 0;

    if (text < end && *text != '{' && *text != '[' && *text != '"') {
        while (text < end && !ends_scalar(*text))
            text++;
        return text;
    }
    while (text < end) {
        if (*text == '"') {
            text = string_end(text, end);
        } else {
            depth += *text == '{' || *text == '[';
            depth -= *text == '}' || *text == ']';
            text++;
        }
        if (depth == 0)
            return text;
    }
    return end;
}
