/* SPDX-License-Identifier: MIT
 *
 * The numbers of the chosen samples of a data set. The rank of a chosen number counts the smaller
 * chosen numbers. The functions find a number by its rank, and a rank by its number.
 *
 * The numbers are stored as ranges (8 bytes each), or as bits with counts (1.06 bits per sample),
 * whichever takes less memory. The caller decides what the numbers mean; here they only must be
 * less than `total`. The functions have no side effects. */
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
    /* for each range, the number of chosen samples in earlier ranges, followed by the total number
     * (runs + 1 elements); NULL if bits are used */
    uint32_t *ranks;
    uint64_t *bits;
    uint32_t *counts;           /* number of chosen samples before every 512 numbers */
};

/* Selects all of `total` numbers. */
int selection_all(struct selection *s, uint64_t total, struct sheaf_error *err);
/* Selects the numbers whose bit is set in `bits`; the bit of number n is bit n % 64 of word n / 64.
 * `bits` is copied. */
int selection_of_bits(struct selection *s, uint64_t total, const uint64_t *bits,
                      struct sheaf_error *err);
void selection_free(struct selection *s);

/* Returns the chosen number with the rank `rank`, which must be less than the count. Sets *run to a
 * number of consecutive numbers, beginning with the returned one, that are all chosen. *run is at
 * least 1, and may be less than possible. */
uint64_t selection_number(const struct selection *s, uint64_t rank, uint64_t *run);
/* Sets *rank to the rank of a number, which is how many smaller numbers are chosen. Returns false
 * if the number itself is not chosen. */
bool selection_rank(const struct selection *s, uint64_t number, uint64_t *rank);
/* Returns how many numbers are chosen in both selections. Both must have the same total. */
uint64_t selection_shared(const struct selection *a, const struct selection *b);

#endif
