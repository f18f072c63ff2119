/* SPDX-License-Identifier: MIT
 *
 * How the budget of an epoch is shared out.
 *
 *     | tables | reserve | sections | chunks in flight | heap: frames of the shuffle buffer |
 *
 * The tables are there from the start.  The RESERVE is what reading any one record alone takes, its
 * shard's section included: with it the epoch continues whatever else is in use, so tables and
 * reserve are all that must fit.  The rest is shared between what is read ahead and what waits to
 * be drawn; a sample for which it has no room is deferred (see deferred.h). */
#include "reader/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "reader/lazy_shuffle.h"
#include "reader/stream.h"
#include "reader/unpack.h"

/* Raw bytes of a chunk.  From a local file, small enough that a chunk is checked while it is in
 * the cache, and enough that threads are seldom woken for it; from a remote store, enough to
 * make a request worth its round trip. */
#define CHUNK_LOCAL_BYTES  ((uint64_t)1 << 20)
#define CHUNK_REMOTE_BYTES ((uint64_t)8 << 20)
/* Remote reads in flight at once, at most; and the bytes and reads that an epoch starts with. */
#define REMOTE_READS       32u
#define REMOTE_FIRST_BYTES ((uint64_t)32 << 20)
#define REMOTE_FIRST_READS 4u
#define CHUNK_LEAST_BYTES  ((uint64_t)64 << 10)
/* Where that is too much for the lanes that there are. */
#define CHUNK_TINY_BYTES   ((uint64_t)4 << 10)
/* Where frames are deferred, a chunk waits until the heap has room for it, and until then more of
 * them are: so it has only such a part of the memory. */
#define CHUNK_PART         128u
/* More lanes than that hold much of the memory in chunks that are not yet taken. */
#define PASSING_LANES      8u
/* Foresight takes no more than such a part of the memory. */
#define FORESIGHT_PART     8u
/* Shared recalls that are under way at once, at most, and the part of what chunks have that they
 * read into. */
#define RECALLS_MOST       8u
#define RECALL_PART        16u
/* A frame is outsize if it is more than this part of the heap. */
#define OUTSIZE_PART       16u

struct needs {
    uint64_t slots;             /* samples in the shuffle buffers */
    uint64_t frames;            /* what they take in the heap, about, and a quarter more; */
    uint64_t frames_most;       /* at most */
    uint64_t mean;              /* bytes of a sample, where they are largest */
    uint64_t block;             /* what a codec block adds to a chunk, at most */
    uint64_t sections;          /* of all shards that are open at once */
    uint64_t tables;
    uint64_t foresight;         /* of all lanes, where samples are deferred (resident.h) */
    uint64_t reserve;
};

/* ---- What there is to read ------------------------------------------------------------------ */

static int compare_means(const void *a, const void *b)
{
    const struct manifest_shard *x = *(const struct manifest_shard *const *)a;
    const struct manifest_shard *y = *(const struct manifest_shard *const *)b;
    const uint64_t mean_x = x->raw_bytes / MAX(x->samples, 1);
    const uint64_t mean_y = y->raw_bytes / MAX(y->samples, 1);

    return mean_x < mean_y ? 1 : mean_x > mean_y ? -1 : 0;
}

/* The bytes of `slots` samples from the shards where they are largest. */
static int bytes_of_slots(const struct sheaf_dataset *d, uint64_t slots, uint64_t *bytes,
                          struct sheaf_error *err)
{
    const size_t count = d->manifest.shard_count;
    const struct manifest_shard **shards = calloc(count + 1, sizeof(shards[0]));

