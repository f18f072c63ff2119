/* SPDX-License-Identifier: MIT
 *
 * The shuffle buffer of one lane, working on numbers: decides which slot is emitted next and which
 * input replaces it. The caller stores the content of the slots. lane.c stores samples, sequence.c
 * stores numbers of samples that are read when they are drawn, and foresight.c stores numbers to
 * know the order in advance. Like order.h, the functions have no side effects. */
#ifndef READER_SHUFFLE_H
#define READER_SHUFFLE_H

#include "base/rng.h"
#include "reader/order/order.h"

/* The state of a shuffle. At the start, input i is in slot i for all i below `filled`, which is at
 * most order_buffer_slots(). Later, each input below `next` is in a slot or was emitted. */
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
    /* If no input is left to refill the emptied slot: the input of slot `last` moves there, and
     * slot `last` is removed. It may be the emptied slot itself. */
    uint64_t last;
};

void shuffle_begin(struct shuffle *shuffle, const struct order *order, uint32_t lane,
                   uint64_t inputs);

/* Takes the next step of the shuffle. It must not be called if `filled` is 0, because the lane has
 * then ended. */
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

/* Takes one step. slots[i] is the input in slot i, and is updated. Returns the emitted input. */
static inline uint64_t shuffle_draw(struct shuffle *s, uint64_t *slots)
{
    const struct shuffle_step step = shuffle_next(s);
    const uint64_t drawn = slots[step.slot];

    slots[step.slot] = step.refill ? step.input : slots[step.last];
    return drawn;
}

/* Replays `steps` steps from the start. Afterwards slots[i] is the input in slot i. `slots` must
 * have room for order_buffer_slots() numbers. */
void shuffle_replay(struct shuffle *shuffle, uint64_t steps, uint64_t *slots);

#define SHUFFLE_FORESEE_MOST 32u

/* Foresees the next `steps` steps, at most SHUFFLE_FORESEE_MOST. Step i will emit some input: sets
 * slots[i] to the slot in which this input is now, or to UINT64_MAX if the input is not in the
 * buffer yet. Returns the number of steps foreseen. */
unsigned shuffle_foresee(const struct shuffle *shuffle, unsigned steps, uint64_t *slots);

#endif
