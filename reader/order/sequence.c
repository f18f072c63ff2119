/* SPDX-License-Identifier: MIT
 *
 * Computes the sequence in which a lane reads its samples; see sequence.h. */
#include "reader/order/sequence.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"

uint64_t sequence_drawn(struct sequence *s, uint64_t position)
{
    while (s->known <= position)
        s->drawn[s->known++ % SEQUENCE_BACK] = shuffle_draw(&s->shuffle, s->held);
    return s->drawn[position % SEQUENCE_BACK];
}

void sequence_begin(struct sequence *s, const struct shuffle *shuffle)
{
    s->fill = shuffle->filled;
    s->after = shuffle->next;
    s->count = s->fill + (shuffle->inputs - s->after);
}

struct fill {
    uint64_t input, slot;
};

static int compare_fill(const void *a, const void *b)
{
    const uint64_t x = ((const struct fill *)a)->input, y = ((const struct fill *)b)->input;

    return x < y ? -1 : x > y;
}

/* Sorts the inputs in the shuffle buffer by their position in the line (the sequence of samples
 * before shuffling). So files are read from start to end when the buffer is filled. */
static void sort_fill(struct sequence *s, const uint64_t *held, struct fill *fills)
{
    for (uint64_t i = 0; i < s->fill; i++)
        fills[i] = (struct fill){ .input = held[i], .slot = i };
    qsort(fills, s->fill, sizeof(fills[0]), compare_fill);
    for (uint64_t i = 0; i < s->fill; i++) {
        s->fill_inputs[i] = fills[i].input;
        s->fill_slots[i] = fills[i].slot;
    }
}

int sequence_resume(struct sequence *s, struct shuffle *shuffle, uint64_t steps,
                    uint64_t *early_inputs, uint64_t *early, struct sheaf_error *err)
{
    const uint64_t slots = shuffle->filled;
    uint64_t *held = calloc(slots + 1, sizeof(held[0]));
    struct fill *fills = calloc(slots + 1, sizeof(fills[0]));
    int code = SHEAF_OK;

    s->fill_inputs = calloc(slots + 1, sizeof(s->fill_inputs[0]));
    s->fill_slots = calloc(slots + 1, sizeof(s->fill_slots[0]));
    if (held == NULL || fills == NULL || s->fill_inputs == NULL || s->fill_slots == NULL) {
        code = err_memory(err, slots * 40);
        goto out;
    }
    shuffle_replay(shuffle, steps, held);
    *early = MIN(*early, shuffle->filled);
    for (uint64_t i = 0; i < *early; i++)
        early_inputs[i] = shuffle_draw(shuffle, held);
    sequence_begin(s, shuffle);
    sort_fill(s, held, fills);
out:
    free(held);
    free(fills);
    return code;
}

int sequence_draw(struct sequence *s, const struct shuffle *shuffle, uint64_t steps,
                  struct sheaf_error *err)
{
    s->held = calloc(1, sequence_held_bytes(shuffle->filled));
    if (s->held == NULL)
        return err_memory(err, sequence_held_bytes(shuffle->filled));
    s->drawn = s->held + shuffle->filled + 1;
    s->shuffle = *shuffle;
    shuffle_replay(&s->shuffle, steps, s->held);
    s->count = shuffle->inputs - MIN(steps, shuffle->inputs);
    return SHEAF_OK;
}

void sequence_free(struct sequence *s)
{
    free(s->fill_inputs);
    free(s->fill_slots);
    free(s->held);
    s->fill_inputs = s->fill_slots = s->held = NULL;
}
