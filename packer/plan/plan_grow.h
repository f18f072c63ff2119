/* SPDX-License-Identifier: MIT
 *
 * What a plan must know of the data set to which its samples are to be appended, or whose classes
 * it must have. */
#ifndef PACKER_PLAN_PLAN_GROW_H
#define PACKER_PLAN_PLAN_GROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sheaf.h"

/* Says of each of `count` keys whose sample has it already: NULL: none; "": one of the data set's
 * first `samples`; else the name of another split of the same data, whose sample must not be in
 * this split, too. */
typedef int plan_known_fn(void *context, uint64_t samples, const char *const *keys, size_t count,
                          const char **known, struct sheaf_error *err);

/* Classes that have numbers already: label_base, label_base + 1, ... */
struct plan_classes {
    const char *const *names;
    size_t count;
    bool closed;                /* there are no others; if not set, new ones follow */
    const char *from;           /* if closed: where they are from, for messages */
};

struct plan_grow {
    struct plan_classes classes;
    int label_base;
    const char *fingerprint;    /* of the data set */
    uint64_t first_shard;       /* the number in the name of the first new shard */
    uint64_t samples;           /* how many it has */
    uint64_t first_number;      /* that of the first new sample, which its record may have */
    plan_known_fn *known;
    void *context;
};

#endif
