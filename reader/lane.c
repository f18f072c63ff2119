/* SPDX-License-Identifier: MIT
 *
 * A lane from its beginning to its end; see lane.h. */
#include "reader/lane.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"

/* One slot of so many is worth an early sample. */
#define EARLY_OF_SLOTS 16u

/* ---- Begin and end -------------------------------------------------------------------------- */

/* The order of the intakes, `steps` steps into the epoch. */
static int begin_intakes(const struct feed *feed, struct lane *lane, uint64_t steps,
                         bool is_ahead, struct sheaf_error *err)
{
    uint64_t early = 0;

    if (feed->draws) {      /* the draws pass through one slot from here on */
        struct shuffle *s = &lane->shuffle;

        s->inputs -= MIN(steps, s->inputs);
        s->filled = s->next = MIN(s->inputs, 1);
    } else if (!is_ahead && !feed->dataset->is_stream && feed->dataset->codec == NULL) {
        /* With a codec they would bring whole blocks along. */
        early = MIN(INTAKES_EARLY / feed->lane_count, lane->shuffle.filled / EARLY_OF_SLOTS);
    }
    lane->slot_count = lane->shuffle.filled;
    if (feed->draws || feed->dataset->is_stream || (steps == 0 && early == 0)) {
        intakes_begin(&lane->intakes, &lane->shuffle);
        return SHEAF_OK;
    }
    return intakes_replay(&lane->intakes, &lane->shuffle, steps, early, err);
}

struct lane_course lane_course_of(const struct feed *feed, uint32_t number)
{
    return (struct lane_course){ number, &feed->order, &feed->line,
                                 feed->dataset->is_stream ? (struct order_lane){ 0 }
                                 : dataset_lane(feed->dataset, &feed->order, number), false };
}

int lane_begin(struct feed *feed, struct lane *lane, struct prefetch *prefetch,
               const struct lane_course *course, uint64_t steps, struct sheaf_error *err)
{
    int code;

    memset(lane, 0, sizeof(*lane));
    lane->prefetch = prefetch;
    lane->intakes.range = course->range;
    shuffle_begin(&lane->shuffle, course->order, course->number,
                  feed->dataset->is_stream ? UINT64_MAX
                                           : order_lane_inputs(&lane->intakes.range));
    code = prefetch_begin(feed, prefetch, course->number, course->line, &lane->intakes,
                          &lane->shuffle, steps, err);
    if (code == SHEAF_OK)
        code = begin_intakes(feed, lane, steps, course->is_ahead, err);
    if (code != SHEAF_OK)
        return code;
    lane->early_left = lane->intakes.early;
    lane->fill_left = lane->intakes.fill;
    lane->slots = calloc(lane->slot_count + 1, sizeof(lane->slots[0]));
    lane->resident.slots = lane->slots;
    lane->resident.slot_count = lane->slot_count;
    return lane->slots != NULL ? SHEAF_OK
                               : err_memory(err, lane->slot_count * sizeof(lane->slots[0]));
}

void lane_cancel(struct lane *lane)
{
    recalls_cancel(&lane->recalls);
}

void lane_clear(struct feed *feed, struct lane *lane)
{
    for (uint64_t i = 0; lane->slots != NULL && i < lane->slot_count; i++)
        item_free(&lane->slots[i], feed->frames);
    recalls_clear(feed, &lane->recalls);
    resident_close(&lane->resident);
    intakes_free(&lane->intakes);
    free(lane->slots);
    memset(lane, 0, sizeof(*lane));
}

int lane_foresee(struct lane *lane, struct sheaf_error *err)
{
    return resident_open(&lane->resident, &lane->shuffle, err);
}

uint64_t lane_table_bytes(const struct lane *lane)
{
    const uint64_t numbers = lane->intakes.fill_slots == NULL ? 0 : 2 * lane->slot_count;

    return lane->slot_count * sizeof(lane->slots[0]) + numbers * sizeof(uint64_t);
}

/* ---- Taking in ------------------------------------------------------------------------------ */

/* Takes the next intake into a slot. */
static int take_in(struct feed *feed, struct lane *lane, uint64_t slot, struct sheaf_error *err)
{
    const int code = prefetch_take(feed, lane->prefetch, &lane->slots[slot], err);

    if (code == SHEAF_OK && feed->own_frames)
        resident_settle(&lane->resident, feed, slot);
    return code;
}

/* Fills the next slot at the lane's start. */
static int fill_slot(struct feed *feed, struct lane *lane, struct sheaf_error *err)
{
    const uint64_t k = lane->intakes.fill - lane->fill_left;
    const uint64_t slot = lane->intakes.fill_slots != NULL ? lane->intakes.fill_slots[k] : k;
    const int code = take_in(feed, lane, slot, err);

    lane->fill_left -= code == SHEAF_OK;
    return code;
}

void lane_fill_ahead(struct feed *feed, struct lane *lane)
{
    struct sheaf_error ignored;

    /* Without frames of their own, items are in a chunk, which ends with its last one. */
    if (feed->own_frames && lane->fill_left != 0 && prefetch_is_here(lane->prefetch))
        (void)fill_slot(feed, lane, &ignored);
}

/* Fills the slots at the lane's start.  A stream may end before they are full. */
static int fill_slots(struct feed *feed, struct lane *lane, struct sheaf_error *err)
{
    while (lane->fill_left != 0) {
        const int code = fill_slot(feed, lane, err);

        if (code == SHEAF_END) {
            const uint64_t k = lane->intakes.fill - lane->fill_left;

            lane->shuffle.filled = lane->shuffle.inputs = lane->shuffle.next = k;
            lane->fill_left = 0;
            return SHEAF_OK;
        }
        if (code != SHEAF_OK)
            return code;
    }
    return SHEAF_OK;
}

