/* SPDX-License-Identifier: MIT
 *
 * Parses flat JSON objects (see json_flat.h). The parser accepts only texts that the library
 * jansson accepts as well, and returns the same strings as jansson. */
#include "base/json_flat.h"

#include <stdint.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"

/* Largest numbers of digits in a number: DIGITS_MOST before the decimal point, and DECIMALS_MOST
 * after it. The parser refuses longer numbers. Its caller then parses the text with jansson, which
 * checks whether a number overflows. */
#define DIGITS_MOST   18
#define DECIMALS_MOST 40

#define EACH_BYTE(value) (UINT64_MAX / 255 * (uint64_t)(value))

/* Checks eight bytes at once for quotation marks, backslashes, control characters and bytes that
 * are not ASCII. Returns 0 if there is no such byte. */
static uint64_t special_bytes(uint64_t bytes)
{
    const uint64_t quotes = bytes ^ EACH_BYTE('"'), slashes = bytes ^ EACH_BYTE('\\');

    return (((quotes - EACH_BYTE(1)) & ~quotes) | ((slashes - EACH_BYTE(1)) & ~slashes) |
            ((bytes - EACH_BYTE(0x20)) & ~bytes) | bytes) & EACH_BYTE(0x80);
}

/* Reads four hexadecimal digits at `at` and returns their value. Returns UINT32_MAX if there are
 * fewer than four digits. */
static uint32_t take_hex(const char *at, const char *end)
{
    uint32_t value = 0;

    if (end - at < 4)
        return UINT32_MAX;
    for (int i = 0; i < 4; i++) {
        const char c = at[i];
        const uint32_t digit = c >= '0' && c <= '9' ? (uint32_t)(c - '0')
                             : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a') + 10
                             : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A') + 10 : 16;

        if (digit == 16)
            return UINT32_MAX;
        value = value << 4 | digit;
    }
    return value;
}

static char *put_code_point(char *to, uint32_t c)
{
    if (c < 0x80) {
        *to++ = (char)c;
        return to;
    }
    if (c < 0x800) {
        *to++ = (char)(0xc0 | c >> 6);
    } else {
        if (c < 0x10000) {
            *to++ = (char)(0xe0 | c >> 12);
        } else {
            *to++ = (char)(0xf0 | c >> 18);
            *to++ = (char)(0x80 | (c >> 12 & 0x3f));
        }
        *to++ = (char)(0x80 | (c >> 6 & 0x3f));
    }
    *to++ = (char)(0x80 | (c & 0x3f));
    return to;
}

/* Reads an escape sequence \uXXXX, or two such sequences that form a surrogate pair. Appends its
 * character to the output *to. `at` points to the first digit. Returns the position after the
 * sequence. Returns NULL if the sequence is invalid or stands for a NUL. */
static const char *take_unicode(const char *at, const char *end, char **to)
{
    uint32_t c = take_hex(at, end), low;

    if (c == 0 || c == UINT32_MAX || (c >= 0xdc00 && c < 0xe000))
        return NULL;
    at += 4;
    if (c >= 0xd800 && c < 0xdc00) {
        if (end - at < 6 || at[0] != '\\' || at[1] != 'u')
            return NULL;
        low = take_hex(at + 2, end);
        if (low < 0xdc00 || low >= 0xe000)
            return NULL;
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
        at += 6;
    }
    *to = put_code_point(*to, c);
    return at;
}

/* Reads an escape sequence, such as \n, and appends its character to the output *to. `at` points to
 * the character after the backslash. Returns the position after the sequence, or NULL if the
 * sequence is invalid. */
static const char *take_escape(const char *at, const char *end, char **to)
{
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    const char *found = at == end || *at == '\0' ? NULL : strchr(letters, *at);

    if (found != NULL) {
        *(*to)++ = meanings[found - letters];
        return at + 1;
    }
    return at == end || *at != 'u' ? NULL : take_unicode(at + 1, end, to);
}

/* Copies a JSON string to the output *to, with a NUL after it. `at` points to the first character
 * of the string. Returns the position after the closing quotation mark, or NULL if the string is
 * invalid. */
