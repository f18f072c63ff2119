/* SPDX-License-Identifier: MIT
 *
 * Computes the order in which a lane reads its samples. (A lane is one of the equal parts of an
 * epoch.) The samples of a lane have the numbers 0, 1, ... in their order before shuffling
 * (order.h). Such a number is called an INPUT. A `struct sequence` gives the inputs in the order in
 * which their samples are read. There are two kinds of sequence.
 *
 * IN ORDER: samples are read in their order before shuffling. The samples of the first inputs fill
 * the slots of the shuffle buffer. Then each draw needs the sample of one more input. If the lane
 * is resumed, the sequence begins with the inputs whose samples are in the buffer at that time.
 *
 * AS DRAWN: samples are read in the order in which they are drawn. The shuffle buffer has only
 * numbers. Each sample is read shortly before it is returned.
 *
 * The functions have no side effects. */
#ifndef READER_SEQUENCE_H
#define READER_SEQUENCE_H

#include "reader/order/shuffle.h"

/* A sequence remembers its samples at the last SEQUENCE_BACK positions that were requested. An
 * earlier position cannot be requested again. Used only if samples are read in the order in which
 * they are drawn. */
#define SEQUENCE_BACK 128u

struct sequence {
    struct order_lane range;
    uint64_t count;             /* number of positions; UINT64_MAX if unknown (a stream) */
    /* The fields from here to `fill_slots` are used only if samples are read first and shuffled
     * afterwards. */
    /* number of positions at the beginning of the sequence whose inputs fill the slots of the
     * shuffle buffer */
    uint64_t fill;
    /* number (within the lane) of the sample at position `fill`, the first position after the
     * samples that fill the slots */
    uint64_t after;
    uint64_t *fill_inputs;      /* if resumed: the inputs that fill the slots, ascending */
    /* If the lane (a sequence of samples) is resumed: fill_slots[i] is the slot of the shuffle
     * buffer for the input fill_inputs[i]. NULL if the lane is not resumed. In that case, slot i is
     * filled with input i. */
    uint64_t *fill_slots;
    /* The fields from here on are used only if samples are read in the order in which they are
     * drawn from the shuffle buffer. */
    /* Number (within the lane) of the sample in each slot of the shuffle buffer. NULL if samples
     * are read in their order before shuffling. */
    uint64_t *held;
    struct shuffle shuffle;     /* state of the shuffle after `known` draws */
    uint64_t known;
    uint64_t *drawn;            /* the last SEQUENCE_BACK drawn inputs; follows `held` in memory */
};

/* Returns the size in bytes of a table of numbers that has the samples in the shuffle buffer, and
 * the last SEQUENCE_BACK drawn samples. `slots` is the number of slots of the shuffle buffer. */
static inline uint64_t sequence_held_bytes(uint64_t slots)
{
    return (slots + 1 + SEQUENCE_BACK) * sizeof(uint64_t);
}

/* Begins a sequence IN ORDER at the start of a lane. The samples are in their order before
 * shuffling. The caller must have set the range of the sequence. */
void sequence_begin(struct sequence *sequence, const struct shuffle *shuffle);
/* Begins a sequence IN ORDER after `steps` steps (draws) of a lane. The samples are in their order
 * before shuffling, and not in the order in which they will be drawn.
 *
 * The next *early draws are made at once, so that the caller can read their samples alone before
 * the shuffle buffer is filled. Writes the drawn inputs to `early_inputs`, and leaves them out of
 * the sequence. If the shuffle buffer has fewer inputs than *early, sets *early to the number of
 * draws that were made. */
int sequence_resume(struct sequence *sequence, struct shuffle *shuffle, uint64_t steps,
                    uint64_t *early_inputs, uint64_t *early, struct sheaf_error *err);
/* Begins a sequence AS DRAWN after `steps` steps (draws) of a lane. The samples are in the order in
 * which they are drawn from the shuffle buffer. `shuffle` must be in its state at the
 * start of the lane. */
int sequence_draw(struct sequence *sequence, const struct shuffle *shuffle, uint64_t steps,
                  struct sheaf_error *err);
void sequence_free(struct sequence *sequence);

/* Returns the number (within the lane) of the sample at a position of a sequence. The sequence must
 * be AS DRAWN, with its samples in the order in which they are drawn. Other code calls
 * sequence_input, which accepts both kinds of sequence. */
uint64_t sequence_drawn(struct sequence *sequence, uint64_t position);

static inline uint64_t sequence_input(struct sequence *s, uint64_t position)
{
    if (s->held != NULL)
        return sequence_drawn(s, position);
    if (position >= s->fill)
        return s->after + (position - s->fill);
    return s->fill_inputs == NULL ? position : s->fill_inputs[position];
}

/* The line is the list of all samples of the epoch before shuffling. Returns the position in the
 * line for the sample at `position` of the sequence. */
static inline uint64_t sequence_place(struct sequence *s, uint64_t position)
{
    return order_lane_place(&s->range, sequence_input(s, position));
}

/* Returns true if the sample at `position` is a repetition, for example padding: the epoch has the
 * same sample at another position. */
static inline bool sequence_repeats(struct sequence *s, uint64_t position)
{
    return order_lane_repeats(&s->range, sequence_input(s, position));
}

/* Returns the slot of the shuffle buffer into which the sample at `position` goes. `position` must
 * be less than sequence->fill, because later samples go into the slot that was emptied last. */
static inline uint64_t sequence_slot(const struct sequence *s, uint64_t position)
{
    return s->fill_slots == NULL ? position : s->fill_slots[position];
}

#endif