/* Fills the slot that was emptied last.  If the stream has ended, the last slot moves into it. */
static int refill_slot(struct feed *feed, struct lane *lane, struct sheaf_error *err)
{
    struct shuffle *s = &lane->shuffle;
    const int code = lane->refill_due ? take_in(feed, lane, lane->refill_slot, err) : SHEAF_OK;

    if (code == SHEAF_END) {
        s->inputs = --s->next;
        s->filled--;
        lane->slots[lane->refill_slot] = lane->slots[s->filled];
        memset(&lane->slots[s->filled], 0, sizeof(lane->slots[0]));
    } else if (code != SHEAF_OK) {
        return code;
    }
    lane->refill_due = false;
    return SHEAF_OK;
}

/* ---- Emitting ------------------------------------------------------------------------------- */

/* Which samples the lane gives next is known already: first their slots come into the cache, then,
 * of the third from now, its bytes and the head of its piece, while the caller is busy with
 * those before.  It is advice: where a stream ends sooner than was thought, it begins anew. */
static void fetch_ahead(struct lane *lane, uint64_t drawn)
{
    struct ahead *a = &lane->ahead;
    const uint8_t *head;

    if (a->count != 0 && a->slots[a->first] == drawn) {
        a->first = (a->first + 1) % LANE_AHEAD;
        a->count--;
    } else {
        a->shuffle = lane->shuffle;
        a->count = 0;
    }
    while (a->count < LANE_AHEAD && a->shuffle.filled > 1) {
        const uint64_t slot = shuffle_next(&a->shuffle).slot;

        a->slots[(a->first + a->count++) % LANE_AHEAD] = slot;
        __builtin_prefetch(&lane->slots[slot]);
        __builtin_prefetch((const uint8_t *)&lane->slots[slot + 1] - 1);    /* on two lines */
    }
    head = a->count == LANE_AHEAD ? lane->slots[a->slots[(a->first + 2) % LANE_AHEAD]].data : NULL;
    if (head == NULL)
        return;
    head -= HEAP_HEAD_BYTES;
    __builtin_prefetch(head);
    __builtin_prefetch(head + 64);
    __builtin_prefetch(head + 128);
}

/* One step of the shuffle buffer. */
static void emit(struct lane *lane, struct item *item)
{
    const struct shuffle_step step = shuffle_next(&lane->shuffle);

    *item = lane->slots[step.slot];
    resident_step(&lane->resident, &step, item);
    memset(&lane->slots[step.slot], 0, sizeof(*item));
    if (step.refill) {
        lane->refill_due = true;
        lane->refill_slot = step.slot;
    } else if (step.slot != step.last) {
        lane->slots[step.slot] = lane->slots[step.last];
        memset(&lane->slots[step.last], 0, sizeof(*item));
    }
    fetch_ahead(lane, step.slot);
}

/* The next item, deferred or not. */
static int next_item(struct feed *feed, struct lane *lane, struct item *item,
                     struct sheaf_error *err)
{
    int code;

    if (lane->early_left != 0) {        /* it is emitted as it comes */
        code = prefetch_take(feed, lane->prefetch, item, err);
        lane->early_left -= code == SHEAF_OK;
        return code;
    }
    code = fill_slots(feed, lane, err);
    if (code == SHEAF_OK)
        code = refill_slot(feed, lane, err);
    if (code != SHEAF_OK)
        return code;
    if (lane->shuffle.filled == 0)
        return SHEAF_END;
    emit(lane, item);
    return SHEAF_OK;
}

/* Begins to read the deferred samples that are drawn soon. */
static void look_ahead(struct feed *feed, struct lane *lane)
{
    const unsigned window = MAX(RECALLS / feed->lane_count, 2);
    uint64_t slots[SHUFFLE_FORESEE_MOST];
    unsigned count;

    if (lane->resident.deferred == 0)
        return;
    resident_recall(&lane->resident, feed, &lane->recalls);
    if (lane->foreseen != 0) {
        lane->foreseen--;
        return;
    }
    lane->foreseen = window / 4;
    count = shuffle_foresee(&lane->shuffle, window, slots);
    for (unsigned i = 0; i < count; i++)
        if (slots[i] != UINT64_MAX && lane->slots[slots[i]].deferred
            && lane->slots[slots[i]].recall == NULL)
            recalls_ahead(feed, &lane->recalls, &lane->slots[slots[i]]);
}

/* Reads what is pending. */
static int recall(struct feed *feed, struct lane *lane, struct item *item,
                  struct sheaf_error *err)
{
    const bool repeats = lane->pending.repeats;
    int code;

    code = recalls_take(feed, &lane->recalls, &lane->pending, item, err);
    if (code != SHEAF_OK)
        return code;
    item->repeats = repeats;
    memset(&lane->pending, 0, sizeof(lane->pending));
    return SHEAF_OK;
}

int lane_next(struct feed *feed, struct lane *lane, struct item *item, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    if (!lane->pending.deferred) {
        code = next_item(feed, lane, item, err);
        if (code == SHEAF_OK && item->deferred)
            lane->pending = *item;
    }
    if (code == SHEAF_OK && lane->pending.deferred)
        code = recall(feed, lane, item, err);
    if (code == SHEAF_OK)
        look_ahead(feed, lane);
    return code;
}

int lane_repeat(struct feed *feed, struct lane *lane, const struct order_run *record,
                struct item *item, struct sheaf_error *err)
{
    if (!lane->pending.deferred)
        lane->pending = (struct item){ .deferred = true, .repeats = true,
                                       .shard = record->shard, .record = record->record };
    return recall(feed, lane, item, err);
}

bool lane_has_ended(const struct lane *lane)
{
    return lane->early_left == 0 && lane->shuffle.filled == 0;
}
