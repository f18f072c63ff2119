/* SPDX-License-Identifier: MIT
 *
 * One pattern of paths, as a line of a .gitignore has it; pure.
 *
 *     *.tmp       the base name, at any depth
 *     raw/        with a slash at the end: a directory
 *     /notes      with a slash elsewhere: the path from the root, where `*` and `?` match no slash
 *     a/?/b.jpg
 *     a/ ** /b    (without the blanks) any number of directories, also none
 *     a/ **       all that is in it
 *
 * `!` at the beginning inverts what the pattern says; a backslash takes the next byte as it is. */
#ifndef PACKER_SOURCE_PATH_GLOB_H
#define PACKER_SOURCE_PATH_GLOB_H

#include <stdbool.h>
#include <stddef.h>

struct path_glob {
    const char *text;           /* what is matched: borrowed, without the slashes around it */
    size_t size;
    bool inverted, anchored, of_directories;
};

/* What is wrong with a pattern, which would match nothing; NULL: it is valid. */
const char *path_glob_parse(const char *text, struct path_glob *glob);

/* `path` is relative to the root. */
bool path_glob_match(const struct path_glob *glob, const char *path, bool is_directory);

#endif
