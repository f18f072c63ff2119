/* SPDX-License-Identifier: MIT
 *
 * Parses the usual form of a line of JSON Lines, an object of strings and numbers, without building
 * a tree of values. For a text of any other form, and for a text that is not JSON, the caller uses
 * json_load_line, which also reports the errors. */
#ifndef BASE_JSON_FLAT_H
#define BASE_JSON_FLAT_H

#include <stdbool.h>
#include <stddef.h>

#define JSON_FLAT_MOST 16u      /* members of an object */
#define JSON_FLAT_MORE 16u      /* bytes that `room` needs in addition to the size of the text */

enum json_flat_kind { JSON_FLAT_STRING, JSON_FLAT_NULL, JSON_FLAT_OTHER };

struct json_flat_member {
    const char *name;           /* NUL-terminated */
    const char *value;          /* of a string: its characters; otherwise the text as written */
    size_t size;                /* of the value; a string has a NUL after these bytes */
    enum json_flat_kind kind;   /* OTHER: a number, true or false */
};

struct json_flat {
    struct json_flat_member members[JSON_FLAT_MOST];
    size_t count;               /* of members; at least 1 */
};

/* Parses an object. Names and strings are copied to `room`, which must have space for `size` +
 * JSON_FLAT_MORE bytes. Other values point into the text. Returns false if the text is not valid
 * JSON, or if the object has an array, an object, an exponent, a long number, a NUL, a repeated
 * name, no member or too many members. */
bool json_flat_parse(const char *text, size_t size, char *room, struct json_flat *object);

#endif
