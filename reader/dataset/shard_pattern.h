/* SPDX-License-Identifier: MIT
 *
 * Expands patterns that name several shards, where no shell has expanded them. */
#ifndef READER_SHARD_PATTERN_H
#define READER_SHARD_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Receives a URL and takes ownership of it. The URL is NULL if memory was exhausted. */
typedef int pattern_fn(void *context, char *url, struct sheaf_error *err);

/* Returns whether `text` contains braces to expand: with a range of numbers or letters, or with
 * commas. */
bool pattern_has_braces(const char *text);

/* Passes each URL that `text` stands for to the function `each`. The order is that of the ranges
 * and texts in its braces. */
int pattern_expand_braces(const char *text, pattern_fn *each, void *context,
                          struct sheaf_error *err);

/* Returns whether the last component of `text` contains a wildcard (*, ? or [). */
bool pattern_has_wildcard(const char *text);

/* Passes each file that matches the last component of `text` to `each`, in byte order. Skips files
 * that foreign_is_side_file recognises. Returns SHEAF_ERR_NOT_FOUND if no file matches. */
int pattern_expand_wildcards(const char *text, pattern_fn *each, void *context,
                             struct sheaf_error *err);

#endif
