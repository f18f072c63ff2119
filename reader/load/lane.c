/* SPDX-License-Identifier: MIT
 *
 * A lane from its beginning to its end; see lane.h. A lane is one of the equal sequences into which
 * an epoch is divided. */
#include "reader/load/lane.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"

/* At the start of a lane (a sequence of samples), some samples are returned before the shuffle
 * buffer is full, and each of them is read alone. Their number is at most the size of the buffer
 * divided by EARLY_OF_SLOTS. */
#define EARLY_OF_SLOTS 16u
/* Each draw takes a sample from a slot of the shuffle buffer. SLOTS_AHEAD draws before a slot is
 * used, it is loaded into the CPU's cache. This is possible because the shuffle can compute draws
 * in advance. */
#define SLOTS_AHEAD    8u

/* ---- Begin and end -------------------------------------------------------------------------- */

struct lane_course lane_course_of(const struct loader *l, uint32_t number)
{
    return (struct lane_course){ number, &l->order, &l->line,
                                 l->dataset->is_stream ? (struct order_lane){ 0 }
                                 : dataset_lane(l->dataset, &l->order, number), false };
}

/* Marks the drawn sample `due` as not read yet: the shuffle buffer had only its number. Stores the
 * shard and the record that must be read. */
static void set_due(struct due *due, uint32_t shard, uint64_t record, bool repeats)
{
    *due = (struct due){ .shard = shard,
                         .run = { .first = record, .count = 1, .repeats = repeats } };
}

static void set_due_input(const struct lane *lane, struct due *due, uint64_t input)
{
    const struct order_lane *range = &lane->sequence.range;
    const struct order_run run = order_line_locate(lane->line, order_lane_place(range, input));

    set_due(due, run.shard, run.record, order_lane_repeats(range, input));
}

/* Returns the drawn sample that will be returned after `i` other drawn samples. */
static struct due *due_at(const struct lane *lane, unsigned i)
{
    return &lane->due[(lane->first + i) & lane->due_mask];
}

/* Returns the number of elements of a lane's ring of drawn samples, which is a power of two. */
static unsigned due_count(const struct loader *l)
{
    unsigned count = 1;

    while (count < l->lead)
        count *= 2;
    return count;
}

static int make_due(const struct loader *l, struct lane *lane, struct sheaf_error *err)
{
    lane->due = calloc(due_count(l), sizeof(lane->due[0]));
    lane->due_mask = due_count(l) - 1;
    return lane->due == NULL ? err_memory(err, due_count(l) * sizeof(lane->due[0])) : SHEAF_OK;
}

/* Begins the sequence in which the lane reads its samples. If an epoch is resumed, the first
 * `steps` samples of the lane have already been returned, and are left out. */
static int begin_sequence(const struct loader *l, struct lane *lane, uint64_t steps, bool is_ahead,
                          struct sheaf_error *err)
{
    const bool is_stream = l->dataset->is_stream;
    uint64_t inputs[LANE_DUE], early = 0;
    int code;

    if (l->keep == 0)
        return sequence_draw(&lane->sequence, &lane->shuffle, steps, err);
    /* With a codec, early reads would decompress whole blocks. */
    if (!is_ahead && !is_stream && l->dataset->codec == NULL)
        early = MIN(LANE_DUE / l->lane_count, lane->shuffle.filled / EARLY_OF_SLOTS);
    lane->slot_count = lane->shuffle.filled;
    if (is_stream || (steps == 0 && early == 0)) {
        sequence_begin(&lane->sequence, &lane->shuffle);
        return SHEAF_OK;
    }
    code = sequence_resume(&lane->sequence, &lane->shuffle, steps, inputs, &early, err);
    for (uint64_t i = 0; code == SHEAF_OK && i < early; i++)
        set_due_input(lane, &lane->due[lane->count++], inputs[i]);
    lane->numbers = lane->count;
    return code;
}

