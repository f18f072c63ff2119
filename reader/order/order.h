/* SPDX-License-Identifier: MIT
 *
 * Computes the order of an epoch. The functions compute with numbers and have no side effects.
 * reader/ORDER.md specifies the order, and tests compare the functions with vectors from an
 * independent implementation.
 *
 * The shards are permuted, unless samples are not shuffled. The samples of the shards, in this
 * order of the shards, form the LINE. A PLACE is a position in the line, from 0 to N - 1 if there
 * are N samples. order_line_locate finds the sample at a place.
 *
 * The line is divided into one range for each lane. A lane shuffles the samples of its range in a
 * shuffle buffer. The epoch takes samples from the lanes in turn.
 *
 * If several hosts divide the shards of a data set, a host may have fewer samples than others. Its
 * line may then be longer than N: after place N - 1, it continues with its first samples again. */
#ifndef READER_ORDER_H
#define READER_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader/order/selection.h"
#include "sheaf.h"

/* All values that determine the order of an epoch, except for the data set. */
struct order {
    uint64_t seed;
    uint64_t epoch;
    /* true if the order of shards is permuted and shuffle buffers are used; false if shards stay in
     * manifest order and there are no shuffle buffers */
    bool shuffle;
    /* number of samples in the shuffle buffers of all lanes (sequences of samples) together */
    uint64_t buffer;
    uint32_t lanes;
    enum sheaf_remainder remainder; /* keep, drop or pad, but not AUTO */
};

/* ---- The line ------------------------------------------------------------------------------- */

struct order_line {
    size_t shard_count;
    /* The numbers that the shards have in the manifest. They are in the order in which the shards
     * follow each other in the line. */
    uint32_t *shards;
    /* Position of each shard's first sample in the line (the sequence of samples before shuffling).
     * After the last shard, the number of all samples. */
    uint64_t *starts;
    /* If this is the line of a source of a view (a mix of data sets): the chosen samples of this
     * source. In this case, the line consists of pieces (ranges of chosen samples) and not of
     * shards. NULL if this is the line of a data set that is not a view. */
    const struct order_chosen *of;
    /* If the line consists of pieces (ranges of consecutive chosen samples): the numbers of the
     * pieces, in the order in which they follow each other in the line. */
    uint32_t *pieces;
    uint64_t piece;                 /* number of samples in each piece */
    /* All pieces (ranges of consecutive chosen samples) have the same length, except that one may
     * be shorter. short_start is the position in the line at which the shorter piece begins, and
     * short_places is its length. */
    uint64_t short_start, short_places;
};

/* Makes the line (the sequence of samples before shuffling) of an epoch. samples[i] is the number
 * of samples in shard i of the manifest. */
int order_line_make(const struct order *order, const uint64_t *samples, size_t shard_count,
                    struct order_line *line, struct sheaf_error *err);
void order_line_free(struct order_line *line);

#define ORDER_PIECE_MOST 1024u

/* The chosen samples of a source of a view (a mix of data sets). The source has shards
 * `first_shard` to `end_shard` - 1 of the data set. */
struct order_chosen {
    /* The chosen samples of the source. Samples are numbered from 0 within the source. */
    struct selection chosen;
    /* number of the source's first sample in the whole data set */
    uint64_t first_number;
    /* number of the first sample in each shard of the data set */
    const uint64_t *first_numbers;
    uint32_t first_shard, end_shard;    /* range of the shards that belong to the source */
};

/* Returns the number of samples in a piece (a range of consecutive chosen samples) of a source with
 * `chosen` chosen samples. If samples are shuffled, the pieces are permuted in each epoch. A piece
 * is then at most as large as the part of the source that one lane reads. So even for a small
 * source, the permutation changes which lane reads which samples. */
uint64_t order_piece(const struct order *order, uint64_t chosen);

/* Makes the line (the sequence of samples before shuffling) for an epoch of a source of a view (a
 * mix of data sets). `order` is the order of this source. The line keeps the pointer `of`. */
int order_line_of_pieces(const struct order *order, const struct order_chosen *of,
                         struct order_line *line, struct sheaf_error *err);

/* Returns the number of the chosen sample at position `place` of the line (the sequence of samples
 * before shuffling). The chosen samples of a source are numbered from 0. The line must have been
 * made by order_line_of_pieces. */