static const char *json_flat_take_string(const char *at, const char *end, char **to)
{
    while (at != NULL && at < end) {
        uint64_t bytes;
        size_t size;

        if (end - at >= (ptrdiff_t)sizeof(bytes)) {
            memcpy(&bytes, at, sizeof(bytes));
            memcpy(*to, &bytes, sizeof(bytes));
            if (special_bytes(bytes) == 0) {
                at += sizeof(bytes);
                *to += sizeof(bytes);
                continue;
            }
        }
        if (*at == '"') {
            *(*to)++ = '\0';
            return at + 1;
        }
        size = (uint8_t)*at < 0x20 ? 0 : utf8_sequence((const uint8_t *)at, (size_t)(end - at));
        if (size == 0)
            return NULL;
        if (*at == '\\') {
            at = take_escape(at + 1, end, to);
            continue;
        }
        memmove(*to, at, size);
        *to += size;
        at += size;
    }
    return NULL;
}

static const char *json_flat_take_digits(const char *at, const char *end, ptrdiff_t most)
{
    const char *const first = at;

    while (at < end && *at >= '0' && *at <= '9')
        at++;
    return at == first || at - first > most ? NULL : at;
}

static const char *json_flat_take_number(const char *at, const char *end)
{
    const char *first = at + (*at == '-');

    at = json_flat_take_digits(first, end, DIGITS_MOST);
    if (at == NULL || (*first == '0' && at - first > 1))
        return NULL;
    return at < end && *at == '.' ? json_flat_take_digits(at + 1, end, DECIMALS_MOST) : at;
}

/* Reads a value that is not a string. */
static const char *take_other(const char *at, const char *end, struct json_flat_member *m)
{
    static const char *const words[] = { "null", "true", "false" };

    m->value = at;
    m->kind = JSON_FLAT_OTHER;
    if (at < end && (*at == '-' || (*at >= '0' && *at <= '9'))) {
        at = json_flat_take_number(at, end);
    } else {
        size_t i = 0, size = 0;

        for (; i < 3; i++) {
            size = strlen(words[i]);
            if ((size_t)(end - at) >= size && memcmp(at, words[i], size) == 0)
                break;
        }
        m->kind = i == 0 ? JSON_FLAT_NULL : JSON_FLAT_OTHER;
        at = i == 3 ? NULL : at + size;
    }
    m->size = at == NULL ? 0 : (size_t)(at - m->value);
    return at;
}

/* Reads one member of the object at `at`, and the blanks after it. Returns the position after the
 * blanks, or NULL if the parser refuses the member. */
static const char *json_flat_take_member(const char *at, const char *end, char **to,
                                         struct json_flat_member *m)
{
    if (at == end || *at != '"')
        return NULL;
    m->name = *to;
    at = json_flat_take_string(at + 1, end, to);
    at = at == NULL ? NULL : json_text_blanks(at, end);
    if (at == NULL || at == end || *at != ':')
        return NULL;
    at = json_text_blanks(at + 1, end);
    if (at < end && *at == '"') {
        m->kind = JSON_FLAT_STRING;
        m->value = *to;
        at = json_flat_take_string(at + 1, end, to);
        m->size = at == NULL ? 0 : (size_t)(*to - m->value) - 1;
    } else {
        at = take_other(at, end, m);
    }
    return at == NULL ? NULL : json_text_blanks(at, end);
}

static bool json_flat_has_name(const struct json_flat *object, const char *name)
{
    for (size_t i = 0; i < object->count; i++)
        if (strcmp(object->members[i].name, name) == 0)
            return true;
    return false;
}

bool json_flat_parse(const char *text, size_t size, char *room, struct json_flat *object)
{
    const char *const end = text + size, *at = json_text_blanks(text, end);
    bool more = at < end && *at == '{';

    object->count = 0;
    while (more) {
        struct json_flat_member *m = &object->members[object->count];

        if (object->count == JSON_FLAT_MOST)
            return false;
        at = json_flat_take_member(json_text_blanks(at + 1, end), end, &room, m);
        if (at == NULL || at == end || json_flat_has_name(object, m->name))
            return false;
        object->count++;
        more = *at == ',';
    }
    return object->count != 0 && *at == '}' && json_text_blanks(at + 1, end) == end;
}