    if (shards == NULL)
        return err_memory(err, count * sizeof(shards[0]));
    for (size_t i = 0; i < count; i++)
        shards[i] = &d->manifest.shards[i];
    qsort(shards, count, sizeof(shards[0]), compare_means);
    *bytes = 0;
    for (size_t i = 0; i < count && slots != 0; i++) {
        const uint64_t taken = MIN(slots, shards[i]->samples);

        if (taken != 0)
            *bytes += (uint64_t)((double)shards[i]->raw_bytes * (double)taken
                                 / (double)shards[i]->samples) + shards[i]->names_bytes;
        slots -= taken;
    }
    free(shards);
    return SHEAF_OK;
}

static void add_shard(const struct sheaf_reader *r, uint32_t number, struct needs *n,
                      uint64_t *section)
{
    const struct sheaf_dataset *d = r->dataset;
    const struct manifest_shard *m = &d->manifest.shards[number];
    const uint64_t memory = shards_memory(&r->feed.shards, number);
    const bool is_packed = dataset_source(d, number)->codec != NULL;

    if (m->samples != 0)
        n->mean = MAX(n->mean, m->raw_bytes / m->samples);
    if (is_packed)
        n->block = MAX(n->block, MIN(CHUNK_BLOCK_BYTES, m->raw_bytes + m->bytes));
    n->reserve = MAX(n->reserve, memory + chunk_memory_most(m, is_packed, d->is_remote));
    n->frames_most = MAX(n->frames_most, m->largest);
    *section = MAX(*section, memory);
}

static int needs_of(const struct sheaf_reader *r, struct needs *n, struct sheaf_error *err)
{
    const struct sheaf_dataset *d = r->dataset;
    const struct feed *feed = &r->feed;
    const uint64_t shards = d->manifest.shard_count;
    const uint64_t open = feed->draws ? draws_shards(d, &feed->order, r->own_lanes)
                                      : 2 * (uint64_t)feed->lane_count;
    uint64_t section = 0, bytes = 0, heads;
    int code = SHEAF_OK;

    *n = (struct needs){ 0 };
    for (uint32_t i = 0; i < feed->lane_count; i++) {
        n->slots += r->lanes[i].slot_count;
        n->tables += lane_table_bytes(&r->lanes[i]);
        n->foresight += resident_bytes(r->lanes[i].slot_count);
    }
    if (feed->draws)
        n->tables += draws_bytes(d, &feed->order, r->own_lanes);
    for (uint32_t i = 0; !d->is_stream && i < shards; i++)
        add_shard(r, i, n, &section);
    n->reserve += CHUNK_DEFERRED_BYTES;
    if (r->alone_bytes != 0)
        n->reserve = r->alone_bytes;
    n->sections = section * MIN(shards, open);
    if (feed->own_frames)
        code = bytes_of_slots(d, n->slots, &bytes, err);
    heads = n->slots * HEAP_HEAD_BYTES;
    n->frames = feed->own_frames ? (bytes + heads) * 5 / 4 : 0;
    n->frames_most = n->frames_most > (bytes + heads) / MAX(n->slots, 1)
                   ? n->slots * n->frames_most + heads : bytes + heads;
    return code;
}

/* What reading any record of an open shard alone takes. */
static uint64_t alone_in(struct shard *shard)
{
    uint64_t most = 0;

    for (uint64_t i = 0; i < shard->section->samples; i++) {
        const struct run run = { shard, i, 1, false };

        most = MAX(most, chunk_memory(&run, 1, true, chunk_can_be_in_pieces(&run, 1)));
    }
    return most;
}

/* Finds by the index what is to be reserved.  A shard that cannot be opened is found out about when
 * it is read. */
static void find_alone(struct sheaf_reader *r, struct needs *n)
{
    struct shards *shards = &r->feed.shards;
    struct sheaf_error ignored;
    struct shard *shard;
    uint64_t most = 0;

    for (uint32_t i = 0; i < r->dataset->manifest.shard_count; i++) {
        if (shards_use_reserved(shards, i, &shard, &ignored) != SHEAF_OK)
            return;
        workers_wait(r->feed.workers, &shard->job);
        if (shard->code == SHEAF_OK)
            most = MAX(most, shards_memory(shards, i) + alone_in(shard));
        shards_drop(shards, shard);
    }
    n->reserve = r->alone_bytes = most + CHUNK_DEFERRED_BYTES;
}

