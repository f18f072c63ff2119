/* SPDX-License-Identifier: MIT
 *
 * Patterns of a shell: `*` is any bytes, `?` is one byte, `[...]` is one byte of a set, a backslash
 * takes the next byte as it is.
 *
 * Sets are git's: `!` or `^` before them negates, `]` is a member if it comes first, and there are
 * ranges and classes such as [:digit:].  It is fnmatch() without flags, but of bytes, whatever the
 * locale.  A match takes at most pattern times text steps, whatever the pattern. */
#ifndef BASE_GLOB_H
#define BASE_GLOB_H

#include <stdbool.h>
#include <stddef.h>

/* What is wrong with a pattern, which matches nothing then; NULL: it is valid. */
const char *glob_problem(const char *pattern, size_t size);

bool glob_match(const char *pattern, size_t pattern_size, const char *text, size_t text_size);

/* The size of the piece that a pattern begins with: a set, a backslash and its byte, or one byte.
 * 0: it is neither complete nor valid, or the pattern is empty. */
size_t glob_piece(const char *pattern, size_t size);

#endif
