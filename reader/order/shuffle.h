/* SPDX-License-Identifier: MIT
 *
 * The shuffle buffer of one lane, as numbers: decides which slot is emitted next and which input
 * replaces it. The caller keeps the slots. They hold samples (lane.c), numbers of samples that are
 * read when drawn (sequence.c), or numbers that are used to know the order in advance
 * (foresight.c). Pure, like order.h. */
#ifndef READER_SHUFFLE_H
#define READER_SHUFFLE_H

#include "base/rng.h"
#include "reader/order/order.h"

/* The state of a shuffle. At the start, input i is in slot i, for `filled` slots, and `filled` is
 * at most order_buffer_slots(). Inputs below `next` are in slots or were emitted. */
struct shuffle {
    struct rng rng;
    uint64_t filled;
    uint64_t next;                  /* the next input to enter a slot */
    uint64_t inputs;
};

struct shuffle_step {
    uint64_t slot;                  /* emit the input of this slot */
    bool refill;                    /* then put input `input` into it; */
    uint64_t input;
    uint64_t last;                  /* if there is no refill: the input of slot `last` moves into
                                       the emptied slot, and slot `last` is removed (both may be
                                       the same slot) */
};

void shuffle_begin(struct shuffle *shuffle, const struct order *order, uint32_t lane,
                   uint64_t inputs);

/* Must not be called if filled == 0, because the lane has then ended. */
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

/* Takes one step, where slots[i] is the input in slot i. Returns the emitted input. */
static inline uint64_t shuffle_draw(struct shuffle *s, uint64_t *slots)
{
    const struct shuffle_step step = shuffle_next(s);
    const uint64_t drawn = slots[step.slot];

    slots[step.slot] = step.refill ? step.input : slots[step.last];
    return drawn;
}

/* Replays `steps` steps from the start. Then slots[i] is the input in slot i. `slots` must have
 * room for order_buffer_slots() numbers. */
void shuffle_replay(struct shuffle *shuffle, uint64_t steps, uint64_t *slots);

#define SHUFFLE_FORESEE_MOST 32u

/* Foresees the slots that the next `steps` steps emit, at most SHUFFLE_FORESEE_MOST. A slot is
 * given by the place that its input has now; UINT64_MAX stands for an input that is not in a slot
 * yet. Returns the number of steps foreseen. */
unsigned shuffle_foresee(const struct shuffle *shuffle, unsigned steps, uint64_t *slots);

#endif
