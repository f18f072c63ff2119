/* SPDX-License-Identifier: MIT
 *
 * Computes the draws from a shuffle buffer that contains numbers; see shuffle.h, and ORDER.md,
 * section 4. */
#include "reader/order/shuffle.h"

#include "base/bytes.h"

void shuffle_begin(struct shuffle *s, const struct order *order, uint32_t lane, uint64_t inputs)
{
    rng_seed(&s->rng, RNG_LANE, order->seed, order->epoch, lane);
    s->inputs = inputs;
    s->filled = MIN(order_buffer_slots(order), inputs);
    s->next = s->filled;
}

void shuffle_replay(struct shuffle *s, uint64_t steps, uint64_t *slots)
{
    for (uint64_t i = 0; i < s->filled; i++)
        slots[i] = i;
    if (s->filled == 1 && steps <= s->inputs - s->next) {
        /* If samples are not shuffled, the buffer has one slot, and each draw takes the next
         * sample. So the state after `steps` draws can be computed without making each draw. */
        s->next += steps;
        slots[0] = s->next - 1;
        return;
    }
    while (steps-- > 0 && s->filled != 0)
        (void)shuffle_draw(s, slots);
}

/* A sample that was moved from slot to slot by draws that were computed in advance. Before these
 * draws, the sample was in slot `origin`. After them, it is in slot `slot`. */
struct moved {
    uint64_t slot, origin;
};

static uint64_t origin_of(const struct moved *moved, unsigned count, uint64_t slot)
{
    while (count-- > 0)
        if (moved[count].slot == slot)
            return moved[count].origin;
    return slot;
}

unsigned shuffle_foresee(const struct shuffle *shuffle, unsigned steps, uint64_t *slots)
{
    struct shuffle s = *shuffle;
    struct moved moved[SHUFFLE_FORESEE_MOST];
    unsigned i;

    for (i = 0; i < MIN(steps, SHUFFLE_FORESEE_MOST) && s.filled != 0; i++) {
        const struct shuffle_step step = shuffle_next(&s);

        slots[i] = origin_of(moved, i, step.slot);
        moved[i].origin = step.refill ? UINT64_MAX : origin_of(moved, i, step.last);
        moved[i].slot = step.slot;
    }
    return i;
}
