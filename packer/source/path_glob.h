/* SPDX-License-Identifier: MIT
 *
 * A pattern for paths, with the syntax of a line in a .gitignore. The functions have no side
 * effects.
 *
 *     *.tmp       the base name, at any depth
 *     raw/        with a slash at the end: a directory
 *     /notes      with a slash elsewhere: the path from the root, where `*` and `?` match no slash
 *     a/?/b.jpg
 *     a/ ** /b    (without the blanks) any number of directories, including none
 *     a/ **       everything in it
 *
 * `!` at the beginning inverts the pattern. A backslash makes the next byte literal. */
#ifndef PACKER_SOURCE_PATH_GLOB_H
#define PACKER_SOURCE_PATH_GLOB_H

#include <stdbool.h>
#include <stddef.h>

struct path_glob {
    /* the pattern without the slashes around it; borrowed */
    const char *text;
    size_t size;
    bool inverted, anchored, of_directories;
};

/* Parses a pattern. Returns NULL if the pattern is valid, and otherwise a text that says why it is
 * invalid. An invalid pattern would match nothing. */
const char *path_glob_parse(const char *text, struct path_glob *glob);

/* `path` is relative to the root. */
bool path_glob_match(const struct path_glob *glob, const char *path, bool is_directory);

#endif
