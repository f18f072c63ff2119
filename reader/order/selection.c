/* SPDX-License-Identifier: MIT
 *
 * Finds a chosen number by its rank, and the rank of a chosen number; see selection.h. The rank is
 * the number of smaller chosen numbers. */
#include "reader/order/selection.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"

/* Number of words (of 64 bits) for which one count is stored. A count states how many bits are set
 * before these words. */
#define WORDS_A_COUNT 8u

static int selection_check_total(uint64_t total, struct sheaf_error *err)
{
    return total <= SELECTION_TOTAL_MOST ? SHEAF_OK
         : err_set(err, SHEAF_ERR_LIMIT, "a data set of %" PRIu64 " samples: a view chooses among "
                   "at most %" PRIu32, total, SELECTION_TOTAL_MOST);
}

static int allocate_runs(struct selection *s, uint64_t runs, struct sheaf_error *err)
{
    s->runs = runs;
    s->firsts = calloc(runs + 1, sizeof(s->firsts[0]));
    s->ranks = calloc(runs + 1, sizeof(s->ranks[0]));
    if (s->firsts != NULL && s->ranks != NULL)
        return SHEAF_OK;
    selection_free(s);
    return err_memory(err, (runs + 1) * 8);
}

int selection_all(struct selection *s, uint64_t total, struct sheaf_error *err)
{
    int code = selection_check_total(total, err);

    *s = (struct selection){ .total = total, .count = total };
    if (code == SHEAF_OK)
        code = allocate_runs(s, total != 0, err);
    if (code == SHEAF_OK)
        s->ranks[s->runs] = (uint32_t)total;
    return code;
}

/* ---- From bits ------------------------------------------------------------------------------ */

static bool is_set(const uint64_t *bits, uint64_t number)
{
    return (bits[number / 64] >> (number % 64) & 1) != 0;
}

/* Searches the bits from number `from` on. Returns the first number whose bit is equal to `set`.
 * Returns `total` if there is no such number. */
static uint64_t find_bit(const uint64_t *bits, uint64_t total, uint64_t from, bool set)
{
    while (from < total) {
        const uint64_t word = (set ? bits[from / 64] : ~bits[from / 64]) >> (from % 64);

        if (word != 0)
            return MIN(from + (uint64_t)__builtin_ctzll(word), total);
        from = (from / 64 + 1) * 64;
    }
    return total;
}

static void count_bits(struct selection *s, const uint64_t *bits)
{
    uint64_t at = 0, end;

    while ((at = find_bit(bits, s->total, at, true)) < s->total) {
        end = find_bit(bits, s->total, at, false);
        s->count += end - at;
        s->runs++;
        at = end;
    }
}

static int copy_runs(struct selection *s, const uint64_t *bits, struct sheaf_error *err)
{
    const int code = allocate_runs(s, s->runs, err);
    uint64_t at = 0, rank = 0;

    for (uint64_t i = 0; i < s->runs && code == SHEAF_OK; i++) {
        const uint64_t first = find_bit(bits, s->total, at, true);

        at = find_bit(bits, s->total, first, false);
        s->firsts[i] = (uint32_t)first;
        s->ranks[i] = (uint32_t)rank;
        rank += at - first;
    }
    if (code == SHEAF_OK)
        s->ranks[s->runs] = (uint32_t)rank;
    return code;
}

static int copy_bits(struct selection *s, const uint64_t *bits, struct sheaf_error *err)
{
    const uint64_t words = (s->total + 63) / 64, counts = words / WORDS_A_COUNT + 1;
    uint64_t rank = 0;

    s->bits = calloc(words + 1, sizeof(s->bits[0]));
    s->counts = calloc(counts, sizeof(s->counts[0]));
    if (s->bits == NULL || s->counts == NULL) {
        selection_free(s);
        return err_memory(err, words * 9);
    }
    for (uint64_t i = 0; i < words; i++) {
        if (i % WORDS_A_COUNT == 0)
            s->counts[i / WORDS_A_COUNT] = (uint32_t)rank;
        s->bits[i] = bits[i];
        if (i == s->total / 64)
            s->bits[i] &= ((uint64_t)1 << (s->total % 64)) - 1;
        rank += (unsigned)__builtin_popcountll(s->bits[i]);
    }
    return SHEAF_OK;
}

int selection_of_bits(struct selection *s, uint64_t total, const uint64_t *bits,
                      struct sheaf_error *err)
{
    const int code = selection_check_total(total, err);

