/* SPDX-License-Identifier: MIT
 *
 * The numbers of the chosen samples of a data set. Each number must be less than `total`. The rank
 * of a chosen number is the number of smaller chosen numbers. The functions find a number by its
 * rank, and a rank by its number. They have no side effects.
 *
 * The numbers are stored in the form that takes less memory: as ranges of 8 bytes each, or as bits
 * with counts (1.06 bits for each sample). */
#ifndef READER_VIEW_SELECTION_H
#define READER_VIEW_SELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sheaf.h"

#define SELECTION_TOTAL_MOST UINT32_MAX

struct selection {
    uint64_t total;
    uint64_t count;             /* number of chosen samples */
    uint64_t runs;
    /* first number of each range */
    uint32_t *firsts;
    /* If the numbers are stored as ranges: for each range, the number of chosen samples in all
     * ranges before it. One more element at the end has the total number. NULL if the numbers are
     * stored as bits. */
    uint32_t *ranks;
    uint64_t *bits;
    uint32_t *counts;           /* number of chosen samples before every 512 numbers */
};

/* Selects all of `total` numbers. */
int selection_all(struct selection *s, uint64_t total, struct sheaf_error *err);
/* Selects the numbers whose bit is set. Bit n % 64 of bits[n / 64] belongs to number n. The
 * function copies `bits`. */
int selection_of_bits(struct selection *s, uint64_t total, const uint64_t *bits,
                      struct sheaf_error *err);
void selection_free(struct selection *s);

/* Returns the chosen number with the rank `rank`, which must be less than s->count. Sets *run to a
 * number, at least 1. The returned number and the *run - 1 numbers after it are all chosen, so the
 * caller need not ask for each of them. *run may be smaller than the longest possible value. */
uint64_t selection_number(const struct selection *s, uint64_t rank, uint64_t *run);
/* Sets *rank to the rank of `number`, which is the number of smaller chosen numbers. Returns false
 * if `number` is not chosen. */
bool selection_rank(const struct selection *s, uint64_t number, uint64_t *rank);
/* Returns how many numbers are chosen in both `a` and `b`. Both must have the same total. */
uint64_t selection_shared(const struct selection *a, const struct selection *b);

#endif
