/* SPDX-License-Identifier: MIT
 *
 * Computes the order of an epoch; see order.h and ORDER.md. These are functions of numbers: they do
 * not read files, and do not use the time. */
#include "reader/order/order.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/rng.h"

static void permute(const struct order *order, enum rng_purpose purpose, uint32_t *shards,
                    size_t count)
{
    struct rng rng;

    rng_seed(&rng, purpose, order->seed, order->epoch, 0);
    for (size_t i = count; i-- > 1;) {
        const size_t j = (size_t)rng_below(&rng, i + 1);
        const uint32_t moved = shards[i];

        shards[i] = shards[j];
        shards[j] = moved;
    }
}

int order_line_make(const struct order *order, const uint64_t *samples, size_t shard_count,
                    struct order_line *line, struct sheaf_error *err)
{
    uint64_t place = 0;

    *line = (struct order_line){ .shard_count = shard_count };
    line->shards = calloc(shard_count + 1, sizeof(line->shards[0]));
    line->starts = calloc(shard_count + 1, sizeof(line->starts[0]));
    if (line->shards == NULL || line->starts == NULL) {
        order_line_free(line);
        return err_memory(err, (shard_count + 1) * 12);
    }
    for (size_t i = 0; i < shard_count; i++)
        line->shards[i] = (uint32_t)i;
    if (order->shuffle)
        permute(order, RNG_SHARDS, line->shards, shard_count);
    for (size_t i = 0; i < shard_count; i++) {
        line->starts[i] = place;
        if (__builtin_add_overflow(place, samples[line->shards[i]], &place)) {
            order_line_free(line);
            return err_set(err, SHEAF_ERR_LIMIT, "the samples of the shards exceed 2^64");
        }
    }
    line->starts[shard_count] = place;
    return SHEAF_OK;
}

uint64_t order_piece(const struct order *order, uint64_t chosen)
{
    const uint64_t of_lane = chosen / order->lanes;

    return order->shuffle ? MAX(MIN(of_lane, ORDER_PIECE_MOST), 1) : ORDER_PIECE_MOST;
}

int order_line_of_pieces(const struct order *order, const struct order_chosen *of,
                         struct order_line *line, struct sheaf_error *err)
{
    const uint64_t piece = order_piece(order, of->chosen.count);
    const size_t count = (size_t)((of->chosen.count + piece - 1) / piece);

    *line = (struct order_line){ .of = of, .piece = piece, .short_start = UINT64_MAX };
    line->pieces = calloc(count + 1, sizeof(line->pieces[0]));
    if (line->pieces == NULL)
        return err_memory(err, count * sizeof(line->pieces[0]));
    for (size_t i = 0; i < count; i++)
        line->pieces[i] = (uint32_t)i;
    if (order->shuffle)
        permute(order, RNG_PIECES, line->pieces, count);
    line->short_places = of->chosen.count % piece;
    for (size_t i = 0; i < count && line->short_places != 0; i++)
        if (line->pieces[i] == count - 1)
            line->short_start = i * piece;
    return SHEAF_OK;
}

void order_line_free(struct order_line *line)
{
    free(line->shards);
    free(line->starts);
    free(line->pieces);
    *line = (struct order_line){ 0 };
}

/* starts[i] is the number of the first sample of shard i. Returns the shard that contains the
 * sample `number`: the last of the shards `low` to `high` - 1 that does not begin after this
 * number. (The result is not an empty shard, because an empty shard begins at the same number as
 * the shard after it.) */
