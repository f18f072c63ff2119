/* SPDX-License-Identifier: MIT
 *
 * Stems: the beginnings of the keys that are made up for records without a key. At first a stem is
 * made of the shard's name. The shards of a data set must have different stems, because convert and
 * unpack would otherwise mix up samples with the same made-up key. */
#ifndef FORMATS_STEMS_H
#define FORMATS_STEMS_H

#include "formats/format.h"

/* A shard whose stem may become longer. */
struct stem {
    const char *name;           /* of the shard, with its directories */
    struct text *text;          /* its stem, as name_stem() gives it */
};

/* Extends the stems of shards until no two are equal, as far as the shards' names allow. Sorts the
 * array. */
void stems_tell_apart(struct stem *stems, size_t count);

#endif