/* ---- Sharing it out ------------------------------------------------------------------------- */

int memory_open_heap(struct sheaf_reader *r, bool memory_is_free, struct sheaf_error *err)
{
    const struct heap_memory memory = { r->options.memory, r->options.memory_needed,
                                        r->options.memory_context };
    struct feed *feed = &r->feed;

    if (!memory_is_free)
        r->options.memory = NULL;       /* until the end: nothing reports when it is */
    if (r->options.memory == NULL)
        return heap_open(&feed->frames, &feed->budget, feed->budget.limit, err);
    if ((uintptr_t)memory.base % (uintptr_t)sysconf(_SC_PAGESIZE) != 0)
        return err_set(err, SHEAF_ERR_ARGUMENT, "memory for samples at %p: expected the start of "
                       "a page", memory.base);
    return heap_open_in(&feed->frames, &feed->budget, feed->budget.limit, &memory, err);
}

/* The heap may grow to `heap_bytes`, of which the program may be lent `lend_bytes`. */
struct shares {
    uint64_t heap_bytes, lend_bytes;
};

/* What the heap had in the last epoch is its still, unless it is more than that. */
static int fit_heap(struct sheaf_reader *r, const struct shares *shares)
{
    struct feed *feed = &r->feed;
    int code = SHEAF_OK;

    if (feed->frames->size > shares->heap_bytes) {
        const bool memory_is_free = heap_is_alone(feed->frames);

        heap_close(feed->frames);
        feed->frames = NULL;
        code = memory_open_heap(r, memory_is_free, &r->error);
    }
    if (code != SHEAF_OK)
        return code;
    feed->frames->most_bytes = shares->heap_bytes;
    feed->lend_bytes = shares->lend_bytes;
    return SHEAF_OK;
}

/* Of the chunks that there is memory for, those that are worth having under way. */
static void fit_window(struct feed *feed)
{
    const unsigned most = (unsigned)feed->outstanding_limit - feed->lane_count;
    const uint64_t first = MAX(REMOTE_FIRST_BYTES / feed->chunk_bytes, REMOTE_FIRST_READS);

    window_fit(&feed->window, (unsigned)MIN(first, most), most, feed->chunk_bytes);
    feed->outstanding_limit = feed->lane_count + feed->window.now;
}

/* The memory of the chunks in flight. */
static uint64_t chunks_memory(const struct needs *n, uint64_t chunk_bytes, uint64_t chunks)
{
    return chunks * (MAX(chunk_bytes, n->mean) + n->block) * 5 / 4;
}

/* What chunks of codec blocks have of `left` bytes, where samples are deferred: they hold what is
 * not yet taken, of each lane. */
static uint64_t passing_bytes(const struct feed *feed, uint64_t left)
{
    return feed->lane_count > PASSING_LANES ? left / 2 : left / 4;
}

/* Codec blocks are unpacked as they are taken in, and again for what is deferred.  A part of what
 * chunks have is for that. */
static void fit_blocks(struct sheaf_reader *r, struct needs *n, uint64_t left)
{
    struct feed *feed = &r->feed;
    const uint64_t chunks = feed->lane_count + 1u;
    const uint64_t bytes = passing_bytes(feed, left) * 3 / 4 / chunks;

    /* Whole blocks would stay until their last sample is taken. */
    feed->own_frames = feed->cuts_blocks = true;
    feed->outstanding_limit = chunks;
    feed->chunk_bytes = MIN(MAX(bytes, CHUNK_TINY_BYTES), CHUNK_BLOCK_BYTES / 2);
    feed->recalls_most = (unsigned)MIN(MAX(passing_bytes(feed, left) / RECALL_PART
                                           / unpack_room(r->dataset->is_remote, UINT64_MAX), 1),
                                       RECALLS_MOST);
    if (n->foresight > left / FORESIGHT_PART)
        n->foresight = 0;
    n->tables += n->foresight;
}

