/* SPDX-License-Identifier: MIT
 *
 * Facts about an existing data set that a plan needs, because samples are appended to it or its
 * classes are used. */
#ifndef PACKER_PLAN_PLAN_GROW_H
#define PACKER_PLAN_PLAN_GROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "publish/names.h"
#include "sheaf.h"

struct plan_grow;

/* The type of a function that finds which of `count` keys already belong to a sample. Sets known[i]
 * to NULL if no sample has the key, and to "" if a sample of the data sets that `grow` describes
 * has the key. If a sample of another split of the same data has the key, sets known[i] to the name
 * of this split, because a sample must not be in two splits. */
typedef int plan_known_fn(void *context, const struct plan_grow *grow, const char *const *keys,
                          size_t count, const char **known, struct sheaf_error *err);

/* Classes with given numbers: label_base, label_base + 1, ... */
struct plan_classes {
    const char *const *names;
    size_t count;
    /* whether classes other than the existing ones are refused; if not, new classes get the
     * numbers after the existing ones */
    bool closed;
    const char *from;           /* if closed: the origin of the classes, for messages */
};

/* A data set to which samples are appended. */
struct plan_grow_split {
    uint64_t first_shard;       /* number in the name of the first new shard */
    uint64_t samples;           /* number of its samples before the append */
    /* number of the first new sample, which may be stored in its record */
    uint64_t first_number;
    /* number of samples of each class, for `class_count` classes; NULL if the numbers are
     * unknown */
    const uint64_t *class_samples;
    size_t class_count;
};

struct plan_grow {
    struct plan_classes classes;
    int label_base;
    const char *fingerprint;    /* of the data set; of several splits, one after another */
    /* the data sets that grow: one, or all splits of the same data */
    struct plan_grow_split splits[SPLIT_LIMIT];
    uint32_t split_count;
    uint64_t samples;           /* number of samples in all of them */
    plan_known_fn *known;
    void *context;
};

#endif
