/* SPDX-License-Identifier: MIT
 *
 * The sequence in which a lane reads its samples, as numbers. An INPUT is the number of a sample
 * within the lane (order.h). There are two kinds of sequence.
 *
 * IN ORDER: the lane reads its range of the line from start to end. The samples then go through a
 * shuffle buffer, or are returned at once. The first inputs fill the slots of the buffer, and then
 * each draw needs one more input. A resumed lane begins with the inputs that are in its shuffle
 * buffer at that position, in the order of the line.
 *
 * AS DRAWN: the shuffle buffer holds only numbers. The sequence begins with the input that is drawn
 * first. Each sample is read shortly before it is returned.
 *
 * The functions have no side effects. */
#ifndef READER_SEQUENCE_H
#define READER_SEQUENCE_H

#include "reader/order/shuffle.h"

/* number of latest positions that are remembered if samples are read in the order in which they
 * are drawn */
#define SEQUENCE_BACK 128u

struct sequence {
    struct order_lane range;
    uint64_t count;             /* number of positions; UINT64_MAX if unknown (a stream) */
    /* In order: */
    uint64_t fill;              /* the first positions, which fill the slots */
    uint64_t after;             /* the first input after them */
    uint64_t *fill_inputs;      /* if resumed: the inputs that fill the slots, ascending */
    /* if resumed: fill_slots[i] is the slot of the shuffle buffer into which the input
     * fill_inputs[i] goes; NULL if input i goes into slot i */
    uint64_t *fill_slots;
    /* As drawn: */
    uint64_t *held;             /* the input in each slot; NULL if in order */
    struct shuffle shuffle;     /* its state after `known` draws */
    uint64_t known;
    uint64_t drawn[SEQUENCE_BACK];
};

/* Begins a sequence at the start of a lane. The samples come in the order of the line (IN ORDER),
 * not in the order in which they will be drawn. `range` must be set. */
void sequence_begin(struct sequence *sequence, const struct shuffle *shuffle);
/* Begins a sequence that is in the order of the line (IN ORDER), after `steps` steps of a lane. The
 * caller sets *early to the largest number of draws that are made at once. The function makes these
 * draws and advances the shuffle. It writes the drawn inputs to `early_inputs`, leaves them out of
 * the sequence, and sets *early to their number, which is smaller if the shuffle buffer has fewer
 * inputs. */
int sequence_resume(struct sequence *sequence, struct shuffle *shuffle, uint64_t steps,
                    uint64_t *early_inputs, uint64_t *early, struct sheaf_error *err);
/* Begins a sequence whose samples come in the order in which they are drawn from the shuffle buffer
 * (AS DRAWN). The sequence begins after `steps` steps of a lane. `shuffle` must be at its start. */
int sequence_draw(struct sequence *sequence, const struct shuffle *shuffle, uint64_t steps,
                  struct sheaf_error *err);
void sequence_free(struct sequence *sequence);

/* Returns the input (sample number in the lane) at a position of a sequence AS DRAWN, in which
 * samples come in the order of their draws. Called only by sequence_input, which handles both kinds
 * of sequence. */
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

/* Returns whether the sample at this position is a repetition of a sample that the epoch already
 * has. */
static inline bool sequence_repeats(struct sequence *s, uint64_t position)
{
    return order_lane_repeats(&s->range, sequence_input(s, position));
}

/* Returns the slot of the shuffle buffer that the sample at `position` fills. `position` must be
 * less than sequence->fill. */
static inline uint64_t sequence_slot(const struct sequence *s, uint64_t position)
{
    return s->fill_slots == NULL ? position : s->fill_slots[position];
}

#endif
