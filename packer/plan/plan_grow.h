/* SPDX-License-Identifier: MIT
 *
 * Facts about an existing data set that are needed to make a plan. They are needed if samples are
 * appended to this data set, or if a new data set uses the numbers of its classes. */
#ifndef PACKER_PLAN_PLAN_GROW_H
#define PACKER_PLAN_PLAN_GROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/manifest.h"
#include "publish/names.h"
#include "sheaf.h"

struct plan_grow;

/* A function that finds out which of `count` keys are already in use. An append calls it, because a
 * sample must not be in a data set twice or in two splits. `grow` describes the data sets to which
 * samples are appended. The function sets known[i] for each key keys[i]:
 *
 * - to NULL if no sample has the key;
 * - to "" if a sample of these data sets has the key;
 * - to the name of another split if a sample of this other split has the key. */
typedef int plan_known_fn(void *context, const struct plan_grow *grow, const char *const *keys,
                          size_t count, const char **known, struct sheaf_error *err);

/* Classes with given numbers: label_base, label_base + 1, ... */
struct plan_classes {
    const char *const *names;
    size_t count;
    /* true if samples can have only the classes in this list; false if samples can also have
     * further classes, which get the next numbers */
    bool closed;
    const char *from;           /* if closed: the origin of the classes, for messages */
};

/* A data set to which samples are appended. */
struct plan_grow_split {
    uint64_t first_shard;       /* number in the name of the first new shard */
    uint64_t samples;           /* number of its samples before the append */
    /* number that the first appended sample gets; some containers store the numbers of samples */
    uint64_t first_number;
    /* manifest and directory of the data set, from which samples of a class are counted */
    const struct manifest *manifest;
    const char *directory;
};

struct plan_grow {
    struct plan_classes classes;
    int label_base;
    /* its fingerprint; of several splits, all of them; the owner of the struct frees this text */
    char *fingerprint;
    /* the data sets to which samples are appended: a single one, or all splits of the same data */
    struct plan_grow_split splits[SPLIT_LIMIT];
    uint32_t split_count;
    uint64_t samples;           /* number of samples in all of them */
    plan_known_fn *known;
    void *context;
};

#endif
