/* SPDX-License-Identifier: MIT
 *
 * The sequence in which a lane reads its samples, as numbers.
 *
 *     position   0 .............. fill | fill + 1, ...
 *     input      inputs that fill the slots | one more for each draw      IN ORDER, or
 *     input      drawn first, second, ...                                 AS DRAWN
 *
 * In order, the lane reads its part of the line from start to end. The samples then go through a
 * shuffle buffer, or are handed out at once. As drawn, the shuffle buffer holds only numbers, and
 * each sample is read shortly before its turn. An INPUT is a number within the lane (order.h). A
 * resumed lane begins with the inputs that are in its slots at that position, in the order of the
 * line. Pure. */
#ifndef READER_SEQUENCE_H
#define READER_SEQUENCE_H

#include "reader/order/shuffle.h"

#define SEQUENCE_BACK 128u      /* number of latest positions that are remembered if samples are
                                   read in the order of drawing */

struct sequence {
    struct order_lane range;
    uint64_t count;             /* number of positions; UINT64_MAX if unknown (a stream) */
    /* In order: */
    uint64_t fill;              /* the first positions, which fill the slots */
    uint64_t after;             /* the first input after them */
    uint64_t *fill_inputs;      /* if resumed: the inputs that fill the slots, ascending, */
    uint64_t *fill_slots;       /* and their slots; NULL: input i goes to slot i */
    /* As drawn: */
    uint64_t *held;             /* the input in each slot; NULL if in order */
    struct shuffle shuffle;     /* its state after `known` draws */
    uint64_t known;
    uint64_t drawn[SEQUENCE_BACK];
};

/* Begins a sequence in order, at the start of a lane. `range` must be set. */
void sequence_begin(struct sequence *sequence, const struct shuffle *shuffle);
/* Begins a sequence in order, after `steps` steps of a lane. The next *early draws are taken out of
 * the sequence: `early_inputs` receives their inputs, *early becomes their number, and the shuffle
 * advances by them. */
int sequence_resume(struct sequence *sequence, struct shuffle *shuffle, uint64_t steps,
                    uint64_t *early_inputs, uint64_t *early, struct sheaf_error *err);
/* Begins a sequence as drawn, after `steps` steps of a lane. `shuffle` must be at its start. */
int sequence_draw(struct sequence *sequence, const struct shuffle *shuffle, uint64_t steps,
                  struct sheaf_error *err);
void sequence_free(struct sequence *sequence);

/* Returns the input of a position in a sequence as drawn. Part of sequence_input. */
uint64_t sequence_drawn(struct sequence *sequence, uint64_t position);

static inline uint64_t sequence_input(struct sequence *s, uint64_t position)
{
    if (s->held != NULL)
        return sequence_drawn(s, position);
    if (position >= s->fill)
        return s->after + (position - s->fill);
    return s->fill_inputs == NULL ? position : s->fill_inputs[position];
}

/* Returns the place on the line of a position. */
static inline uint64_t sequence_place(struct sequence *s, uint64_t position)
{
    return order_lane_place(&s->range, sequence_input(s, position));
}

/* Returns whether the position repeats a sample of the epoch. */
static inline bool sequence_repeats(struct sequence *s, uint64_t position)
{
    return order_lane_repeats(&s->range, sequence_input(s, position));
}

/* Returns the slot for a position, which must be below `fill`. */
static inline uint64_t sequence_slot(const struct sequence *s, uint64_t position)
{
    return s->fill_slots == NULL ? position : s->fill_slots[position];
}

#endif
