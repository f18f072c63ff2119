/* SPDX-License-Identifier: MIT
 *
 * Computes from which source each step of a mix draws; see mix.h and ORDER.md, sections 9 to 11.
 * These are functions of numbers: they do not read files, and do not use the time. */
#include "reader/order/mix.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/rng.h"

/* ---- The epoch ------------------------------------------------------------------------------ */

uint64_t mix_rounds(const struct mix *mix, const struct order *order)
{
    return mix->samples / order->lanes
           + (order->remainder != SHEAF_DROP && mix->samples % order->lanes != 0);
}

uint64_t mix_lane_steps(const struct mix *mix, const struct order *order, uint32_t lane,
                        bool *padded)
{
    const uint64_t rounds = mix_rounds(mix, order), rest = mix->samples % order->lanes;
    const bool is_short = rest != 0 && lane >= rest;

    *padded = mix->stages == NULL && order->remainder == SHEAF_PAD && is_short;
    return rounds - (order->remainder == SHEAF_KEEP && is_short);
}

uint32_t mix_padding_lane(const struct mix *mix, const struct order *order, uint32_t lane)
{
    return mix->samples < order->lanes ? (uint32_t)(lane % mix->samples) : lane;
}

uint64_t mix_member_samples(const struct mix *mix, const struct order *order,
                            const struct order_member *m)
{
    const uint32_t own = order->lanes / (m->world_size * m->workers);
    uint64_t total = 0;
    bool padded;

    for (uint32_t i = 0; i < own; i++)
        total += mix_lane_steps(mix, order, order_member_lane(m, i), &padded);
    return total;
}

int mix_check(const struct mix *mix, const struct order *order, struct sheaf_error *err)
{
    uint64_t numbers = mix->samples + order->lanes, product;

    for (size_t i = 0; i < mix->source_count; i++)
        numbers = MAX(numbers, mix->sources[i].count + order->lanes);
    if (__builtin_mul_overflow(numbers, order->epoch + 1, &product) || order->epoch == UINT64_MAX
        || product > INT64_MAX)
        return err_set(err, SHEAF_ERR_ARGUMENT, "epoch %" PRIu64 " of a view is too late: the "
                       "numbers of its samples pass 2^63", order->epoch);
    return SHEAF_OK;
}

struct order mix_source_order(const struct mix *mix, const struct order *order, size_t source)
{
    const struct mix_source *s = &mix->sources[source];
    const uint64_t slots = order_buffer_slots(order);
    const uint64_t share = mix->stages != NULL ? mix->stages[0].weights[source] : s->count;
    const uint64_t whole = mix->stages != NULL ? mix->stages[0].period : mix->samples;
    struct order own = *order;
    uint8_t id[8];

    store64(id, s->id);
    own.seed = XXH3_64bits_withSeed(id, sizeof(id), order->seed);
    own.buffer = MAX((uint64_t)((unsigned __int128)slots * share / MAX(whole, 1)), 1)
                 * order->lanes;
    return own;
}

void mix_free(struct mix *mix)
{
    for (size_t i = 0; i < mix->stage_count; i++) {
        free(mix->stages[i].weights);
        free(mix->stages[i].table);
    }
    free(mix->stages);
    free(mix->sources);
    *mix = (struct mix){ 0 };
}

/* ---- Weights -------------------------------------------------------------------------------- */

static uint64_t divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        const uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

struct remainder {
    unsigned __int128 left;
    size_t source;
};

static int largest_first(const void *a, const void *b)
{
    const struct remainder *x = a, *y = b;

    if (x->left != y->left)
        return x->left > y->left ? -1 : 1;
    return x->source < y->source ? -1 : 1;
}

/* Scales the weights so that their sum is MIX_PERIOD_MOST. A weight that is not 0 becomes at least
 * 1. */
