/* SPDX-License-Identifier: MIT
 *
 * Plans the reads of a queue; see stretch.h. */
#include "reader/load/stretch.h"

#include "base/bytes.h"
#include "reader/load/horizon.h"

#define READ_FIRST_BYTES ((uint64_t)64 << 10)     /* size of a lane's first read */
/* Largest gaps in bytes that are read together with the records around them.
 *
 * GAP_LOCAL is for local files. Copying more than 8 KiB from the kernel's cache costs more than
 * another system call. This was measured with records of 100 bytes. With a limit of 0, reading
 * every 10th record took twice as long as with 8 KiB. With a limit of 128 KiB, reading every
 * 1,000th record took three times as long.
 *
 * On a network file system or in an object store, each read takes a round trip, so gaps may be
 * larger. */
#define GAP_LOCAL         ((uint64_t)8 << 10)
#define GAP_NETWORK       ((uint64_t)256 << 10)
#define GAP_REMOTE        ((uint64_t)1 << 20)
#define QUEUE_RUNS        512u                    /* largest number of runs in a read of a queue */

/* The first reads of a lane are small, because its first sample would otherwise wait until many
 * other samples are read. If codec blocks are decompressed in parts, the first reads have the usual
 * size, because small reads would decompress the same block several times. */
uint64_t stretch_bytes(const struct loader *l, uint64_t planned)
{
    return loader_reads_in_steps(l) ? l->read_most
         : MIN(l->read_most, READ_FIRST_BYTES * (1 + planned));
}

/* Returns true if a frame (stored record) is too large for the shuffle buffer, because it would
 * take the room of many samples. The record of such a frame is read only when its sample is
 * drawn. */
static bool is_outsize(const struct loader *l, const struct index_section *s, uint64_t record)
{
    return s->offsets[record + 1] - s->offsets[record] > l->outsize_bytes;
}

/* Returns the offset in the shard's uncompressed bytes at which a read should end. The read begins
 * with `record` and should have about `bytes` bytes.
 *
 * In a shard with codec blocks, the read must end at the end of a block. Usually this is the last
 * block that ends within these bytes. If no block ends there, or if blocks are decompressed in
 * parts, this is the block in which the read begins. */
static uint64_t stop_of(const struct loader *l, const struct index_section *s, uint64_t record,
                        uint64_t bytes)
{
    const uint64_t begin = s->offsets[record], stop = begin + bytes;
    uint64_t block;

    if (s->blocks == NULL)
        return stop;
    if (loader_reads_in_steps(l))
        return s->blocks[index_block_of(s, begin) + 1].raw_offset;
    block = index_block_of(s, MIN(stop, s->offsets[s->samples]) - 1);
    return s->blocks[block].raw_offset > begin ? s->blocks[block].raw_offset
                                               : s->blocks[block + 1].raw_offset;
}

uint64_t stretch_gap(bool is_remote, bool is_network)
{
    return is_remote ? GAP_REMOTE : is_network ? GAP_NETWORK : GAP_LOCAL;
}

bool stretch_joins(const struct index_section *s, uint64_t last, uint64_t record, uint64_t gap)
{
    const uint64_t end = s->offsets[last] + index_frame_bytes(s, last);

    if (s->blocks != NULL)
        return index_block_of(s, s->offsets[record]) <= index_block_of(s, end - 1) + 1;
    return s->offsets[record] - end <= gap;
}

static uint64_t stretch_gap_of(const struct shard *shard)
{
    return stretch_gap(shard->object->is_remote, shard->owner->dataset->read_bytes != 0);
}

/* ---- The records of a read ------------------------------------------------------------------ */

void stretch_begin(struct stretch *t, const struct loader *l, struct shard *shard, uint64_t record,
                   uint64_t bytes, size_t gaps)
{
    const struct index_section *s = shard->section;

    t->loader = l;
    t->shard = shard;
    t->stop = stop_of(l, s, record, bytes);
    t->left = bytes - MIN(bytes, index_frame_bytes(s, record));
    t->gaps_left = gaps;
    t->runs[0] = (struct run){ .shard = shard, .first = record, .count = 1 };
    t->plan = (struct read_plan){ .runs = t->runs, .run_count = 1, .apart = loader_is_apart(l) };
    /* If a record is in several blocks, stretch_add adds no record to it. */
    if (extent_is_in_block(&t->runs[0]))
        t->plan.step_bytes = l->step_bytes[shard->object->is_remote];
}

bool stretch_add(struct stretch *t, uint64_t record, bool resumed, uint32_t skipped)
{
    const struct index_section *s = t->shard->section;
    struct run *last = &t->runs[t->plan.run_count - 1];
    const uint64_t end = last->first + last->count;
    const bool is_next = record == end && skipped == 0;
    bool joined;

    if (record < end || is_outsize(t->loader, s, record))
        return false;
    joined = is_next || ((!resumed || s->blocks != NULL)
                         && stretch_joins(s, end - 1, record, stretch_gap_of(t->shard)));
    /* A read from a remote shard, or from a shard with codec blocks, must be one range of bytes. So
     * it must end before a gap that is too large to be read. */
    if (!joined && (s->blocks != NULL || t->shard->object->is_remote || t->gaps_left == 0))
        return false;
    if (!joined) {
        t->stop += s->offsets[record] - s->offsets[end];
        t->gaps_left--;
    }
    if (s->offsets[record + 1] > t->stop || (!is_next && t->plan.run_count == t->run_most))
        return false;
    if (loader_reads_in_steps(t->loader)) {
        const uint64_t bytes = index_frame_bytes(s, record);

        if (bytes > t->left)
            return false;
        t->left -= bytes;
    }
    if (is_next)
        last->count++;
    else
        t->runs[t->plan.run_count++] = (struct run){ last->shard, record, 1, joined, last->repeats,
                                                     skipped };
    return true;
}

