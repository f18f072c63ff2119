/* SPDX-License-Identifier: MIT
 *
 * The order of an epoch, as functions of numbers without side effects. reader/ORDER.md is the
 * specification. Tests compare the functions with vectors from an independent implementation.
 *
 * The shards are permuted. All samples in the permuted order of the shards form the LINE. A PLACE
 * is a position in the line, from 0 to N - 1 if there are N samples; order_line_locate finds the
 * sample at a place. The line is cut into one range for each lane. Each lane shuffles its range
 * through a shuffle buffer, and the epoch takes samples from the lanes in turn. If hosts share a
 * data set, a host with fewer samples than others may continue its line beyond N; there, the line
 * starts again. Only the shuffle buffers of the lanes take memory; nothing takes memory in
 * proportion to the number of samples. */
#ifndef READER_ORDER_H
#define READER_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader/order/selection.h"
#include "sheaf.h"

/* Everything that determines the order of an epoch, except the data set. */
struct order {
    uint64_t seed;
    uint64_t epoch;
    bool shuffle;                   /* false: shards in manifest order, no shuffle buffers */
    /* total number of samples in the shuffle buffers of all lanes */
    uint64_t buffer;
    uint32_t lanes;
    enum sheaf_remainder remainder; /* not AUTO */
};

/* ---- The line ------------------------------------------------------------------------------- */

struct order_line {
    size_t shard_count;
    uint32_t *shards;               /* manifest numbers of the shards, in line order */
    /* The first position of each shard in the line (the sequence of samples before shuffling),
     * followed by N, the number of samples. */
    uint64_t *starts;
    /* For a source of a view: its chosen samples. The line (the sequence of samples before
     * shuffling) then consists of pieces instead of shards. */
    const struct order_chosen *of;
    uint32_t *pieces;               /* but pieces, in line order, */
    uint64_t piece;                 /* each of this number of samples; */
    /* The first position and the size of the one piece (range of consecutive chosen samples) that
     * is shorter than the others. */
    uint64_t short_start, short_places;
};

/* Makes the line (sequence of samples before shuffling) of an epoch. `samples` has the number of
 * samples of each shard, in manifest order. */
int order_line_make(const struct order *order, const uint64_t *samples, size_t shard_count,
                    struct order_line *line, struct sheaf_error *err);
void order_line_free(struct order_line *line);

#define ORDER_PIECE_MOST 1024u

/* The chosen samples of one source of a view. The source's shards are a range of the shards of the
 * data set. */
struct order_chosen {
    struct selection chosen;        /* numbers within the source, from 0 */
    /* number that the source's first sample has in the data set */
    uint64_t first_number;
    const uint64_t *first_numbers;  /* of all shards of the data set, */
    uint32_t first_shard, end_shard;    /* of which these belong to the source */
};

/* Returns the number of samples in a piece (range of consecutive chosen samples) of a source with
 * `chosen` chosen samples. The pieces of a source are permuted in each epoch. A piece is at most as
 * large as a lane's share of the source. So a small source also has several pieces, and its samples
 * change lanes from epoch to epoch. */
uint64_t order_piece(const struct order *order, uint64_t chosen);

/* Makes the line (sequence of samples before shuffling) for an epoch of a view's source. `order` is
 * the order of this source. `of` is borrowed. */
int order_line_of_pieces(const struct order *order, const struct order_chosen *of,
                         struct order_line *line, struct sheaf_error *err);

/* The chosen samples of a source are numbered from 0. Returns the number of the chosen sample at a
 * position of the line (the sequence of samples before shuffling). `line` must be the line of a
 * view's source, which order_line_of_pieces has made. */
uint64_t order_line_rank(const struct order_line *line, uint64_t place);

/* Consecutive places in one shard. */
struct order_run {
    uint32_t shard;                 /* manifest number */
    uint64_t record;                /* of the first place, within the shard */
    /* number of consecutive positions, from the first one on, whose samples are consecutive records
     * of this shard; there may be more such positions */
    uint64_t count;
};

/* Finds the sample at a position of the line (the sequence of samples before shuffling). The line
 * must not be empty. On a line of pieces, the position must be less than the line's length. On a
 * line of shards it may be greater, because the line repeats itself. */
struct order_run order_line_locate(const struct order_line *line, uint64_t place);

/* Returns the first position after `place` at which another shard or another piece begins. (Two
 * neighbouring pieces may be in the same shard.) */
uint64_t order_line_leave(const struct order_line *line, uint64_t place);

/* ---- Lanes ---------------------------------------------------------------------------------- */

/* The range of the line (the sequence of samples before shuffling) that a lane reads. Its inputs 0
 * to count-1 are the positions start, start+1, and so on. A padded lane has one more input, which
 * repeats the position `pad`. */
struct order_lane {
    uint64_t start;
    uint64_t count;                 /* without the pad */
    bool padded;
    uint64_t pad;
    uint64_t again;                 /* number of last inputs that are places beyond N */
};

struct order_lane order_lane_of(const struct order *order, uint64_t samples, uint32_t lane);
/* Returns the range of a lane, as order_lane_of does. The line (sequence of samples before
 * shuffling) has `places` positions. From position `samples` on, it repeats its beginning. */
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

/* Returns whether input number `input` of the lane is a repetition of a sample that the epoch
 * already has. */
static inline bool order_lane_repeats(const struct order_lane *lane, uint64_t input)
{
    return (lane->padded || lane->again != 0) && input >= lane->count - lane->again;
}

/* Returns the lane that reads a position of the line (the sequence of samples before shuffling).
 * Returns order->lanes if no lane reads the position, because the remainder of the epoch is
 * dropped. If the lane's range starts at position s (order_lane.start), its input number place - s
 * is this position. Other lanes may repeat the position as padding. */
uint32_t order_lane_at(const struct order *order, uint64_t samples, uint64_t place);

/* Returns the size of a lane's shuffle buffer (shuffle.h), which is 1 if samples are not
 * shuffled. */
uint64_t order_buffer_slots(const struct order *order);

/* ---- Lanes of ranks and workers ------------------------------------------------------------- */

#define ORDER_LANES_MOST (1u << 20)

struct order_member {
    uint32_t rank, world_size, worker, workers;
};

/* Checks that rank < world_size, that worker < workers, and that *lanes is a multiple of world_size
 * x workers and at most ORDER_LANES_MOST. Replaces *lanes 0 by world_size x workers. Returns
 * SHEAF_ERR_ARGUMENT, with a message, if a check fails. */
int order_check(const struct order_member *member, uint32_t *lanes, struct sheaf_error *err);

/* Returns the number that lane i of a worker has among all lanes of the epoch. Each worker of each
 * rank counts its own lanes from 0. i must be less than lanes / (world_size x workers). */
static inline uint32_t order_member_lane(const struct order_member *m, uint32_t i)
{
    return m->rank + m->world_size * (m->worker + m->workers * i);
}

/* Returns the number of samples in the member's epoch. */
uint64_t order_member_samples(const struct order *order, const struct order_member *member,
                              uint64_t samples);

#endif