int lane_begin(struct loader *l, struct lane *lane, struct queue *queue,
               const struct lane_course *course, uint64_t steps, struct sheaf_error *err)
{
    int code;

    memset(lane, 0, sizeof(*lane));
    lane->queue = queue;
    lane->line = course->line;
    lane->sequence.range = course->range;
    shuffle_begin(&lane->shuffle, course->order, course->number,
                  l->dataset->is_stream ? UINT64_MAX
                                        : order_lane_inputs(&lane->sequence.range));
    code = make_due(l, lane, err);
    if (code == SHEAF_OK)
        code = begin_sequence(l, lane, steps, course->is_ahead, err);
    if (code == SHEAF_OK)
        code = queue_begin(l, queue, course->number, course->line, &lane->sequence, err);
    if (code != SHEAF_OK)
        return code;
    if (l->keep <= 1)
        return SHEAF_OK;
    lane->slots = calloc(lane->slot_count + 1, sizeof(lane->slots[0]));
    lane->horizon.slots = lane->slots;
    lane->horizon.slot_count = lane->slot_count;
    return lane->slots == NULL ? err_memory(err, lane->slot_count * sizeof(lane->slots[0]))
                               : SHEAF_OK;
}

void lane_clear(struct loader *l, struct lane *lane)
{
    for (unsigned i = 0; i < lane->count; i++) {
        struct due *due = due_at(lane, i);

        loader_release(l, &due->ref);
        shards_drop(&l->shards, due->run.shard);
    }
    for (uint64_t i = 0; lane->slots != NULL && i < lane->slot_count; i++)
        loader_release(l, &lane->slots[i]);
    if (lane->queue != NULL)
        queue_clear(l, lane->queue);
    foresight_close(&lane->horizon.foresight);
    sequence_free(&lane->sequence);
    free(lane->slots);
    free(lane->due);
    memset(lane, 0, sizeof(*lane));
}

int lane_foresee(struct lane *lane, uint64_t most, struct sheaf_error *err)
{
    const int code = horizon_open(&lane->horizon, &lane->shuffle, most, err);

    if (lane->horizon.foresight.drawn != NULL)
        lane->queue->horizon = &lane->horizon;
    return code;
}

uint64_t lane_table_bytes(const struct loader *l, const struct lane *lane, uint64_t slots)
{
    const uint64_t own = due_count(l) * sizeof(struct due) + l->queue_ops->own_bytes
                         + sizeof(struct read);
    const uint64_t fill = lane->sequence.fill_slots == NULL ? 0 : 2 * (lane->slot_count + 1);

    return own + fill * sizeof(uint64_t)
           + (l->keep == 0 ? sequence_held_bytes(slots)
              : l->keep == 1 ? 0 : (slots + 1) * sizeof(struct ref));
}

static const struct ref empty = { .input = REF_EMPTY };

/* ---- The slots ------------------------------------------------------------------------------ */

/* Puts the next sample of the queue into its slot while the lane (a sequence of samples) starts. */
static int fill_slot(struct loader *l, struct lane *lane, bool waits, struct sheaf_error *err)
{
    struct ref *slot = &lane->slots[sequence_slot(&lane->sequence, lane->filled)];
    const int code = queue_take(l, lane->queue, waits, slot, err);

    lane->filled += code == SHEAF_OK;
    return code;
}

void lane_fill_ahead(struct loader *l, struct lane *lane)
{
    struct sheaf_error ignored;

    if (lane->slots != NULL && lane->filled < lane->sequence.fill)
        (void)fill_slot(l, lane, false, &ignored);
}

/* Fills the slots of the shuffle buffer when the lane (a sequence of samples) starts. If the lane
 * reads a stream, the stream may end before all slots are filled. */
static int fill_slots(struct loader *l, struct lane *lane, bool waits, struct sheaf_error *err)
{
    while (lane->filled < lane->sequence.fill) {
        const int code = fill_slot(l, lane, waits, err);

        if (code == SHEAF_END) {
            struct shuffle *s = &lane->shuffle;

            s->filled = s->inputs = s->next = lane->sequence.fill = lane->filled;
            return SHEAF_OK;
        }
        if (code != SHEAF_OK)
            return code;
    }
    return SHEAF_OK;
}

/* Puts the next sample of the sequence into the slot of the shuffle buffer from which a sample was
 * drawn last. If a stream has ended, there is no next sample. The sample in the last slot is then
 * moved into the empty slot instead. */