uint64_t order_line_rank(const struct order_line *line, uint64_t place);

/* A range of consecutive records of one shard. Its samples follow each other in the line, the
 * sequence of all samples before shuffling. */
struct order_run {
    uint32_t shard;                 /* number of the shard in the manifest */
    uint64_t record;                /* number of the first sample's record in the shard */
    /* From the requested position on, at least this number of positions have consecutive records of
     * this shard. The number is at least 1. More such positions may follow. */
    uint64_t count;
};

/* Finds the sample at position `place` of the line (the sequence of samples before shuffling). The
 * line must not be empty. For the line of a data set, the position may be greater than the length
 * of the line, because the line repeats. For the line of a source of a view (made by
 * order_line_of_pieces), the position must be less than the length. */
struct order_run order_line_locate(const struct order_line *line, uint64_t place);

/* Returns the first place after `place` at which the line (the sequence of samples before
 * shuffling) enters another shard or another piece. If the line consists of pieces (ranges of
 * consecutive chosen samples), the next piece may be in the same shard. */
uint64_t order_line_leave(const struct order_line *line, uint64_t place);

/* ---- Lanes ---------------------------------------------------------------------------------- */

/* The range of the line (the sequence of samples before shuffling) that a lane reads. The lane's
 * inputs 0 to count - 1 are the samples at the positions `start` to `start` + `count` - 1. If the
 * lane is padded, it has one more input, which repeats the sample at position `pad`. */
struct order_lane {
    uint64_t start;
    uint64_t count;                 /* number of inputs, not counting the pad */
    bool padded;
    uint64_t pad;
    /* Number of repeated samples at the end of the range. They are the first samples of the line
     * (all samples before shuffling). 0 if this host has as many samples as it must return. */
    uint64_t again;
};

struct order_lane order_lane_of(const struct order *order, uint64_t samples, uint32_t lane);
/* Returns the range of the line (all samples before shuffling) that a lane reads. Like
 * order_lane_of, but the line has `places` positions. The positions from `samples` on repeat the
 * beginning of the line. */
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

/* Returns true if input number `input` of the lane (a sequence of samples) repeats a sample that
 * the epoch also has at another position. */
static inline bool order_lane_repeats(const struct order_lane *lane, uint64_t input)
{
    return (lane->padded || lane->again != 0) && input >= lane->count - lane->again;
}

/* Returns the lane (a sequence of samples) that reads the sample at position `place` of the line
 * (the sequence of all samples before shuffling). Within this lane, the sample has the number place
 * - order_lane.start. Other lanes may repeat the sample as padding.
 *
 * If the option `remainder` is `drop`, the last samples of the line are left out. For these
 * samples, returns order->lanes, because no lane reads them. */
uint32_t order_lane_at(const struct order *order, uint64_t samples, uint64_t place);

/* Returns the number of samples in the shuffle buffer (shuffle.h) of a lane, which is a sequence of
 * samples. It is 1 if samples are not shuffled. */
uint64_t order_buffer_slots(const struct order *order);

/* ---- Lanes of ranks and workers ------------------------------------------------------------- */

#define ORDER_LANES_MOST (1u << 20)

struct order_member {
    uint32_t rank, world_size, worker, workers;
};

/* Checks that rank < world_size and worker < workers. If *lanes, the number of lanes of the epoch,
 * is 0, sets it to world_size x workers. Then checks that *lanes is a multiple of this product, and
 * at most ORDER_LANES_MOST. Returns SHEAF_ERR_ARGUMENT if a check fails. */
int order_check(const struct order_member *member, uint32_t *lanes, struct sheaf_error *err);

/* Returns the number of a lane (a sequence of samples) among all lanes of the epoch. `i` is its
 * number among the lanes of its worker. `i` must be less than lanes / (world_size x workers). */
static inline uint32_t order_member_lane(const struct order_member *m, uint32_t i)
{
    return m->rank + m->world_size * (m->worker + m->workers * i);
}

/* Returns the number of samples that this worker of this rank reads in an epoch. */
uint64_t order_member_samples(const struct order *order, const struct order_member *member,
                              uint64_t samples);

#endif