/* Plans the next read of a queue. `found` is the place of its first sample. This sample must be in
 * q->shard, which must be open. */
static void stretch_plan(const struct loader *l, const struct queue *q,
                         const struct order_run *found, struct stretch *t)
{
    struct sequence *sequence = q->sequence;
    const bool repeats = sequence_repeats(sequence, q->planned);
    uint64_t place = sequence_place(sequence, q->planned);
    struct order_run at = *found;
    uint32_t skipped = 0;

    stretch_begin(t, l, q->shard, at.record, stretch_bytes(l, q->planned), QUEUE_RUNS);
    t->runs[0].repeats = repeats;
    for (uint64_t p = q->planned + 1; p < sequence->count; p++) {
        const uint64_t next = sequence_place(sequence, p);
        const bool resumed = next != place + 1;

        if (!resumed && at.count > 1) {
            at.record++;
            at.count--;
        } else {
            at = order_line_locate(q->line, next);
        }
        place = next;
        if (at.shard != q->shard->number || sequence_repeats(sequence, p) != repeats
            || (q->horizon != NULL && !horizon_knows(q, p)))
            return;
        if (q->horizon != NULL && !horizon_wants(q, p)) {
            skipped++;
            continue;
        }
        if (!stretch_add(t, at.record, resumed, skipped))
            return;
        skipped = 0;
    }
}

/* ---- The queue ------------------------------------------------------------------------------ */

/* Takes a reference to a shard. Returns QUEUE_NO_SECTION if the memory budget has no room at the
 * moment for the index section of the shard. */
static int use_shard(struct loader *l, uint32_t number, struct shard **shard,
                     struct sheaf_error *err)
{
    const int code = shards_use(&l->shards, number, false, shard, err);

    return code == SHEAF_ERR_LIMIT ? QUEUE_NO_SECTION : code;
}

/* Begins to open the next shard of the lane (a sequence of samples) before its first record is
 * needed. So the lane need not wait for the shard later. If the budget has no room at the moment,
 * does nothing. The shard is then opened when its first record is needed. */
static void queue_open_next(struct loader *l, struct queue *q, uint64_t position)
{
    const uint64_t place = sequence_place(q->sequence, position);
    uint64_t after;
    uint32_t number;
    struct sheaf_error ignored;

    if (q->next != NULL || position < q->sequence->fill)
        return;
    after = order_line_leave(q->line, place);
    if (after - place >= q->sequence->count - position)
        return;
    number = order_line_locate(q->line, after).shard;
    if (number != q->shard->number)
        (void)use_shard(l, number, &q->next, &ignored);
}

/* Sets q->shard to the shard of `run`, and begins to open the shard that comes after it. Returns
 * QUEUE_NO_SECTION if the budget has no room for the index section of the shard at the moment. */
static int enter_shard(struct loader *l, struct queue *q, const struct order_run *run,
                       struct sheaf_error *err)
{
    int code = SHEAF_OK;

    /* The shard that was opened in advance may be the wrong one. The last sample of a lane may
     * repeat an earlier sample as padding, and the earlier sample can be in any shard. */
    while (q->shard != NULL && q->shard->number != run->shard) {
        shards_drop(&l->shards, q->shard);
        q->shard = q->next;
        q->next = NULL;
    }
    if (q->shard == NULL)
        code = use_shard(l, run->shard, &q->shard, err);
    if (code == SHEAF_OK)
        queue_open_next(l, q, q->planned);
    return code;
}

/* Skips the next positions of the sequence if their samples should not be in memory now. These
 * samples are read when they are drawn. Returns SHEAF_END at the end of the sequence, or if it
 * is not known yet when the next sample will be drawn. */
static int pass_unwanted(struct queue *q)
{
    while (q->horizon != NULL && q->planned < q->sequence->count) {
        if (!horizon_knows(q, q->planned))
            return SHEAF_END;
        if (horizon_wants(q, q->planned))
            break;
        q->planned++;
    }
    return q->planned == q->sequence->count ? SHEAF_END : SHEAF_OK;
}

/* Implements queue_ops.plan. */
static int plan_in_order(struct loader *l, struct queue *q, struct sheaf_error *err)
{
    struct run runs[QUEUE_RUNS];
    struct stretch t = { .runs = runs, .run_most = QUEUE_RUNS };
    struct order_run found;
    int code = pass_unwanted(q);

    if (code != SHEAF_OK)
        return code;
    found = order_line_locate(q->line, sequence_place(q->sequence, q->planned));
    code = enter_shard(l, q, &found, err);
    if (code == SHEAF_OK && q->is_ahead && !loader_shard_is_open(l, q->shard))
        return SHEAF_END;
    if (code == SHEAF_OK)
        code = loader_open_shard(l, q->shard, err);
    if (code != SHEAF_OK)
        return code;
    if (is_outsize(l, q->shard->section, found.record)) {
        q->planned++;
        return SHEAF_OK;
    }
    stretch_plan(l, q, &found, &t);
    /* A read in advance begins only if there is memory for two reads of its size. The memory for
     * the second read must be left for samples that are needed at once. */
    if (q->is_ahead && l->keep > 1 && heap_room(l->heap) < 2 * read_needs_of(&t.plan).pieces)
        return SHEAF_END;
    code = queue_begin_read(l, q, &t.plan, err);
    if (code == SHEAF_OK)
        q->shard->users += (unsigned)t.plan.run_count;
    return code;
}

const struct queue_ops queue_in_order = {
    .plan = plan_in_order, .pump = queue_pump_planned, .take = queue_take_planned,
};
