/* SPDX-License-Identifier: MIT
 *
 * The shuffle buffer of a lane (a sequence of samples), computed with numbers. The functions
 * compute which slot is drawn from next, and which input then fills this slot. (An input is the
 * number of a sample within the lane.) They have no side effects.
 *
 * Other files store the content of the slots. lane.c stores samples. sequence.c stores the numbers
 * of samples that are read when they are drawn. foresight.c stores numbers to compute draws in
 * advance. */
#ifndef READER_SHUFFLE_H
#define READER_SHUFFLE_H

#include "base/rng.h"
#include "reader/order/order.h"

/* The state of a shuffle buffer that contains numbers (inputs) in place of samples. It has `filled`
 * slots, at most order_buffer_slots(). At the start, input i is in slot i. Later, each input from 0
 * to `next` - 1 is in a slot, or was drawn. */
struct shuffle {
    struct rng rng;
    uint64_t filled;
    uint64_t next;                  /* the next input to enter a slot */
    uint64_t inputs;
};

struct shuffle_step {
    uint64_t slot;                  /* slot from which the input is drawn */
    /* true if another input, `input`, is put into this slot after the draw */
    bool refill;
    uint64_t input;
    /* Used if no input is left to fill the slot that was drawn from. In this case, the input in
     * slot `last` is moved to the empty slot, and slot `last` is removed. `last` may be the empty
     * slot itself. */
    uint64_t last;
};

void shuffle_begin(struct shuffle *shuffle, const struct order *order, uint32_t lane,
                   uint64_t inputs);

/* Makes the next step (draw) of the shuffle. `filled` must not be 0: the lane (a sequence of
 * samples) has ended when all slots are empty. */
static inline struct shuffle_step shuffle_next(struct shuffle *s)
{
    struct shuffle_step step = { .slot = rng_below(&s->rng, s->filled) };

    if (s->next < s->inputs) {
        step.refill = true;
        step.input = s->next++;
    } else {
        step.last = --s->filled;
    }
    return step;
}

/* Makes the next step (draw) of the shuffle, and updates slots[i], the input in slot i. Returns the
 * drawn input. */
static inline uint64_t shuffle_draw(struct shuffle *s, uint64_t *slots)
{
    const struct shuffle_step step = shuffle_next(s);
    const uint64_t drawn = slots[step.slot];

    slots[step.slot] = step.refill ? step.input : slots[step.last];
    return drawn;
}

/* Makes `steps` steps (draws) of the shuffle from its start. Sets slots[i] to the input that is in
 * slot i after these steps. `slots` must have room for order_buffer_slots() numbers. */
void shuffle_replay(struct shuffle *shuffle, uint64_t steps, uint64_t *slots);

#define SHUFFLE_FORESEE_MOST 32u

/* Computes the next draws without changing the shuffle: `steps` draws, but at most
 * SHUFFLE_FORESEE_MOST. Sets slots[i] to the slot that now contains the sample of draw i, or to
 * UINT64_MAX if this sample has not entered the buffer yet. Returns the number of draws that were
 * computed. */
unsigned shuffle_foresee(const struct shuffle *shuffle, unsigned steps, uint64_t *slots);

#endif
