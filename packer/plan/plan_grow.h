/* SPDX-License-Identifier: MIT
 *
 * Facts about an existing data set that a plan needs, because samples are appended to it or its
 * classes are used. */
#ifndef PACKER_PLAN_PLAN_GROW_H
#define PACKER_PLAN_PLAN_GROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sheaf.h"

/* The type of a function that finds which of `count` keys already belong to a sample. Sets known[i]
 * to "" if one of the data set's first `samples` samples has key i. If a sample of another split of
 * the same data has the key, sets known[i] to the name of this split, because a sample must not be
 * in two splits. Otherwise sets known[i] to NULL. */
typedef int plan_known_fn(void *context, uint64_t samples, const char *const *keys, size_t count,
                          const char **known, struct sheaf_error *err);

/* Classes with given numbers: label_base, label_base + 1, ... */
struct plan_classes {
    const char *const *names;
    size_t count;
    /* whether classes other than the existing ones are refused; if not, new classes get the
     * numbers after the existing ones */
    bool closed;
    const char *from;           /* if closed: the origin of the classes, for messages */
};

struct plan_grow {
    struct plan_classes classes;
    int label_base;
    const char *fingerprint;    /* of the data set */
    uint64_t first_shard;       /* number in the name of the first new shard */
    uint64_t samples;           /* number of its samples */
    /* number that the first appended sample gets; in RecordIO, the record contains this number */
    uint64_t first_number;
    plan_known_fn *known;
    void *context;
};

#endif
