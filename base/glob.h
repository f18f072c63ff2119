/* SPDX-License-Identifier: MIT
 *
 * Matches texts with shell patterns. `*` matches any bytes, `?` one byte, `[...]` one byte of a
 * set, and a backslash makes the next byte literal.
 *
 * Sets follow the rules of git. `!` or `^` at the beginning of a set negates the set. A "]" that
 * comes first is a member of the set. A set may have ranges, and classes such as [:digit:].
 *
 * Results are the same as those of fnmatch() without flags in the C locale, whatever the locale of
 * the program is. A match takes at most (pattern size) x (text size) steps. */
#ifndef BASE_GLOB_H
#define BASE_GLOB_H

#include <stdbool.h>
#include <stddef.h>

/* Returns a text that says why a pattern is invalid, or NULL if the pattern is valid. An invalid
 * pattern matches no text. */
const char *glob_problem(const char *pattern, size_t size);

bool glob_match(const char *pattern, size_t pattern_size, const char *text, size_t text_size);

/* Returns the size in bytes of the first piece of a pattern: a set, a backslash and its byte, or
 * one byte. Returns 0 if the pattern is empty, or if its first piece is incomplete or invalid. */
size_t glob_piece(const char *pattern, size_t size);

#endif
