/* SPDX-License-Identifier: MIT
 *
 * Finds where the values of a JSON text begin and end: to parse a large array piece by piece, and
 * to keep a value as it was written.  Whether a piece is JSON is for a parser to say. */
#ifndef FORMATS_JSON_TEXT_H
#define FORMATS_JSON_TEXT_H

/* The first byte that is not a blank. */
const char *json_text_blanks(const char *text, const char *end);

/* The end of the value that begins at `text`; `end` if it has none. */
const char *json_text_value(const char *text, const char *end);

#endif
