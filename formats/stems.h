/* SPDX-License-Identifier: MIT
 *
 * Makes the stems of shards. A stem is the text with which Sheaf begins the keys that it makes up
 * for records without a key. The stem of a shard is a part of the shard's name.
 *
 * The shards of a data set must have different stems. Otherwise convert and unpack would mix up
 * samples of different shards that have the same made-up key. */
#ifndef FORMATS_STEMS_H
#define FORMATS_STEMS_H

#include "formats/format.h"

/* A shard whose stem may become longer. */
struct stem {
    const char *name;           /* name of the shard, with its directories */
    struct text *text;          /* its stem, as name_stem() gives it */
};

/* Extends the stems of shards (the beginnings of made-up keys) until they differ, as far as the
 * shards' names allow. Sorts the array. */
void stems_tell_apart(struct stem *stems, size_t count);

#endif