static size_t last_start(const uint64_t *starts, size_t low, size_t high, uint64_t number)
{
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;

        if (starts[middle] <= number)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Returns the number of the chosen sample at position `place` of the line. The chosen samples of a
 * source are numbered from 0, and divided into pieces of consecutive numbers. All pieces have the
 * same size, except that one may be shorter. The line is the sequence of these pieces in a permuted
 * order. Sets *left to the number of positions from `place` to the end of its piece. */
static uint64_t rank_in_pieces(const struct order_line *line, uint64_t place, uint64_t *left)
{
    uint64_t before = place, size = line->piece;

    if (place >= line->short_start && place < line->short_start + line->short_places)
        size = line->short_places;
    else if (place >= line->short_start)
        before += line->piece - line->short_places;
    *left = size - before % line->piece;
    return line->pieces[before / line->piece] * line->piece + before % line->piece;
}

uint64_t order_line_rank(const struct order_line *line, uint64_t place)
{
    uint64_t left;

    return rank_in_pieces(line, place, &left);
}

static struct order_run locate_in_pieces(const struct order_line *line, uint64_t place)
{
    const struct order_chosen *of = line->of;
    uint64_t run, left;
    const uint64_t rank = rank_in_pieces(line, place, &left);
    const uint64_t number = of->first_number + selection_number(&of->chosen, rank, &run);
    const size_t shard = last_start(of->first_numbers, of->first_shard, of->end_shard, number);

    run = MIN(MIN(run, left), of->first_numbers[shard + 1] - number);
    return (struct order_run){ (uint32_t)shard, number - of->first_numbers[shard], run };
}

struct order_run order_line_locate(const struct order_line *line, uint64_t place)
{
    size_t at;

    if (line->of != NULL)
        return locate_in_pieces(line, place);
    if (place >= line->starts[line->shard_count])
        place %= line->starts[line->shard_count];
    at = last_start(line->starts, 0, line->shard_count, place);
    return (struct order_run){ .shard = line->shards[at], .record = place - line->starts[at],
                               .count = line->starts[at + 1] - place };
}

uint64_t order_line_leave(const struct order_line *line, uint64_t place)
{
    const struct order_run run = order_line_locate(line, place);
    uint64_t low = place + run.count - 1, high = place + run.count, left;

    if (line->of == NULL)
        return high;
    (void)rank_in_pieces(line, place, &left);
    /* In a piece, the numbers of the samples ascend. */
    for (high = place + left; high - low > 1;) {
        const uint64_t middle = low + (high - low) / 2;

        if (order_line_locate(line, middle).shard == run.shard)
            low = middle;
        else
            high = middle;
    }
    return high;
}

struct order_lane order_lane_of(const struct order *order, uint64_t samples, uint32_t lane)
{
    const uint64_t each = samples / order->lanes, rest = samples % order->lanes;
    struct order_lane l = { 0 };

    if (order->remainder == SHEAF_DROP) {
        l.start = each * lane;
        l.count = each;
        return l;
    }
    l.start = each * lane + MIN((uint64_t)lane, rest);
    l.count = each + (lane < rest ? 1 : 0);
    if (order->remainder == SHEAF_PAD && rest != 0 && lane >= rest) {
        l.padded = true;
        l.pad = each != 0 ? l.start : lane % samples;
    }
    return l;
}

struct order_lane order_lane_of_line(const struct order *order, uint64_t samples, uint64_t places,
                                     uint32_t lane)
{
    struct order_lane l = order_lane_of(order, places, lane);
    const uint64_t end = l.start + l.count;

    if (end > samples)
        l.again = MIN(end - samples, l.count);
    return l;
}

uint32_t order_lane_at(const struct order *order, uint64_t samples, uint64_t place)
{
    const uint64_t each = samples / order->lanes, rest = samples % order->lanes;
    const bool drop = order->remainder == SHEAF_DROP;
    /* number of places in lanes that have one more */
    const uint64_t longer = drop ? 0 : rest * (each + 1);

    if (place < longer)
        return (uint32_t)(place / (each + 1));
    if (drop && place >= each * order->lanes)
        return order->lanes;
    return (uint32_t)((drop ? 0 : rest) + (place - longer) / each);
}

uint64_t order_buffer_slots(const struct order *order)
{
    const uint64_t slots = order->buffer / order->lanes + (order->buffer % order->lanes != 0);

    return order->shuffle && slots > 1 ? slots : 1;
}

int order_check(const struct order_member *m, uint32_t *lanes, struct sheaf_error *err)
{
    uint32_t members;

    if (m->world_size == 0 || m->rank >= m->world_size)
        return err_set(err, SHEAF_ERR_ARGUMENT, "rank %u is not below the world size %u", m->rank,
                       m->world_size);
    if (m->workers == 0 || m->worker >= m->workers)
        return err_set(err, SHEAF_ERR_ARGUMENT, "worker %u is not below the number of workers %u",
                       m->worker, m->workers);
    if (__builtin_mul_overflow(m->world_size, m->workers, &members))
        return err_set(err, SHEAF_ERR_ARGUMENT, "a world of %u x %u worker%s is too large",
                       m->world_size, m->workers, plural(m->workers));
    if (*lanes == 0)
        *lanes = members;
    if (*lanes % members != 0)
        return err_set(err, SHEAF_ERR_ARGUMENT, "%u lane%s: not a multiple of %u rank%s x %u "
                       "worker%s: use a multiple of %u", *lanes, plural(*lanes), m->world_size,
                       plural(m->world_size), m->workers, plural(m->workers), members);
    if (*lanes > ORDER_LANES_MOST)
        return err_set(err, SHEAF_ERR_ARGUMENT, "%u lanes are more than %u", *lanes,
                       ORDER_LANES_MOST);
    return SHEAF_OK;
}

uint64_t order_member_samples(const struct order *order, const struct order_member *m,
                              uint64_t samples)
{
    const uint32_t own = order->lanes / (m->world_size * m->workers);
    uint64_t total = 0;

    for (uint32_t i = 0; i < own; i++) {
        const struct order_lane lane = order_lane_of(order, samples, order_member_lane(m, i));

        total += order_lane_inputs(&lane);
    }
    return total;
}
