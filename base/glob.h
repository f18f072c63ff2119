/* SPDX-License-Identifier: MIT
 *
 * Shell patterns: `*` matches any bytes, `?` one byte, `[...]` one byte of a set, and a backslash
 * takes the next byte literally.
 *
 * Sets follow git's rules: `!` or `^` at the beginning negates, `]` is a member if it comes first,
 * and there are ranges and classes such as [:digit:]. The result is that of fnmatch() without
 * flags, but on bytes in every locale. A match takes at most (pattern size) x (text size) steps,
 * whatever the pattern. */
#ifndef BASE_GLOB_H
#define BASE_GLOB_H

#include <stdbool.h>
#include <stddef.h>

/* Returns what is wrong with a pattern, or NULL if it is valid. An invalid pattern matches nothing.
 */
const char *glob_problem(const char *pattern, size_t size);

bool glob_match(const char *pattern, size_t pattern_size, const char *text, size_t text_size);

/* Returns the size of the first piece of a pattern: a set, a backslash and its byte, or one byte.
 * Returns 0 if the piece is incomplete or invalid, or if the pattern is empty. */
size_t glob_piece(const char *pattern, size_t size);

#endif
