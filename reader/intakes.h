/* SPDX-License-Identifier: MIT
 *
 * The intakes of a lane: what it takes in, and in which order.
 *
 * An INTAKE is one item that a lane takes in: first what fills its slots, then its further inputs
 * one by one.  The first samples that it emits need not wait for the slots to be filled: the order
 * is known, so they are fetched by themselves, as its EARLY intakes, and the slots are filled with
 * what they hold after that.  Pure. */
#ifndef READER_INTAKES_H
#define READER_INTAKES_H

#include "reader/shuffle.h"

#define INTAKES_EARLY 32u       /* early ones, at most */

struct intakes {
    struct order_lane range;
    uint64_t inputs;            /* of the lane; UINT64_MAX: not known, of a stream */
    uint64_t early;             /* the first intakes: they are emitted without a slot; */
    uint64_t early_inputs[INTAKES_EARLY];
    uint64_t fill;              /* the next: they fill the slots */
    uint64_t after;             /* the input of the intake after these */
    uint64_t *fill_inputs;      /* replayed: the inputs that fill the slots, ascending, */
    uint64_t *fill_slots;       /* and the slots that they go into; NULL: input i, slot i */
};

/* Of a lane at its start.  `range` is set. */
void intakes_begin(struct intakes *intakes, const struct shuffle *shuffle);

/* Of a lane `steps` steps later, the next `early` of which, or as many as there are, are to be
 * emitted early.  The shuffle is moved on by all of them. */
int intakes_replay(struct intakes *intakes, struct shuffle *shuffle, uint64_t steps,
                   uint64_t early, struct sheaf_error *err);

void intakes_free(struct intakes *intakes);

/* How many there are, and which place on the line one of them is. */
uint64_t intakes_count(const struct intakes *intakes);
uint64_t intakes_place(const struct intakes *intakes, uint64_t intake);
/* Whether that is a sample which comes once more. */
bool intakes_repeat(const struct intakes *intakes, uint64_t intake);

#endif