static bool share_period(uint64_t *weights, size_t count, unsigned __int128 sum)
{
    struct remainder *remainders = calloc(count, sizeof(remainders[0]));
    uint64_t rest = MIX_PERIOD_MOST, left;

    if (remainders == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        rest -= weights[i] != 0;
    left = rest;
    for (size_t i = 0; i < count; i++) {
        const unsigned __int128 product = (unsigned __int128)weights[i] * rest;

        remainders[i] = (struct remainder){ weights[i] == 0 ? 0 : product % sum, i };
        if (weights[i] != 0) {
            weights[i] = (uint64_t)(product / sum) + 1;
            left -= weights[i] - 1;
        }
    }
    qsort(remainders, count, sizeof(remainders[0]), largest_first);
    for (size_t i = 0; i < left; i++)
        weights[remainders[i].source]++;
    free(remainders);
    return true;
}

uint64_t mix_apportion(uint64_t *weights, size_t count)
{
    unsigned __int128 sum = 0;
    uint64_t common = 0;

    for (size_t i = 0; i < count; i++)
        common = divisor(common, weights[i]);
    for (size_t i = 0; i < count && common != 0; i++) {
        weights[i] /= common;
        sum += weights[i];
    }
    if (sum <= MIX_PERIOD_MOST)
        return (uint64_t)sum;
    return share_period(weights, count, sum) ? MIX_PERIOD_MOST : 0;
}

/* ---- The quota method ----------------------------------------------------------------------- */

/* State for making the table that has the source of each step. The sources are in two heaps.
 *
 * The heap `ready` has the sources from which this step may draw. Its top is the source that must
 * be drawn from first. The heap `waiting` has the sources that would exceed their share if this
 * step drew from them. Its top is the source that leaves this heap first. */
struct quota {
    const uint64_t *weights;
    uint64_t period;
    uint64_t *drawn;
    uint16_t *ready, *waiting;
    size_t ready_count, waiting_count;
};

/* Returns the first step that may draw from the source again. A draw at an earlier step would
 * exceed the source's share of the table. */
static uint64_t release_of(const struct quota *q, uint16_t source)
{
    return q->drawn[source] * q->period / q->weights[source];
}

static bool mix_is_before(const struct quota *q, bool by_release, uint16_t a, uint16_t b)
{
    uint64_t x, y;

    if (by_release) {
        x = release_of(q, a);
        y = release_of(q, b);
    } else {
        x = (q->drawn[a] + 1) * q->weights[b];
        y = (q->drawn[b] + 1) * q->weights[a];
    }
    return x != y ? x < y : a < b;
}

static void mix_push(const struct quota *q, bool by_release, uint16_t *heap, size_t *count,
                     uint16_t source)
{
    size_t at = (*count)++;

    while (at > 0 && mix_is_before(q, by_release, source, heap[(at - 1) / 2])) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = source;
}

static uint16_t mix_pop(const struct quota *q, bool by_release, uint16_t *heap, size_t *count)
{
    const uint16_t top = heap[0], last = heap[--*count];
    size_t at = 0;

    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= *count)
            break;
        if (child + 1 < *count && mix_is_before(q, by_release, heap[child + 1], heap[child]))
            child++;
        if (!mix_is_before(q, by_release, heap[child], last))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return top;
}

static void fill_table(struct quota *q, uint16_t *table)
{
    for (uint64_t t = 0; t < q->period; t++) {
        uint16_t source;

        while (q->waiting_count != 0 && release_of(q, q->waiting[0]) <= t) {
            source = mix_pop(q, true, q->waiting, &q->waiting_count);
            mix_push(q, false, q->ready, &q->ready_count, source);
        }
        source = mix_pop(q, false, q->ready, &q->ready_count);
        table[t] = source;
        if (++q->drawn[source] < q->weights[source])
            mix_push(q, true, q->waiting, &q->waiting_count, source);
    }
}

int mix_make_table(const uint64_t *weights, size_t count, uint64_t period, uint16_t *table,
                   struct sheaf_error *err)
{
    struct quota q = {
        .weights = weights, .period = period,
        .drawn = calloc(count + 1, sizeof(q.drawn[0])),
        .ready = calloc(count + 1, sizeof(q.ready[0])),
        .waiting = calloc(count + 1, sizeof(q.waiting[0])),
    };
    const bool failed = q.drawn == NULL || q.ready == NULL || q.waiting == NULL;

    for (size_t i = 0; i < count && !failed; i++)
        if (weights[i] != 0)
            mix_push(&q, true, q.waiting, &q.waiting_count, (uint16_t)i);
    if (!failed)
        fill_table(&q, table);
    free(q.drawn);
    free(q.ready);
    free(q.waiting);
    return failed ? err_memory(err, count * 12) : SHEAF_OK;
}
