/* SPDX-License-Identifier: MIT
 *
 * Finds the steps at which a lane (a sequence of samples) returns the requested samples
 * ("targets"); see locate.h. For this purpose, the draws from the lane's shuffle buffer are
 * computed from its start. Only slots with requested samples are recorded. */
#include "reader/locate.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"

/* ---- Targets and comings --------------------------------------------------------------------- */

/* Makes room for one more element of `size` bytes in a list. Returns the list, which may have
 * moved, or NULL if memory is exhausted. */
static void *locate_replay_make_room(void *list, size_t count, size_t *capacity, size_t size,
                                     struct sheaf_error *err)
{
    if (count == *capacity) {
        *capacity = 2 * count + 16;
        list = reallocarray(list, *capacity, size);
    }
    if (list == NULL)
        err_memory(err, *capacity * size);
    return list;
}

int targets_add(struct targets *t, uint32_t lane, uint64_t input, size_t asked,
                struct sheaf_error *err)
{
    struct locate_target *list = locate_replay_make_room(t->list, t->count, &t->capacity,
                                                         sizeof(*list), err);

    if (list == NULL)
        return SHEAF_ERR_MEMORY;
    t->list = list;
    t->list[t->count++] = (struct locate_target){ lane, input, asked, UINT64_MAX };
    return SHEAF_OK;
}

static int by_input(const void *x, const void *y)
{
    const struct locate_target *a = x, *b = y;

    if (a->lane != b->lane)
        return a->lane < b->lane ? -1 : 1;
    return (a->input > b->input) - (a->input < b->input);
}

void targets_sort(struct targets *t)
{
    if (t->count != 0)
        qsort(t->list, t->count, sizeof(t->list[0]), by_input);
}

size_t targets_of_lane(const struct locate_target *first, const struct locate_target *end)
{
    const struct locate_target *t = first;

    while (t < end && t->lane == first->lane)
        t++;
    return (size_t)(t - first);
}

int comings_add(struct comings *c, uint32_t lane, uint64_t step, size_t asked,
                struct sheaf_error *err)
{
    const uint32_t lanes = c->order.lanes, world = c->member.world_size;
    struct sheaf_coming *list = locate_replay_make_room(c->list, c->count, &c->capacity,
                                                        sizeof(*list), err);

    if (list == NULL)
        return SHEAF_ERR_MEMORY;
    c->list = list;
    c->list[c->count++] = (struct sheaf_coming){
        .asked = asked, .sample = step * lanes + lane, .rank = lane % world,
        .ordinal = step * (lanes / world) + lane / world,
    };
    return SHEAF_OK;
}

/* ---- Replay ---------------------------------------------------------------------------------- */

/* State while the draws of a lane (a sequence of samples) are computed again. The requested samples
 * ("targets") are in the order in which they enter the shuffle buffer. */
struct replay {
    struct shuffle shuffle;
    uint64_t step;
    struct locate_target *next, *end;   /* targets that are not in the buffer yet */
    /* For each slot of the shuffle buffer: the first target (request for a sample) whose sample is
     * in this slot. NULL if the sample in the slot was not requested. */
    struct locate_target **holders;
    size_t inside;                      /* number of slots that hold a target */
};

/* Sets the step of the target `first`, and of the following targets that request the same sample.
 * (A target is a request for a sample.) Returns the first target that requests another sample. */
static struct locate_target *pass(const struct replay *r, struct locate_target *first,
                                  uint64_t step)
{
    struct locate_target *t = first;

    for (; t < r->end && t->input == first->input; t++)
        t->step = step;
    return t;
}

static void locate_replay_enter(struct replay *r, uint64_t slot)
{
    r->holders[slot] = r->next;
    r->next = pass(r, r->next, UINT64_MAX);
    r->inside++;
}

static void locate_replay_leave(struct replay *r, uint64_t slot)
{
    if (r->holders[slot] == NULL)
        return;
    pass(r, r->holders[slot], r->step);
    r->holders[slot] = NULL;
    r->inside--;
}

static void replay_step(struct replay *r)
{
    const struct shuffle_step step = shuffle_next(&r->shuffle);

    locate_replay_leave(r, step.slot);
    if (!step.refill) {
        r->holders[step.slot] = r->holders[step.last];
        r->holders[step.last] = NULL;
    } else if (r->next < r->end && r->next->input == step.input) {
        locate_replay_enter(r, step.slot);
    }
    r->step++;
}

/* Computes draws until sample number `input` of the lane (a sequence of samples) enters the shuffle
 * buffer. Until then, the buffer has no requested sample and stays full. So it is enough to advance
 * the random generator.
 *
 * Nearly all the time of a search is spent here. So the generator is copied to a local variable,
 * which the compiler keeps in registers. */
static void skip_to(struct replay *r, uint64_t input)
{
    struct shuffle *s = &r->shuffle;
    const uint64_t steps = input - s->next, filled = s->filled;
    struct rng rng = s->rng;

    for (uint64_t i = 0; i < steps; i++)
        (void)rng_below(&rng, filled);
    s->rng = rng;
    s->next = input;
    r->step += steps;
}

/* Sets the step at which each requested sample (target) is returned, for a lane without a shuffle
 * buffer. Such a lane (a sequence of samples) returns its samples in order. */
static void emit_in_order(struct replay *r, uint64_t limit)
{
    while (r->next < r->end && r->next->input < limit)
        r->next = pass(r, r->next, r->next->input);
}

int locate_replay(const struct shuffle *shuffle, struct locate_target *targets, size_t count,
                  uint64_t limit, struct sheaf_error *err)
{
    const uint64_t filled = shuffle->filled;
    struct replay r = { .shuffle = *shuffle, .next = targets, .end = targets + count };

    if (filled == 1) {
        emit_in_order(&r, limit);
        return SHEAF_OK;
    }
    r.holders = calloc(filled, sizeof(r.holders[0]));
    if (r.holders == NULL)
        return err_memory(err, filled * sizeof(r.holders[0]));
    while (r.next < r.end && r.next->input < filled)
        locate_replay_enter(&r, r.next->input);
    while (r.step < limit && (r.inside != 0 || r.next < r.end)) {
        if (r.inside == 0 && r.next->input - filled >= limit)
            break;                      /* The sample enters the buffer too late. */
        if (r.inside == 0)
            skip_to(&r, r.next->input);
        replay_step(&r);
    }
    free(r.holders);
    return SHEAF_OK;
}
