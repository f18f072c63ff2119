/* SPDX-License-Identifier: MIT
 *
 * The shuffle buffer of one lane, as numbers: which slot is emitted next, and what takes its place.
 * The slots are the caller's: samples (lane.c), the numbers of samples that are not read yet
 * (lazy_shuffle.c), or just numbers, to know the order ahead.  Pure, like order.h. */
#ifndef READER_SHUFFLE_H
#define READER_SHUFFLE_H

#include "base/rng.h"
#include "reader/order/order.h"

/* Of `filled` slots, input i is in slot i at the start.
 *   filled <= order_buffer_slots();  inputs < next are in slots or were emitted. */
struct shuffle {
    struct rng rng;
    uint64_t filled;
    uint64_t next;                  /* the next input to come in */
    uint64_t inputs;
};

struct shuffle_step {
    uint64_t slot;                  /* emit what is in this slot */
    bool refill;                    /* then input `input` goes into it */
    uint64_t input;
    uint64_t last;                  /* else what is in slot `last` moves into it, and `last` is
                                       gone (it may be the slot itself) */
};

void shuffle_begin(struct shuffle *shuffle, const struct order *order, uint32_t lane,
                   uint64_t inputs);

/* Must not be called when filled == 0: the lane is then at its end. */
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

/* One step on numbers: slots[i] is the input in slot i.  Returns the input that is emitted. */
static inline uint64_t shuffle_draw(struct shuffle *s, uint64_t *slots)
{
    const struct shuffle_step step = shuffle_next(s);
    const uint64_t drawn = slots[step.slot];

    slots[step.slot] = step.refill ? step.input : slots[step.last];
    return drawn;
}

/* From its start, replays `steps` steps on numbers: slots[i] is afterwards the input in slot i.
 * `slots` has room for order_buffer_slots() numbers. */
void shuffle_replay(struct shuffle *shuffle, uint64_t steps, uint64_t *slots);

#define SHUFFLE_FORESEE_MOST 32u

/* Which slots the next `steps` steps emit, SHUFFLE_FORESEE_MOST at most, each slot by what is in it
 * now; UINT64_MAX stands for an input that is in none yet.  Returns how many steps there are. */
unsigned shuffle_foresee(const struct shuffle *shuffle, unsigned steps, uint64_t *slots);

#endif