static int refill_slot(struct loader *l, struct lane *lane, bool waits, struct sheaf_error *err)
{
    struct shuffle *s = &lane->shuffle;
    const int code = lane->refill_due
        ? queue_take(l, lane->queue, waits, &lane->slots[lane->refill_slot], err) : SHEAF_OK;

    if (code == SHEAF_END) {
        s->inputs = --s->next;
        s->filled--;
        lane->slots[lane->refill_slot] = lane->slots[s->filled];
        lane->slots[s->filled] = empty;
    } else if (code != SHEAF_OK) {
        return code;
    }
    lane->refill_due = false;
    return SHEAF_OK;
}

/* Loads into the CPU's cache a slot of the shuffle buffer that will be used soon. The slot is known
 * because the shuffle can compute the coming draws. If a stream ends early, the draws are
 * different, and a wrong slot is loaded; this does no harm. */
static void fetch_slot(struct lane *lane)
{
    if (lane->ahead.inputs == 0) {
        lane->ahead = lane->shuffle;
        for (unsigned i = 0; i < SLOTS_AHEAD && lane->ahead.filled > 1; i++)
            (void)shuffle_next(&lane->ahead);
    }
    if (lane->ahead.filled > 1)
        __builtin_prefetch(&lane->slots[shuffle_next(&lane->ahead).slot], 1);
}

/* Takes one step of the shuffle buffer. */
static struct ref lane_draw(struct lane *lane)
{
    const struct shuffle_step step = shuffle_next(&lane->shuffle);
    const struct ref ref = lane->slots[step.slot];

    fetch_slot(lane);
    if (lane->queue->horizon != NULL)
        foresight_step(&lane->horizon.foresight, &step);
    lane->slots[step.slot] = empty;
    if (step.refill) {
        lane->refill_due = true;
        lane->refill_slot = step.slot;
    } else if (step.slot != step.last) {
        lane->slots[step.slot] = lane->slots[step.last];
        lane->slots[step.last] = empty;
    }
    return ref;
}

/* Draws the next sample of the lane (a sequence of samples) from its shuffle buffer. Sets *ref to
 * the sample in memory, or only to its number if the sample is not in memory. */
static int next_drawn(struct loader *l, struct lane *lane, bool waits, struct ref *ref,
                      struct sheaf_error *err)
{
    int code;

    if (lane->slots == NULL)
        return queue_take(l, lane->queue, waits, ref, err);
    code = fill_slots(l, lane, waits, err);
    if (code == SHEAF_OK)
        code = refill_slot(l, lane, waits, err);
    if (code != SHEAF_OK)
        return code;
    if (lane->shuffle.filled == 0)
        return SHEAF_END;
    *ref = lane_draw(lane);
    return SHEAF_OK;
}

/* ---- What is due ---------------------------------------------------------------------------- */

/* Loads the beginning of a sample's memory into the CPU's cache, because the sample will be
 * returned soon. This memory has the header of the allocation, the struct item, and the first bytes
 * of the record. */
static void fetch_lines(const struct item *item)
{
    const uint8_t *at = (const uint8_t *)item - HEAP_HEAD_BYTES;

    __builtin_prefetch(at);
    __builtin_prefetch(at + CACHE_LINE);
    __builtin_prefetch(at + 2 * CACHE_LINE);
    __builtin_prefetch(at + 3 * CACHE_LINE);
}

/* Makes one more draw, whose sample becomes due. */
static int lane_advance(struct loader *l, struct lane *lane, bool waits, struct sheaf_error *err)
{
    struct due *due = due_at(lane, lane->count);
    struct ref ref;
    const int code = next_drawn(l, lane, waits, &ref, err);

    if (code != SHEAF_OK)
        return code;
    if (ref.item == NULL) {
        set_due_input(lane, due, ref.input);
        lane->numbers++;
    } else {
        due->ref = ref;
        due->run.shard = NULL;
        if (lane->slots != NULL)
            fetch_lines(ref.item);
    }
    lane->count++;
    return SHEAF_OK;
}

/* Begins to read a drawn sample of which the lane has only the number. If the sample is needed now,
 * waits for its shard, and may use the reserve. Otherwise returns SHEAF_END if the shard is not
 * open yet, or if there is no memory for the read. */
static int begin_due(struct loader *l, struct lane *lane, struct due *due, bool needed,
                     struct sheaf_error *err)
{
    struct read *read;
    int code = SHEAF_OK;