/* Chooses chunk size and window for `left` bytes, which are for chunks and frames. */
static void fit_chunks(struct sheaf_reader *r, struct needs *n, uint64_t left)
{
    struct feed *feed = &r->feed;
    const uint64_t least = feed->lane_count + 2u;

    feed->cuts_blocks = false;
    feed->outstanding_limit = feed->lane_count + 2 * r->options.threads + 2;
    feed->chunk_bytes = MAX(CHUNK_LOCAL_BYTES, r->dataset->read_bytes);
    if (r->dataset->is_remote) {
        feed->outstanding_limit = feed->lane_count + REMOTE_READS;
        feed->chunk_bytes = CHUNK_REMOTE_BYTES;
    }
    while (feed->chunk_bytes > CHUNK_LEAST_BYTES
           && chunks_memory(n, feed->chunk_bytes, feed->outstanding_limit) + n->frames > left) {
        /* A request of a MiB is worth its round trip; rather fewer than smaller. */
        if (feed->chunk_bytes <= 1 << 20 && feed->outstanding_limit > feed->lane_count + 4)
            feed->outstanding_limit -= 2;
        else
            feed->chunk_bytes /= 2;
    }
    if (chunks_memory(n, CHUNK_LEAST_BYTES, least) + n->frames <= left)
        return;
    feed->outstanding_limit = least;
    feed->chunk_bytes = MIN(left / 2 / least, MAX(left / CHUNK_PART, CHUNK_LEAST_BYTES));
    feed->chunk_bytes = MAX(feed->chunk_bytes, CHUNK_TINY_BYTES);
    if (r->dataset->codec != NULL && !feed->draws)
        fit_blocks(r, n, left);
}

/* Leaves to the heap what the rest can do without, and to the program what the heap can do
 * without.  Frames of a shuffle buffer fill the heap; those of chunks are about as many as chunks
 * are in flight. */
static struct shares share_out(struct feed *feed, const struct needs *n, uint64_t left)
{
    const uint64_t least = chunks_memory(n, CHUNK_LEAST_BYTES, feed->lane_count + 2u);
    const uint64_t usual = chunks_memory(n, feed->chunk_bytes, feed->outstanding_limit);
    struct shares s = { left, left - MIN(left, usual) };

    feed->outsize_bytes = UINT64_MAX;
    if (!feed->own_frames)
        return s;
    s.heap_bytes = left - (feed->cuts_blocks ? passing_bytes(feed, left) : MIN(left / 4, least));
    s.lend_bytes = s.heap_bytes - MIN(s.heap_bytes, n->frames);
    if (n->frames_most > s.heap_bytes)
        feed->outsize_bytes = s.heap_bytes / OUTSIZE_PART;
    return s;
}

static int refuse(struct sheaf_reader *r, const struct needs *n, uint64_t least)
{
    const uint64_t cache = r->options.memory_bytes - r->feed.budget.limit;

    err_set(&r->error, SHEAF_ERR_LIMIT, "the memory budget is %" PRIu64 " byte%s, but at least %"
            PRIu64 " are needed: %" PRIu64 " for the largest sample and its index, the rest for a "
            "shuffle buffer of %" PRIu64 " sample%s in %u lane%s", r->options.memory_bytes,
            plural(r->options.memory_bytes), least + cache, n->reserve, n->slots, plural(n->slots),
            r->feed.lane_count, plural(r->feed.lane_count));
    return err_because(&r->error, SHEAF_ERR_LIMIT, SHEAF_REASON_MEMORY);
}

