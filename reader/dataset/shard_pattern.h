/* SPDX-License-Identifier: MIT
 *
 * Expands patterns that name several shards, such as "train-*.tar". Used when no shell has expanded
 * them. */
#ifndef READER_SHARD_PATTERN_H
#define READER_SHARD_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* A function that is called for each expanded URL. It must free `url`. `url` is NULL if memory was
 * exhausted. */
typedef int pattern_fn(void *context, char *url, struct sheaf_error *err);

/* Returns true if `text` contains braces that can be expanded: with a range of numbers or letters,
 * or with commas. */
bool pattern_has_braces(const char *text);

/* Expands the braces in `text`, and calls `each` for each resulting URL, in the order of the ranges
 * and texts. */
int pattern_expand_braces(const char *text, pattern_fn *each, void *context,
                          struct sheaf_error *err);

/* Returns true if the last component of the path `text` contains a wildcard (*, ? or [). */
bool pattern_has_wildcard(const char *text);

/* Returns true if a file with this name is not a shard, but one of the files that are usually in
 * the same directory as shards. */
bool shard_is_side_file(const char *name);

/* Calls `each` for each file whose name matches the last component of `text`, which contains
 * wildcards. The files are in byte order. Skips files that are not shards (shard_is_side_file).
 * Returns SHEAF_ERR_NOT_FOUND if no file matches. */
int pattern_expand_wildcards(const char *text, pattern_fn *each, void *context,
                             struct sheaf_error *err);

#endif