    if (due->run.shard == NULL)
        code = shards_use(&l->shards, due->shard, needed, &due->run.shard, err);
    if (code == SHEAF_OK && !needed && !loader_shard_is_open(l, due->run.shard))
        return SHEAF_END;
    if (code == SHEAF_OK)
        code = loader_open_shard(l, due->run.shard, err);
    if (code == SHEAF_OK)
        code = loader_begin_alone(l, &due->run, needed ? LOADER_NOW : LOADER_SOON, &read, err);
    if (code == SHEAF_END && needed)
        return err_set(err, SHEAF_ERR_LIMIT, "%s: record %" PRIu64 " takes %" PRIu64 " bytes of "
                       "memory, but of the budget of %" PRIu64 " bytes %" PRIu64 " are in use",
                       l->dataset->urls[due->shard], due->run.first,
                       loader_alone_bytes(&due->run), l->budget.limit, l->budget.used);
    if (code != SHEAF_OK)
        return code;
    due->ref = (struct ref){ .item = read->table, .read = read };
    due->run.shard = NULL;
    read->taken = 1;
    lane->numbers--;
    return SHEAF_OK;
}

void lane_read_ahead(struct loader *l, struct lane *lane, bool waits)
{
    struct shard *shard = lane->count == 0 ? NULL : lane->due[lane->first].run.shard;
    struct sheaf_error ignored;

    if (waits && shard != NULL)
        (void)loader_open_shard(l, shard, &ignored);
    /* An error is ignored here. The sample is needed later, and the same error then occurs again
     * and is returned. */
    for (unsigned i = 0; i < MIN(lane->count, l->queued_most) && lane->numbers != 0; i++) {
        struct due *due = due_at(lane, i);

        if (due->ref.item == NULL && begin_due(l, lane, due, false, &ignored) != SHEAF_OK)
            return;
    }
}

/* Waits until the next sample of the lane (a sequence of samples) is in memory. If the sample has
 * an allocation of its own, the read that has brought it is no longer needed. So the lane's
 * reference to this read is dropped. */
static int bring(struct loader *l, struct lane *lane, struct due *due, struct sheaf_error *err)
{
    struct read *read;
    int code = SHEAF_OK;

    if (due->ref.item == NULL)
        code = begin_due(l, lane, due, true, err);
    if (code != SHEAF_OK)
        return code;
    read = due->ref.read;
    if (read == NULL)
        return SHEAF_OK;
    code = loader_wait(l, read, err);
    if (code == SHEAF_OK && read->table == NULL) {
        due->ref.read = NULL;
        loader_leave(l, read);
    }
    return code;
}

static inline int hand_out(struct loader *l, struct lane *lane, struct ref *ref,
                           struct sheaf_error *err)
{
    struct due *due = &lane->due[lane->first];
    const int code = bring(l, lane, due, err);

    if (code != SHEAF_OK)
        return code;
    *ref = due->ref;
    due->ref.item = NULL;
    lane->first = (lane->first + 1) & lane->due_mask;
    lane->count--;
    return SHEAF_OK;
}

bool lane_has_ended(const struct lane *lane)
{
    if (lane->slots != NULL)
        return lane->count == 0 && lane->shuffle.filled == 0 && !lane->refill_due;
    return lane->count == 0 && lane->queue->taken == lane->sequence.count;
}

int lane_next(struct loader *l, struct lane *lane, struct ref *ref, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    while (lane->count < l->lead) {
        code = lane_advance(l, lane, lane->count == 0, err);
        if (code != SHEAF_OK)
            break;
    }
    if (code == SHEAF_END && lane->slots == NULL)
        lane->sequence.count = lane->queue->taken;      /* A stream has ended. */
    if (lane->count == 0)
        return code;
    if (lane->numbers != 0)
        lane_read_ahead(l, lane, false);
    if (lane->queue->horizon != NULL)
        horizon_go_on(l, lane->queue);
    return hand_out(l, lane, ref, err);
}

int lane_repeat(struct loader *l, struct lane *lane, const struct order_run *record,
                struct ref *ref, struct sheaf_error *err)
{
    if (lane->due == NULL && make_due(l, lane, err) != SHEAF_OK)
        return SHEAF_ERR_MEMORY;
    if (lane->count == 0) {
        lane->first = 0;
        set_due(&lane->due[0], record->shard, record->record, true);
        lane->count = lane->numbers = 1;
    }
    return hand_out(l, lane, ref, err);
}
