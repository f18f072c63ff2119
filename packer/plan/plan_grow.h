/* SPDX-License-Identifier: MIT
 *
 * Facts that a plan needs about the data set to which its samples are appended, or whose classes it
 * uses. */
#ifndef PACKER_PLAN_PLAN_GROW_H
#define PACKER_PLAN_PLAN_GROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sheaf.h"

/* Tells which of `count` keys have a sample already. known[i] becomes NULL for none, "" for one of
 * the data set's first `samples` samples, or the name of another split of the same data, whose
 * samples must not also be in this split. */
typedef int plan_known_fn(void *context, uint64_t samples, const char *const *keys, size_t count,
                          const char **known, struct sheaf_error *err);

/* Classes with given numbers: label_base, label_base + 1, ... */
struct plan_classes {
    const char *const *names;
    size_t count;
    bool closed;                /* whether there are no other classes; if not, new classes follow */
    const char *from;           /* if closed: the origin of the classes, for messages */
};

struct plan_grow {
    struct plan_classes classes;
    int label_base;
    const char *fingerprint;    /* of the data set */
    uint64_t first_shard;       /* number in the name of the first new shard */
    uint64_t samples;           /* number of its samples */
    uint64_t first_number;      /* number of the first new sample, which its record may contain */
    plan_known_fn *known;
    void *context;
};

#endif
