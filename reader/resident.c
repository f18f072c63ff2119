/* SPDX-License-Identifier: MIT
 *
 * Choosing what stays in memory; see resident.h. */
#include "reader/resident.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

#define SLOTS_LEAST 8u          /* of a shuffle buffer that is worth foresight */
/* What is recalled leaves such a part of the heap to what comes in. */
#define LEFT_PART   16u
/* The next recall is due when such a part of the last one is left. */
#define DUE_PART    4u

/* A deferred sample that may be recalled. */
struct wanted {
    uint32_t drawn, slot;
};

uint64_t resident_bytes(uint64_t slots)
{
    return slots < SLOTS_LEAST ? 0 : foresight_bytes(slots) + slots * sizeof(struct wanted);
}

int resident_open(struct resident *r, const struct shuffle *shuffle, struct sheaf_error *err)
{
    if (r->slot_count < SLOTS_LEAST || !foresight_is_possible(shuffle))
        return SHEAF_OK;
    r->far = FORESIGHT_LATER - 1;
    return foresight_open(&r->foresight, shuffle, err);
}

void resident_close(struct resident *r)
{
    foresight_close(&r->foresight);
}

/* The bytes of the piece that an item needs, or has. */
static size_t piece_bytes(const struct item *item)
{
    return item->size + (item->has_name ? item->name_size : 0);
}

/* What an item in a slot has of the heap. */
static uint64_t held_by(const struct item *item)
{
    const bool is_held = item->piece != NULL || (item->deferred && item->recall != NULL);

    return is_held ? piece_bytes(item) + HEAP_HEAD_BYTES : 0;
}

void resident_step(struct resident *r, const struct shuffle_step *step, const struct item *item)
{
    r->deferred -= item->deferred;
    r->held_bytes -= held_by(item);
    if (r->foresight.drawn != NULL)
        foresight_step(&r->foresight, step);
}

/* A piece, unless the lane has its part of the heap; NULL: there is no room. */
static void *take(const struct resident *r, struct feed *feed, size_t bytes)
{
    const uint64_t most = feed->frames->most_bytes / feed->lane_count;

    if (r->foresight.drawn != NULL && r->held_bytes + bytes + HEAP_HEAD_BYTES > most)
        return NULL;
    return heap_take(feed->frames, bytes);
}

/* Whether it would leave room for what comes in. */
static bool has_room(const struct resident *r, const struct feed *feed, size_t bytes)
{
    const uint64_t most = feed->frames->most_bytes / feed->lane_count;
    const uint64_t left = most / LEFT_PART;

    return r->held_bytes + bytes + left <= most && heap_room(feed->frames) >= bytes + left;
}

/* ---- What is deferred ----------------------------------------------------------------------- */

static void defer(struct resident *r, struct item *item)
{
    r->held_bytes -= held_by(item);
    *item = (struct item){ .shard = item->shard, .record = item->record, .deferred = true,
                           .size = piece_bytes(item), .repeats = item->repeats };
    r->deferred++;
}

/* What is in the slot can be deferred in favour of what is drawn at `step`. */
static bool can_wait(const struct resident *r, uint64_t slot, uint32_t step)
{
    const struct item *item = &r->slots[slot];

    return item->piece != NULL && item->owns && item->data != NULL && item->bad == NULL
           && r->foresight.drawn[slot] > step;
}

/* Defers one that is drawn after `step`.  False: there is none. */
static bool defer_another(struct resident *r, struct feed *feed, uint32_t step)
{
    for (uint64_t i = 0; i < r->slot_count; i++) {
        const uint64_t slot = r->cursor;

        r->cursor = (r->cursor + 1) % r->slot_count;
        if (!can_wait(r, slot, step))
            continue;
        heap_give(feed->frames, r->slots[slot].piece);
        defer(r, &r->slots[slot]);
        return true;
    }
    return false;
}

/* So many of the steps before `far` are left when the next recall is due. */
static void set_due(struct resident *r)
{
    const uint32_t now = r->foresight.now;

    r->due = now + MAX((MAX(r->far, now) - now) / DUE_PART * (DUE_PART - 1), 1);
}

/* One less is in memory: one of those that are drawn after `far`.  If there is none, `far` was too
 * far. */
static void make_room(struct resident *r, struct feed *feed)
{
    const struct foresight *f = &r->foresight;

    if (defer_another(r, feed, r->far))
        return;
    r->far = f->now + (uint32_t)((uint64_t)(MIN(r->far, f->seen) - f->now) * 7 / 8);
    set_due(r);
}

/* A piece for what comes into the slot. */
static void *piece_for(struct resident *r, struct feed *feed, uint64_t slot, size_t bytes)
{
    const uint32_t *drawn = r->foresight.drawn;
    void *piece = take(r, feed, bytes);

    while (piece == NULL && drawn != NULL && drawn[slot] <= r->far) {
        make_room(r, feed);
        piece = take(r, feed, bytes);
    }
    feed_trim_spares(feed);
    return piece;
}

void resident_settle(struct resident *r, struct feed *feed, uint64_t slot)
{
    struct item *item = &r->slots[slot];
    uint8_t *piece;

    r->deferred += item->deferred;
    r->held_bytes += held_by(item);
    if (item->data == NULL || item->bad != NULL || item->piece != NULL)
        return;
    piece = piece_for(r, feed, slot, piece_bytes(item));
    if (piece == NULL) {
        defer(r, item);
        return;
    }
    item->piece = piece;
    item->owns = true;
    r->held_bytes += held_by(item);
    item->data = memcpy(piece, item->data, item->size);
    if (item->has_name)
        item->name = memcpy(piece + item->size, item->name, item->name_size);
}

