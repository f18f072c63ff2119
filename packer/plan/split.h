/* SPDX-License-Identifier: MIT
 *
 * How a data set is split into several, class by class; pure.
 *
 *     train=0.8,val=0.2           fractions, which add up to 1
 *     train=0.9,val=rest          rest: what the others leave
 *     train=60/class,val=rest     60 samples of each class, or all if it has fewer */
#ifndef PACKER_PLAN_SPLIT_H
#define PACKER_PLAN_SPLIT_H

#include <stdbool.h>
#include <stdint.h>

#include "publish/names.h"
#include "sheaf.h"

#define SPLIT_WHOLE 1000000000  /* fractions are counted in these */

struct split {
    char name[SPLIT_NAME_BYTES];
    uint32_t value;             /* fraction; or samples of each class */
    bool is_rest;
};

struct split_spec {
    struct split splits[SPLIT_LIMIT];
    uint32_t count;
    bool per_class;             /* values are samples of each class, but for the rest */
};

int split_parse(const char *text, struct split_spec *spec, struct sheaf_error *err);

/* What earlier classes have left over, in SPLIT_WHOLE of a sample; zero-initialised. */
struct split_carry { int64_t owed[SPLIT_LIMIT]; };

/* How many of a class's `samples` each split gets; the counts add up to it.  With fractions, each
 * count is the exact share rounded up or down, and what rounding takes from a split in one class
 * is given back in others: the totals over all classes are exact shares, too (of two splits;
 * nearly so of more). */
void split_class(const struct split_spec *spec, uint64_t samples, struct split_carry *carry,
                 uint64_t counts[SPLIT_LIMIT]);

#endif
