/* SPDX-License-Identifier: MIT
 *
 * Runs of records for a chunk; see stretch.h. */
#include "reader/view/stretch.h"

#include "base/bytes.h"

#define CHUNK_FIRST_BYTES ((uint64_t)64 << 10)     /* of a lane's first chunk */
/* Between records of one read.  What the kernel has in its cache costs more to copy beyond 8 KiB
 * than another call does (every 10th record of 100 bytes took twice as long without, every 1,000th
 * three times as long with 128 KiB), and it reads a disk ahead by itself; a network file system and
 * an object store have a round trip for each. */
#define GAP_LOCAL         ((uint64_t)8 << 10)
#define GAP_NETWORK       ((uint64_t)256 << 10)
#define GAP_REMOTE        ((uint64_t)1 << 20)

/* The first ones are small, so that the first sample does not wait for many, unless their block
 * would be unpacked again for the next. */
uint64_t stretch_bytes(const struct feed *feed, uint64_t planned)
{
    return feed->cuts_blocks ? feed->chunk_bytes
                             : MIN(feed->chunk_bytes, CHUNK_FIRST_BYTES * (1 + planned));
}

bool stretch_is_outsize(const struct feed *feed, const struct index_section *s, uint64_t record)
{
    return s->offsets[record + 1] - s->offsets[record] > feed->outsize_bytes;
}

/* What is left of a block, in even parts of `bytes` at most. */
static uint64_t stop_in_block(const struct index_section *s, uint64_t offset, uint64_t bytes)
{
    const uint64_t left = s->blocks[index_block_of(s, offset) + 1].raw_offset - offset;
    const uint64_t parts = (left + bytes - 1) / bytes;

    return offset + (left + parts - 1) / parts;
}

/* Where a chunk ends that begins with the record: after `bytes` or, as long as there is memory, at
 * the end of the codec block that passes them. */
static uint64_t stop_of(const struct feed *feed, const struct index_section *s, uint64_t record,
                        uint64_t bytes)
{
    const uint64_t begin = s->offsets[record], stop = begin + bytes;
    uint64_t block;

    if (s->blocks == NULL)
        return stop;
    if (feed->cuts_blocks)
        return stop_in_block(s, begin, bytes);
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

static uint64_t gap_of(const struct shard *shard)
{
    return stretch_gap(shard->object->is_remote, shard->owner->dataset->read_bytes != 0);
}

/* Adds a record, unless the chunk had better end before it: at *stop, which is further on if what
 * lies between is not read.  `resumed`: that was, before the position that the epoch goes on from,
 * and resuming reads no more than it must. */
static bool add(const struct feed *feed, uint64_t record, bool resumed, struct stretch *t,
                uint64_t *stop)
{
    const struct shard *shard = t->shard;
    const struct index_section *s = shard->section;
    struct run *last = &t->runs[t->run_count - 1];
    const uint64_t end = last->first + last->count;
    const bool is_next = record == end;
    bool joined;

    if (record < end || stretch_is_outsize(feed, s, record))
        return false;
    joined = is_next || ((!resumed || s->blocks != NULL)
                         && stretch_joins(s, end - 1, record, gap_of(shard)));
    if (!joined && (s->blocks != NULL || shard->object->is_remote))
        return false;           /* a chunk of one read */
    if (!joined)
        *stop += s->offsets[record] - s->offsets[end];
    if (s->offsets[record + 1] > *stop || (!is_next && t->run_count == STRETCH_RUNS))
        return false;
    if (is_next)
        last->count++;
    else
        t->runs[t->run_count++] = (struct run){ last->shard, record, 1, joined };
    t->count++;
    return true;
}

void stretch_plan(const struct feed *feed, const struct order_run *found, struct stretch *t)
{
    const uint64_t left = intakes_count(t->intakes) - t->planned;
    uint64_t place = intakes_place(t->intakes, t->planned);
    uint64_t stop = stop_of(feed, t->shard->section, found->record,
                            stretch_bytes(feed, t->planned));
    struct order_run at = *found;

    t->runs[0] = (struct run){ t->shard, found->record, 1, false };
    t->run_count = t->count = 1;
    while (t->count < left) {
        const uint64_t next = intakes_place(t->intakes, t->planned + t->count);
        const bool resumed = next != place + 1;

        if (!resumed && at.count > 1) {
            at.record++;
            at.count--;
        } else {
            at = order_line_locate(t->line, next);
        }
        if (at.shard != t->shard->number || !add(feed, at.record, resumed, t, &stop))
            return;
        place = next;
    }
}
