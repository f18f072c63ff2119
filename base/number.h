/* SPDX-License-Identifier: MIT
 *
 * Parses numbers in text from outside. A whole number must consist of digits only. Blanks and signs
 * are refused, unlike with strtoull. */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Parses a whole number from 0 to `most`. Returns false if the text is not such a number. */
static inline bool number_parse(const char *text, uint64_t most, uint64_t *number)
{
    const char *at = text;

    *number = 0;
    for (; *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(*number, 10, number) ||
            __builtin_add_overflow(*number, (uint64_t)(*at - '0'), number) || *number > most)
            return false;
    return at != text && *at == '\0';
}

/* Returns the value of the hexadecimal digit `c`, or -1 if `c` is not such a digit. */
static inline int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Returns whether the text consists of exactly `count` hexadecimal digits, with letters in lower
 * case. */
static inline bool hex_is(const char *text, size_t count)
{
    return strspn(text, "0123456789abcdef") == count && text[count] == '\0';
}

#endif