/* ---- What is recalled ----------------------------------------------------------------------- */

static int compare_drawn(const void *a, const void *b)
{
    const uint32_t x = ((const struct wanted *)a)->drawn, y = ((const struct wanted *)b)->drawn;

    return x < y ? -1 : x > y;
}

/* What is drawn in the steps that are seen, in that order. */
static size_t list_wanted(const struct resident *r, struct wanted *list)
{
    size_t count = 0;

    for (uint64_t i = 0; i < r->slot_count; i++) {
        const struct item *item = &r->slots[i];

        if (item->deferred && item->size != 0 && item->recall == NULL && !item->repeats
            && r->foresight.drawn[i] != FORESIGHT_LATER)
            list[count++] = (struct wanted){ r->foresight.drawn[i], (uint32_t)i };
    }
    qsort(list, count, sizeof(list[0]), compare_drawn);
    return count;
}

/* Finds pieces for the first of the list, as many as there is room for.  `far` becomes the step
 * before which all is in memory then. */
static size_t take_pieces(struct resident *r, struct feed *feed, const struct wanted *list,
                          size_t count)
{
    size_t i;

    r->far = r->foresight.seen;
    for (i = 0; i < count; i++) {
        struct item *item = &r->slots[list[i].slot];

        while (!has_room(r, feed, item->size) && list[i].drawn <= r->far)
            make_room(r, feed);
        item->piece = has_room(r, feed, item->size) ? take(r, feed, item->size) : NULL;
        r->held_bytes += held_by(item);
        if (item->piece == NULL) {
            r->far = MIN(r->far, list[i].drawn - 1);
            break;
        }
    }
    feed_trim_spares(feed);
    return i;
}

/* The record that an entry of the list stands for. */
struct place {
    uint32_t shard;
    uint64_t record;
};

static int compare_places(const void *a, const void *b, void *context)
{
    const struct item *slots = context;
    const struct item *x = &slots[((const struct wanted *)a)->slot];
    const struct item *y = &slots[((const struct wanted *)b)->slot];

    if (x->shard != y->shard)
        return x->shard < y->shard ? -1 : 1;
    return x->record < y->record ? -1 : x->record > y->record;
}

#define SHARE_MOST 1024u        /* items of one recall, at most */

/* One recall for those at the start of the list, which are sorted, that are in the same block.
 * Returns how many they are; what cannot be read so stays as it was. */
static size_t share(struct resident *r, struct feed *feed, struct recalls *recalls,
                    struct shard *shard, const struct wanted *list, size_t count)
{
    const struct index_section *s = shard->section;
    uint64_t block;
    struct item *items[SHARE_MOST];
    struct sheaf_error ignored;
    uint32_t when = FORESIGHT_LATER;
    size_t n = 0;

    if (s->blocks == NULL)
        return count;
    block = index_block_of(s, s->offsets[r->slots[list[0].slot].record]);
    while (n < MIN(count, SHARE_MOST)) {
        struct item *item = &r->slots[list[n].slot];

        if (item->shard != shard->number
            || index_block_of(s, s->offsets[item->record]) != block
            || !recall_can_be_shared(shard, item->record))
            break;
        when = MIN(when, list[n].drawn);
        items[n++] = item;
    }
    if (n != 0)
        (void)recalls_share(feed, recalls, shard, items, n, when, &ignored);
    return MAX(n, 1);
}

/* Recalls those of the list that are in the shard of the first.  Returns how many they are. */
static size_t recall_shard(struct resident *r, struct feed *feed, struct recalls *recalls,
                           const struct wanted *list, size_t count)
{
    const uint32_t number = r->slots[list[0].slot].shard;
    struct sheaf_error ignored;
    struct shard *shard;
    size_t n = 0, done = 0;

    while (n < count && r->slots[list[n].slot].shard == number)
        n++;
    if (shards_use(&feed->shards, number, &shard, &ignored) != SHEAF_OK)
        return n;
    if (feed_open_shard(feed, shard, &ignored) == SHEAF_OK)
        while (done < n)
            done += share(r, feed, recalls, shard, list + done, n - done);
    shards_drop(&feed->shards, shard);
    return n;
}

/* Those whose pieces are still their own are not being read. */
static void give_pieces(struct resident *r, struct feed *feed, const struct wanted *list,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct item *item = &r->slots[list[i].slot];

        if (item->piece == NULL)
            continue;
        r->held_bytes -= held_by(item);
        heap_give(feed->frames, item->piece);
        item->piece = NULL;
    }
}

static void recall_next(struct resident *r, struct feed *feed, struct recalls *recalls,
                        struct wanted *list)
{
    const size_t count = take_pieces(r, feed, list, list_wanted(r, list));

    qsort_r(list, count, sizeof(list[0]), compare_places, r->slots);
    for (size_t i = 0; i < count;)
        i += recall_shard(r, feed, recalls, list + i, count - i);
    give_pieces(r, feed, list, count);
    set_due(r);
}

void resident_recall(struct resident *r, struct feed *feed, struct recalls *recalls)
{
    struct wanted *list;

    if (r->foresight.drawn == NULL || r->deferred == 0)
        return;
    if (r->foresight.now >= r->due && (list = malloc(r->slot_count * sizeof(list[0]))) != NULL) {
        recall_next(r, feed, recalls, list);
        free(list);
    }
    recalls_begin_shared(feed, recalls);
}
