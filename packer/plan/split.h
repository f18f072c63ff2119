/* SPDX-License-Identifier: MIT
 *
 * Divides a data set into several splits, class by class. The functions have no side effects.
 *
 * The option "train=0.8,val=0.2" gives fractions, which must add up to 1. In "train=0.9,val=rest",
 * the split val gets all samples that the other splits leave. In "train=60/class,val=rest", the
 * split train gets 60 samples of each class, or all samples of a class that has fewer. */
#ifndef PACKER_PLAN_SPLIT_H
#define PACKER_PLAN_SPLIT_H

#include <stdbool.h>
#include <stdint.h>

#include "publish/names.h"
#include "sheaf.h"

#define SPLIT_WHOLE 1000000000  /* the unit of fractions */

struct split {
    char name[SPLIT_NAME_BYTES];
    uint32_t value;             /* a fraction, or a number of samples per class */
    bool is_rest;
};

struct split_spec {
    struct split splits[SPLIT_LIMIT];
    uint32_t count;
    /* true if the split definition has numbers of samples of each class ("60/class") instead of
     * fractions; the split `rest` gets all other samples */
    bool per_class;
};

int split_parse(const char *text, struct split_spec *spec, struct sheaf_error *err);

/* owed[s] is the number of samples by which split s is smaller than its exact share of all classes
 * that were already divided. The difference comes from rounding, and its unit is 1 / SPLIT_WHOLE
 * samples. Later classes are divided so that the difference becomes smaller. The struct must be
 * zero-initialised. */
struct split_carry { int64_t owed[SPLIT_LIMIT]; };

/* Divides the `samples` samples of a class among the splits: sets counts[i] to the number of
 * samples for split i.
 *
 * If splits are fractions, each count is the exact share of the split, rounded up or down. If a
 * split gets less than its exact share of one class, it gets more of a later class. So the size of
 * a split over all classes is also close to its exact share. With two splits, it differs by less
 * than one sample. */
void split_class(const struct split_spec *spec, uint64_t samples, struct split_carry *carry,
                 uint64_t counts[SPLIT_LIMIT]);

/* Classes that are missing from the split `rest`, because the other splits take all samples of the
 * class. The struct must be zero-initialised. */
struct split_small {
    char names[700];            /* text with the first classes and their numbers of samples */
    size_t used;
    uint64_t named, classes;
};

/* Adds a class to `small`. If the class has no name, `name` is NULL. The notice then names the
 * label, or says "no label" if has_label is false. `samples` is the number of samples of the class
 * in all splits. */
void split_small_add(struct split_small *small, const char *name, bool has_label, double label,
                     uint64_t samples);
/* Writes a notice about the classes in `small` to `text`. `small` must have at least one class. */
void split_small_text(const struct split_small *small, const struct split_spec *spec, char *text,
                      size_t size);

/* Returns the number of the split that gets the rest. `spec` must have such a split. */
uint32_t split_rest(const struct split_spec *spec);

/* Returns a hash of a sample's key and the seed. The samples of a class are ordered by this hash
 * before they are divided. The first samples in this order go to the first split. */
uint64_t split_rank(const void *key, size_t key_size, uint64_t seed);
/* Returns an error if a split of a new data set would be empty. counts[i] is the number of samples
 * for split i. */
int split_check_counts(const struct split_spec *spec, const uint64_t counts[SPLIT_LIMIT],
                       struct sheaf_error *err);

#endif
