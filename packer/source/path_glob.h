/* SPDX-License-Identifier: MIT
 *
 * Parses and matches a pattern for paths, with the syntax of a line in a .gitignore. The functions
 * have no side effects.
 *
 * A pattern without a slash, such as `*.tmp`, must match the base name of a path, at any depth. A
 * slash at the end, as in `raw/`, means that only directories match. With a slash elsewhere, as in
 * `/notes` or `a/?/b.jpg`, the pattern must match the path from the root, and `*` and `?` match no
 * slash.
 *
 * Two stars between two slashes match any number of directories, including none. Two stars after
 * the last slash match everything in the directory. `!` at the beginning inverts the pattern. A
 * backslash makes the next byte literal. */
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

/* Parses a pattern. Returns NULL if the pattern is valid. Otherwise returns a text that says why it
 * is invalid. The caller must report an invalid pattern as an error, because it would silently
 * match nothing. */
const char *path_glob_parse(const char *text, struct path_glob *glob);

/* `path` is relative to the root. */
bool path_glob_match(const struct path_glob *glob, const char *path, bool is_directory);

#endif
