/* SPDX-License-Identifier: MIT
 *
 * Computes future draws of a lane (a sequence of samples) with a second shuffle; see foresight.h.
 * The second shuffle is a copy of the lane's own shuffle, and is some steps ahead.
 *
 * As long as new samples enter the buffer, each sample stays in its slot until it is drawn. When no
 * new sample is left, the shuffle also moves samples from slot to slot. The known step of a sample
 * is then moved together with the sample. By then, the steps of all remaining samples are known,
 * because the second shuffle is ahead by more steps than the buffer has slots. */
#include "reader/order/foresight.h"

#include <stdlib.h>

#include "base/error.h"

#define SPAN_OF_SLOTS 2u

uint64_t foresight_bytes(uint64_t slots)
{
    return slots * (3 + SPAN_OF_SLOTS) * sizeof(uint32_t);
}

bool foresight_is_possible(const struct shuffle *s)
{
    return s->filled <= UINT32_MAX / (3 + SPAN_OF_SLOTS)
           && s->inputs - s->next < UINT32_MAX - 2 * SPAN_OF_SLOTS * s->filled;
}

/* Records which sample this step draws. */
static void see_drawn(struct foresight *f, uint64_t slot, uint32_t step)
{
    if (f->came[slot] <= f->now)
        f->drawn[f->origin[slot]] = step;
    else
        f->coming[f->came[slot] % f->span] = step;
}

/* Makes one step of the second shuffle, which is a copy of the lane's shuffle that is some steps
 * ahead. Does nothing if the second shuffle has ended, or is already `span` steps ahead. */
static void foresight_see(struct foresight *f)
{
    struct shuffle_step step;

    if (f->ahead.filled == 0 || f->seen - f->now == f->span)
        return;
    step = shuffle_next(&f->ahead);
    see_drawn(f, step.slot, ++f->seen);
    if (step.refill) {
        f->came[step.slot] = f->seen;
        f->coming[f->seen % f->span] = FORESIGHT_LATER;
    } else {
        f->came[step.slot] = f->came[step.last];
        f->origin[step.slot] = f->origin[step.last];
    }
}

int foresight_open(struct foresight *f, const struct shuffle *shuffle, struct sheaf_error *err)
{
    const uint32_t slots = (uint32_t)shuffle->filled;
    uint32_t *tables = malloc(foresight_bytes(slots));

    if (tables == NULL)
        return err_memory(err, foresight_bytes(slots));
    *f = (struct foresight){ .ahead = *shuffle, .span = SPAN_OF_SLOTS * slots, .drawn = tables,
                             .came = tables + slots, .origin = tables + 2 * (size_t)slots,
                             .coming = tables + 3 * (size_t)slots };
    for (uint32_t i = 0; i < slots; i++) {
        f->drawn[i] = FORESIGHT_LATER;
        f->came[i] = 0;
        f->origin[i] = i;
    }
    for (uint32_t i = 0; i < f->span; i++)
        foresight_see(f);
    return SHEAF_OK;
}

void foresight_close(struct foresight *f)
{
    free(f->drawn);
    *f = (struct foresight){ .drawn = NULL };
}

void foresight_step(struct foresight *f, const struct shuffle_step *step)
{
    f->now++;
    f->drawn[step->slot] = step->refill ? f->coming[f->now % f->span] : f->drawn[step->last];
    foresight_see(f);
}
