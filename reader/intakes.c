/* SPDX-License-Identifier: MIT
 *
 * The intakes of a lane; see intakes.h. */
#include "reader/intakes.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"

uint64_t intakes_count(const struct intakes *in)
{
    return in->early + in->fill + (in->inputs - in->after);
}

static uint64_t input_of(const struct intakes *in, uint64_t intake)
{
    if (intake < in->early)
        return in->early_inputs[intake];
    if (intake - in->early >= in->fill)
        return in->after + (intake - in->early - in->fill);
    return in->fill_inputs == NULL ? intake : in->fill_inputs[intake - in->early];
}

uint64_t intakes_place(const struct intakes *in, uint64_t intake)
{
    return order_lane_place(&in->range, input_of(in, intake));
}

bool intakes_repeat(const struct intakes *in, uint64_t intake)
{
    return order_lane_repeats(&in->range, input_of(in, intake));
}

void intakes_begin(struct intakes *in, const struct shuffle *shuffle)
{
    in->inputs = shuffle->inputs;
    in->early = 0;
    in->fill = shuffle->filled;
    in->after = shuffle->next;
}

struct fill {
    uint64_t input, slot;
};

static int compare_fill(const void *a, const void *b)
{
    const uint64_t x = ((const struct fill *)a)->input, y = ((const struct fill *)b)->input;

    return x < y ? -1 : x > y;
}

/* Notes what the slots hold in the order of the line, so that it is fetched in one pass. */
static void sort_fill(struct intakes *in, const uint64_t *held, struct fill *fills)
{
    for (uint64_t i = 0; i < in->fill; i++)
        fills[i] = (struct fill){ .input = held[i], .slot = i };
    qsort(fills, in->fill, sizeof(fills[0]), compare_fill);
    for (uint64_t i = 0; i < in->fill; i++) {
        in->fill_inputs[i] = fills[i].input;
        in->fill_slots[i] = fills[i].slot;
    }
}

int intakes_replay(struct intakes *in, struct shuffle *shuffle, uint64_t steps, uint64_t early,
                   struct sheaf_error *err)
{
    const uint64_t slots = shuffle->filled;
    uint64_t *held = calloc(slots + 1, sizeof(held[0]));
    struct fill *fills = calloc(slots + 1, sizeof(fills[0]));
    int code = SHEAF_OK;

    in->fill_inputs = calloc(slots + 1, sizeof(in->fill_inputs[0]));
    in->fill_slots = calloc(slots + 1, sizeof(in->fill_slots[0]));
    if (held == NULL || fills == NULL || in->fill_inputs == NULL || in->fill_slots == NULL) {
        code = err_memory(err, slots * 40);
        goto out;
    }
    shuffle_replay(shuffle, steps, held);
    early = MIN(early, shuffle->filled);
    for (uint64_t i = 0; i < early; i++)
        in->early_inputs[i] = shuffle_draw(shuffle, held);
    intakes_begin(in, shuffle);
    in->early = early;
    sort_fill(in, held, fills);
out:
    free(held);
    free(fills);
    return code;
}

void intakes_free(struct intakes *in)
{
    free(in->fill_inputs);
    free(in->fill_slots);
    in->fill_inputs = in->fill_slots = NULL;
}