/* Tables and reserve, or refuses. */
static int fit_least(struct sheaf_reader *r, struct needs *n)
{
    const uint64_t limit = r->feed.budget.limit;
    uint64_t least = n->tables + n->reserve;

    if (least > limit - (r->feed.budget.used - r->feed.frames->size))
        shards_drop_index(&r->feed.shards);
    if (least > limit && r->alone_bytes == 0)
        find_alone(r, n);
    least = n->tables + n->reserve;
    return least <= limit ? SHEAF_OK : refuse(r, n, least);
}

static int fit_indexed(struct sheaf_reader *r, struct needs *n, struct shares *shares)
{
    struct feed *feed = &r->feed;
    const int code = fit_least(r, n);
    uint64_t left;

    if (code != SHEAF_OK)
        return code;
    left = feed->budget.limit - (feed->budget.used - feed->frames->size) - n->tables - n->reserve;
    feed->few_sections = r->dataset->view != NULL && n->sections > left / 2;
    left -= MIN(n->sections, left / 2);
    fit_chunks(r, n, left);
    left -= feed->cuts_blocks ? n->foresight : 0;
    *shares = share_out(feed, n, left);
    if (r->dataset->is_remote)
        fit_window(feed);
    return SHEAF_OK;
}

static void fit_streams(struct sheaf_reader *r, struct needs *n, struct shares *shares)
{
    struct feed *feed = &r->feed;
    const uint64_t limit = feed->budget.limit;

    feed->chunk_bytes = STREAM_CHUNK_BYTES;
    for (uint32_t i = 0; i < feed->lane_count; i++)
        n->tables += stream_memory(feed->prefetches[i].stream);
    shares->heap_bytes = limit - MIN(n->tables, limit);
    shares->lend_bytes = shares->heap_bytes - MIN(shares->heap_bytes, n->frames);
}

int memory_share_out(struct sheaf_reader *r)
{
    struct feed *feed = &r->feed;
    struct shares shares = { 0 };
    struct needs n;
    int code = needs_of(r, &n, &r->error);

    if (code != SHEAF_OK)
        return code;
    if (r->dataset->is_stream)
        fit_streams(r, &n, &shares);
    else
        code = fit_indexed(r, &n, &shares);
    /* Their buffers have room for up to twice what is needed. */
    feed->spare_most_bytes = 3 * feed->chunk_bytes + 2 * n.block;
    if (code == SHEAF_OK)
        code = fit_heap(r, &shares);
    if (code == SHEAF_OK && !budget_take(&feed->budget, n.tables))
        code = err_set(&r->error, SHEAF_ERR_LIMIT, "a shuffle buffer of %" PRIu64 " samples does "
                       "not fit into the memory budget of %" PRIu64 " bytes", n.slots,
                       feed->budget.limit);
    if (code != SHEAF_OK)
        return code;
    r->table_bytes = n.tables;
    r->foresees = n.foresight != 0 && feed->cuts_blocks;
    for (uint32_t i = 0; code == SHEAF_OK && r->foresees && i < feed->lane_count; i++)
        code = lane_foresee(&r->lanes[i], &r->error);
    if (code != SHEAF_OK)
        return code;
    feed->budget.reserve = r->dataset->is_stream ? 0 : n.reserve;
    return SHEAF_OK;
}

bool memory_has_room_for_draws(const struct sheaf_reader *r)
{
    const struct feed *feed = &r->feed;
    const uint64_t shards = r->dataset->manifest.shard_count;
    const uint64_t open = MIN(shards, draws_shards(r->dataset, &feed->order, r->own_lanes));
    const uint64_t numbers = draws_bytes(r->dataset, &feed->order, r->own_lanes)
                             / sizeof(uint64_t);
    uint64_t section = 0, alone = 0;

    for (uint32_t i = 0; i < shards; i++) {
        section = MAX(section, shards_memory(&feed->shards, i));
        alone = MAX(alone, chunk_memory_most(&r->dataset->manifest.shards[i], false, false));
    }
    return section * (open + 1) + alone + numbers * sizeof(struct item)
           <= feed->budget.limit / 4;
}
