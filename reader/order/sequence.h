/* SPDX-License-Identifier: MIT
 *
 * The sequence in which a lane brings its samples in, on numbers.
 *
 *     position   0 .............. fill | fill + 1, ...
 *     input      what fills the slots  | one more for each draw           IN ORDER, or
 *     input      drawn first, second, ...                                 AS DRAWN
 *
 * In order, the line is read from its start to its end; behind it is a shuffle buffer of samples,
 * or none.  As drawn, the shuffle buffer has numbers, and each sample is read when its turn is
 * near.  An INPUT is a number of the lane's own (order.h).  A lane that is resumed begins with what
 * its slots hold then, in the order of the line.  Pure. */
#ifndef READER_SEQUENCE_H
#define READER_SEQUENCE_H

#include "reader/order/shuffle.h"

#define SEQUENCE_BACK 128u      /* as drawn, so many of the latest positions are known */

struct sequence {
    struct order_lane range;
    uint64_t count;             /* positions; UINT64_MAX: not known, of a stream */
    /* In order: */
    uint64_t fill;              /* the first positions: they fill the slots */
    uint64_t after;             /* the input of the position after these */
    uint64_t *fill_inputs;      /* resumed: the inputs that fill the slots, ascending, */
    uint64_t *fill_slots;       /* and the slots that they go into; NULL: input i, slot i */
    /* As drawn: */
    uint64_t *held;             /* the input in each slot; NULL: it is in order */
    struct shuffle shuffle;     /* after `known` draws */
    uint64_t known;
    uint64_t drawn[SEQUENCE_BACK];
};

/* In order, of a lane at its start.  `range` is set. */
void sequence_begin(struct sequence *sequence, const struct shuffle *shuffle);
/* In order, of a lane `steps` steps later.  The first `early` draws from there on are taken out:
 * `early_inputs` gets their inputs, *early becomes how many there are, and the shuffle is moved on
 * by all of them. */
int sequence_resume(struct sequence *sequence, struct shuffle *shuffle, uint64_t steps,
                    uint64_t *early_inputs, uint64_t *early, struct sheaf_error *err);
/* As drawn, of a lane `steps` steps later; the shuffle is at its start. */
int sequence_draw(struct sequence *sequence, const struct shuffle *shuffle, uint64_t steps,
                  struct sheaf_error *err);
void sequence_free(struct sequence *sequence);

/* The rest of sequence_input. */
uint64_t sequence_drawn(struct sequence *sequence, uint64_t position);

static inline uint64_t sequence_input(struct sequence *s, uint64_t position)
{
    if (s->held != NULL)
        return sequence_drawn(s, position);
    if (position >= s->fill)
        return s->after + (position - s->fill);
    return s->fill_inputs == NULL ? position : s->fill_inputs[position];
}

/* The place on the line of a position. */
static inline uint64_t sequence_place(struct sequence *s, uint64_t position)
{
    return order_lane_place(&s->range, sequence_input(s, position));
}

/* Whether that is a sample which comes once more. */
static inline bool sequence_repeats(struct sequence *s, uint64_t position)
{
    return order_lane_repeats(&s->range, sequence_input(s, position));
}

/* The slot that a position below `fill` goes into. */
static inline uint64_t sequence_slot(const struct sequence *s, uint64_t position)
{
    return s->fill_slots == NULL ? position : s->fill_slots[position];
}

#endif
