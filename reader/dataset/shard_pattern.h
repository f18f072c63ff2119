/* SPDX-License-Identifier: MIT
 *
 * Patterns that name several shards: expanded here, where no shell has done it. */
#ifndef READER_SHARD_PATTERN_H
#define READER_SHARD_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Takes the URL, or NULL where there was no memory for it. */
typedef int pattern_fn(void *context, char *url, struct sheaf_error *err);

/* Returns whether `text` has braces that stand for several texts: with a range of numbers or
 * letters, or with commas. */
bool pattern_has_braces(const char *text);

/* Gives each URL that `text` stands for, in the order in which its braces have them. */
int pattern_expand_braces(const char *text, pattern_fn *each, void *context,
                          struct sheaf_error *err);

/* Whether *, ? or [ stands in the last part of `text`. */
bool pattern_has_wildcard(const char *text);

/* Gives each file that the last part of `text` matches, in byte order, but for those that
 * foreign_is_side_file knows.  SHEAF_ERR_NOT_FOUND: it matches none. */
int pattern_expand_wildcards(const char *text, pattern_fn *each, void *context,
                             struct sheaf_error *err);

#endif
