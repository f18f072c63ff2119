/* SPDX-License-Identifier: MIT
 *
 * Parses a JSON object of strings and numbers, which is the usual form of a line of JSON Lines. It
 * builds no tree of values, and so is faster than jansson. The parser refuses any other text. For a
 * refused text, the caller must use json_load_line, which handles all JSON and reports errors. */
#ifndef BASE_JSON_FLAT_H
#define BASE_JSON_FLAT_H

#include <stdbool.h>
#include <stddef.h>

#define JSON_FLAT_MOST 16u      /* members of an object */
#define JSON_FLAT_MORE 16u      /* bytes of `room` beyond the text's size */

enum json_flat_kind { JSON_FLAT_STRING, JSON_FLAT_NULL, JSON_FLAT_OTHER };

struct json_flat_member {
    const char *name;           /* NUL-terminated */
    const char *value;          /* a string's characters; otherwise the JSON text */
    size_t size;                /* of `value`; a NUL follows a string */
    enum json_flat_kind kind;   /* OTHER: a number, true or false */
};

struct json_flat {
    struct json_flat_member members[JSON_FLAT_MOST];
    size_t count;               /* of members; at least 1 */
};

/* Parses an object. Copies names and strings to `room`, which must have space for `size` +
 * JSON_FLAT_MORE bytes. Other values stay in the text. Returns false if the text is not valid JSON.
 * Also returns false if the object has an array, an object, an exponent, a long number, a NUL, a
 * repeated name, no member or too many members. */
bool json_flat_parse(const char *text, size_t size, char *room, struct json_flat *object);

#endif
