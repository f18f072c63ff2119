/* SPDX-License-Identifier: MIT
 *
 * Finds where the values of a JSON text begin and end, so that a large array can be parsed piece by
 * piece and a value can be kept as it was written. It does not check that a piece is valid JSON. */
#ifndef FORMATS_JSON_TEXT_H
#define FORMATS_JSON_TEXT_H

/* Returns the first byte that is not a blank. */
const char *json_text_blanks(const char *text, const char *end);

/* Returns the end of the value that begins at `text`, or `end` if the value is incomplete. */
const char *json_text_value(const char *text, const char *end);

#endif
