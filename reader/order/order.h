/* SPDX-License-Identifier: MIT
 *
 * The order of an epoch, as pure functions of numbers.  reader/ORDER.md is the specification, and
 * tests pin it with vectors of an independent implementation.
 *
 *   shards --permute--> LINE of N places --cut--> L LANES --shuffle buffer each--> round-robin
 *
 * A PLACE is a number in [0, N) on the line; it stands for one sample, which order_line_locate
 * finds.  A host's line may go on beyond N, where it begins again.  Nothing here is proportional to
 * the number of samples but a lane's shuffle buffer. */
#ifndef READER_ORDER_H
#define READER_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader/order/selection.h"
#include "sheaf.h"

/* All that the order depends on, except the data set. */
struct order {
    uint64_t seed;
    uint64_t epoch;
    bool shuffle;                   /* false: shards in manifest order, no buffers */
    uint64_t buffer;                /* samples, over all lanes */
    uint32_t lanes;
    enum sheaf_remainder remainder; /* not AUTO */
};

/* ---- The line ------------------------------------------------------------------------------- */

struct order_line {
    size_t shard_count;
    uint32_t *shards;               /* manifest numbers of the shards, in line order */
    uint64_t *starts;               /* shard_count + 1 places: where each begins; the last is N */
    const struct order_chosen *of;  /* it is the line of a source of a view: it has no shards, */
    uint32_t *pieces;               /* but these, in line order, */
    uint64_t piece;                 /* of so many samples each; */
    uint64_t short_start, short_places;     /* and where the last one, if it is shorter, lies */
};

/* `samples` are the shards' counts in manifest order. */
int order_line_make(const struct order *order, const uint64_t *samples, size_t shard_count,
                    struct order_line *line, struct sheaf_error *err);
void order_line_free(struct order_line *line);

#define ORDER_PIECE_MOST 1024u

/* The chosen samples of a source of a view, whose shards are some of a data set's. */
struct order_chosen {
    struct selection chosen;        /* of its own numbers, from 0 */
    uint64_t first_number;          /* of the source, in the data set */
    const uint64_t *first_numbers;  /* of the data set's shards, */
    uint32_t first_shard, end_shard;    /* of which these are the source's */
};

/* The samples of a piece, of a source with so many chosen ones: no more than a lane has of a source
 * epoch, so that those of a small source are in other lanes each time, too. */
uint64_t order_piece(const struct order *order, uint64_t chosen);

/* The line of a source epoch; `order` is the source's own.  `of` is borrowed. */
int order_line_of_pieces(const struct order *order, const struct order_chosen *of,
                         struct order_line *line, struct sheaf_error *err);

/* The rank among the chosen samples that a place of such a line has. */
uint64_t order_line_rank(const struct order_line *line, uint64_t place);

/* A run of places in one shard. */
struct order_run {
    uint32_t shard;                 /* manifest number */
    uint64_t record;                /* of the first place, in the shard */
    uint64_t count;                 /* consecutive places of consecutive records, from there on: to
                                       the end of the shard, or as far as is easily known */
};

/* Place must be below N, or of a line with shards: they come again.  N must not be 0. */
struct order_run order_line_locate(const struct order_line *line, uint64_t place);

/* The first place behind this one that is in another shard, or in another piece: a piece that
 * follows may be of the same shard. */
uint64_t order_line_leave(const struct order_line *line, uint64_t place);

/* ---- Lanes ---------------------------------------------------------------------------------- */

/* Inputs 0 .. count-1 of a lane are the places start, start+1, ...; a padded lane has one more,
 * which repeats the place `pad`. */
struct order_lane {
    uint64_t start;
    uint64_t count;                 /* without the pad */
    bool padded;
    uint64_t pad;
    uint64_t again;                 /* so many of the last inputs are places beyond N */
};

struct order_lane order_lane_of(const struct order *order, uint64_t samples, uint32_t lane);
/* The same of a line of `places`, which those after `samples` repeat. */
struct order_lane order_lane_of_line(const struct order *order, uint64_t samples, uint64_t places,
                                     uint32_t lane);

static inline uint64_t order_lane_inputs(const struct order_lane *lane)
{
    return lane->count + (lane->padded ? 1 : 0);
}

static inline uint64_t order_lane_place(const struct order_lane *lane, uint64_t input)
{
    return input < lane->count ? lane->start + input : lane->pad;
}

/* Whether it is a sample that comes once more. */
static inline bool order_lane_repeats(const struct order_lane *lane, uint64_t input)
{
    return (lane->padded || lane->again != 0) && input >= lane->count - lane->again;
}

/* The lane that has a place among its own, which is its input place - start; order->lanes: it is
 * dropped.  As a pad, other lanes may have it, too. */
uint32_t order_lane_at(const struct order *order, uint64_t samples, uint64_t place);

/* The slots of a lane's shuffle buffer (shuffle.h); 1 without shuffling. */
uint64_t order_buffer_slots(const struct order *order);

/* ---- Lanes of ranks and workers ------------------------------------------------------------- */

#define ORDER_LANES_MOST (1u << 20)

struct order_member {
    uint32_t rank, world_size, worker, workers;
};

/* SHEAF_ERR_ARGUMENT, with what does not fit, unless rank < world_size, worker < workers, and
 * lanes is a multiple of world_size x workers, ORDER_LANES_MOST at most.  *lanes 0 becomes that
 * product. */
int order_check(const struct order_member *member, uint32_t *lanes, struct sheaf_error *err);

/* The lanes of a member, in their turn: lane i of it is order_member_lane(m, i), i below
 * lanes / (world_size x workers). */
static inline uint32_t order_member_lane(const struct order_member *m, uint32_t i)
{
    return m->rank + m->world_size * (m->worker + m->workers * i);
}

/* How many samples the member's epoch has. */
uint64_t order_member_samples(const struct order *order, const struct order_member *member,
                              uint64_t samples);

#endif