    *s = (struct selection){ .total = total };
    if (code != SHEAF_OK)
        return code;
    count_bits(s, bits);
    return s->runs * 64 <= total + 64 ? copy_runs(s, bits, err) : copy_bits(s, bits, err);
}

void selection_free(struct selection *s)
{
    free(s->firsts);
    free(s->ranks);
    free(s->bits);
    free(s->counts);
    *s = (struct selection){ 0 };
}

/* ---- Ranks ---------------------------------------------------------------------------------- */

/* `values` has `count` numbers in ascending order. Returns the index of the last number that is not
 * greater than `value`. The first number must not be greater than `value`. */
static uint64_t last_at_most(const uint32_t *values, uint64_t count, uint64_t value)
{
    uint64_t low = 0, high = count;

    while (high - low > 1) {
        const uint64_t middle = low + (high - low) / 2;

        if (values[middle] <= value)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static uint64_t number_in_bits(const struct selection *s, uint64_t rank, uint64_t *run)
{
    const uint64_t words = (s->total + 63) / 64;
    const uint64_t block = last_at_most(s->counts, (words + WORDS_A_COUNT - 1) / WORDS_A_COUNT,
                                        rank);
    uint64_t at = block * WORDS_A_COUNT, before = rank - s->counts[block], word, number;

    while (before >= (unsigned)__builtin_popcountll(s->bits[at]))
        before -= (unsigned)__builtin_popcountll(s->bits[at++]);
    word = s->bits[at];
    while (before-- != 0)
        word &= word - 1;
    number = at * 64 + (unsigned)__builtin_ctzll(word);
    *run = find_bit(s->bits, MIN(s->total, (number / 64 + 2) * 64), number, false) - number;
    return number;
}

uint64_t selection_number(const struct selection *s, uint64_t rank, uint64_t *run)
{
    uint64_t i;

    if (s->bits != NULL)
        return number_in_bits(s, rank, run);
    i = last_at_most(s->ranks, s->runs, rank);
    *run = s->ranks[i + 1] - rank;
    return s->firsts[i] + (rank - s->ranks[i]);
}

static uint64_t rank_in_bits(const struct selection *s, uint64_t number)
{
    uint64_t rank = s->counts[number / 64 / WORDS_A_COUNT];

    for (uint64_t i = number / 64 / WORDS_A_COUNT * WORDS_A_COUNT; i < number / 64; i++)
        rank += (unsigned)__builtin_popcountll(s->bits[i]);
    return rank + (unsigned)__builtin_popcountll(s->bits[number / 64]
                                                 & (((uint64_t)1 << (number % 64)) - 1));
}

bool selection_rank(const struct selection *s, uint64_t number, uint64_t *rank)
{
    uint64_t i;

    if (number >= s->total || s->count == 0)
        return false;
    if (s->bits != NULL) {
        *rank = rank_in_bits(s, number);
        return is_set(s->bits, number);
    }
    if (number < s->firsts[0])
        return false;
    i = last_at_most(s->firsts, s->runs, number);
    *rank = s->ranks[i] + (number - s->firsts[i]);
    return *rank < s->ranks[i + 1];
}

/* ---- Two selections -------------------------------------------------------------------------- */

/* Returns the number of chosen numbers that are less than `number`. `number` must be at most
 * s->total. */
static uint64_t count_below(const struct selection *s, uint64_t number)
{
    uint64_t i;

    if (number == s->total || s->count == 0)
        return s->count;
    if (s->bits != NULL)
        return rank_in_bits(s, number);
    if (number < s->firsts[0])
        return 0;
    i = last_at_most(s->firsts, s->runs, number);
    return MIN(s->ranks[i] + (number - s->firsts[i]), (uint64_t)s->ranks[i + 1]);
}

uint64_t selection_shared(const struct selection *a, const struct selection *b)
{
    const struct selection *runs = a->bits == NULL ? a : b, *other = runs == a ? b : a;
    uint64_t shared = 0;

    if (runs->bits != NULL)
        for (uint64_t i = 0; i < (a->total + 63) / 64; i++)
            shared += (unsigned)__builtin_popcountll(a->bits[i] & b->bits[i]);
    for (uint64_t i = 0; runs->bits == NULL && i < runs->runs; i++) {
        const uint64_t first = runs->firsts[i];

        shared += count_below(other, first + (runs->ranks[i + 1] - runs->ranks[i]))
                  - count_below(other, first);
    }
    return shared;
}
