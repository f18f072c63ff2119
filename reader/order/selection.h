/* SPDX-License-Identifier: MIT
 *
 * Which samples of a data set are chosen: the numbers in ascending order, and the inverse.
 *
 * Held as runs (8 bytes each) or as bits with counts (1.06 bits a sample), whichever is less.  What
 * a number is, is the caller's: here they are just below `total`.  Pure. */
#ifndef READER_VIEW_SELECTION_H
#define READER_VIEW_SELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sheaf.h"

#define SELECTION_TOTAL_MOST UINT32_MAX

struct selection {
    uint64_t total;
    uint64_t count;             /* chosen */
    uint64_t runs;
    uint32_t *firsts;           /* runs + 1: the first number of each run; */
    uint32_t *ranks;            /* runs + 1: how many are chosen before it; NULL: there are bits: */
    uint64_t *bits;
    uint32_t *counts;           /* chosen before every 512 numbers */
};

/* All of `total` numbers. */
int selection_all(struct selection *s, uint64_t total, struct sheaf_error *err);
/* Those whose bit is set in `bits` (bit n % 64 of word n / 64), which stay the caller's. */
int selection_of_bits(struct selection *s, uint64_t total, const uint64_t *bits,
                      struct sheaf_error *err);
void selection_free(struct selection *s);

/* The number of the chosen one of rank `rank`, below count; *run: how many of those from it on are
 * consecutive numbers, as far as is easily known (at least 1). */
uint64_t selection_number(const struct selection *s, uint64_t rank, uint64_t *run);
/* The rank of a number; false: it is not chosen. */
bool selection_rank(const struct selection *s, uint64_t number, uint64_t *rank);
/* How many numbers are chosen in both, whose totals are equal. */
uint64_t selection_shared(const struct selection *a, const struct selection *b);

#endif
