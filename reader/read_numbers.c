/* SPDX-License-Identifier: MIT
 *
 * Samples by their numbers.
 *
 *     numbers --sorted--> parts, one a shard --> groups: records that lie close together, one chunk
 *                                                each --> the frames asked for, in the part's block
 *
 * Groups are read side by side, as many as the memory allows; of a group, what nobody asked for is
 * read along and left.  The frames of a part are copied to one block, so that what is kept is what
 * was asked for, and not the codec block or the gap beside it.  Shards are opened ahead.  What is
 * given out is in the order of the numbers. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/sized.h"
#include "base/watch.h"
#include "reader/decode.h"
#include "reader/detach.h"
#include "reader/shard_pool.h"

#define NUMBERS_MOST     ((size_t)1 << 20)
#define GAP_LOCAL        ((uint64_t)64 << 10)   /* a read that is longer by this costs less than */
#define GAP_REMOTE       ((uint64_t)1 << 20)    /* one more */
#define GROUP_BYTES      ((uint64_t)8 << 20)    /* of one group that grows over gaps */
#define GROUP_RECORDS    ((size_t)4096)
#define CHUNKS_MOST      64u                    /* under way at once */
#define PARTS_AHEAD      32u                    /* shards open at once */
#define ALIGNMENT        ((uint64_t)16)
#define LOOK_NS          ((uint64_t)50000000)

/* One number that was asked for. */
struct entry {
    uint64_t number;
    size_t asked;               /* its place in the caller's array */
    struct item item;           /* once it is read; of equal numbers that of the first */
};

/* The entries of one shard. */
struct shard_part {
    uint32_t shard_number;
    size_t first, end;
    struct shard *shard;        /* NULL: not open yet, or not any more */
    uint64_t block_bytes;
    uint8_t *block;
};

struct group {
    struct shard_part *part;
    size_t first, end;          /* entries */
    struct run run;
    uint64_t memory_bytes;
    struct chunk *chunk;        /* NULL: it was taken back */
};

/* One call. */
struct call {
    const struct sheaf_dataset *dataset;
    struct shard_pool *pool;
    struct workers *workers;
    struct watch watch;
    struct budget budget;
    struct entry *entries;
    size_t count;
    struct shard_part *parts;
    size_t part_count, opened;
    struct group groups[CHUNKS_MOST];           /* a ring, the oldest at `oldest` */
    size_t oldest, group_count;
};

struct numbered {
    struct sheaf_kept base;
    size_t count;
    struct sheaf_sample *samples;
    struct decode_scratch *scratch;
    uint8_t **blocks;
    size_t block_count;
};

/* ---- What is asked for ---------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return x->asked < y->asked ? -1 : 1;
}

static int take_numbers(struct call *c, const uint64_t *numbers, struct sheaf_error *err)
{
    const uint64_t samples = dataset_samples(c->dataset);

    c->entries = calloc(c->count, sizeof(c->entries[0]));
    if (c->entries == NULL)
        return err_memory(err, c->count * sizeof(c->entries[0]));
    for (size_t i = 0; i < c->count; i++) {
        if (numbers[i] >= samples)
            return err_set(err, SHEAF_ERR_ARGUMENT, "there is no sample %" PRIu64 ": the data set "
                           "has %" PRIu64, numbers[i], samples);
        c->entries[i].number = numbers[i];
        c->entries[i].asked = i;
    }
    qsort(c->entries, c->count, sizeof(c->entries[0]), by_number);
    return SHEAF_OK;
}

static int make_parts(struct call *c, struct sheaf_error *err)
{
    const struct sheaf_dataset *d = c->dataset;

    c->parts = calloc(c->count, sizeof(c->parts[0]));
    if (c->parts == NULL)
        return err_memory(err, c->count * sizeof(c->parts[0]));
    for (size_t i = 0; i < c->count;) {
        struct shard_part *part = &c->parts[c->part_count++];
        const uint32_t shard = dataset_shard_of(d, c->entries[i].number);

        part->shard_number = shard;
        part->first = i;
        while (i < c->count && c->entries[i].number < d->first_numbers[shard + 1])
            i++;
        part->end = i;
    }
    return SHEAF_OK;
}

static uint64_t record_of(const struct call *c, const struct shard_part *part, size_t entry)
{
    return c->entries[entry].number - c->dataset->first_numbers[part->shard_number];
}

/* ---- Waiting -------------------------------------------------------------------------------- */

static int wait_for(struct call *c, struct job *job, struct sheaf_error *err)
{
    const struct sheaf_progress progress = { .stage = "read" };
    const bool helps = dataset_is_local(c->dataset);
    uint64_t waited = 0;
    bool done;

    do {
        int code = watch_check(&c->watch, err);

        if (code != SHEAF_OK)
            return code;
        done = helps ? workers_wait_or(c->workers, job, true, c->watch.interrupt, &waited)
                     : workers_wait_for(c->workers, job, LOOK_NS);
        if (!done)
            watch_show(&c->watch, &progress);
    } while (!done);
    return SHEAF_OK;
}

/* ---- Parts ---------------------------------------------------------------------------------- */

static uint64_t slot_bytes(const struct index_section *s, uint64_t record)
{
    const uint64_t bytes = index_frame_bytes(s, record) + chunk_names_bytes(s, record, 1);

    return (bytes + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
}

static int no_room(const struct call *c, const struct shard_part *part, uint64_t bytes,
                   struct sheaf_error *err)
{
    return err_set(err, SHEAF_ERR_LIMIT, "%s: %" PRIu64 " bytes more are needed to read samples by "
                   "number, but of the %" PRIu64 " bytes of memory %" PRIu64 " are in use: ask for "
                   "fewer at once", dataset_shown(c->dataset, part->shard_number), bytes,
                   c->budget.limit, c->budget.used);
}

static int open_ahead(struct call *c, size_t part, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (; code == SHEAF_OK && c->opened < c->part_count && c->opened < part + PARTS_AHEAD;
         c->opened++) {
        code = shard_pool_use(c->pool, c->parts[c->opened].shard_number,
                              &c->parts[c->opened].shard, err);
        if (code != SHEAF_OK)
            return code;
    }
    return code;
}

/* Waits until the part's shard is open, and makes room for what is asked of it. */
static int begin_part(struct call *c, struct shard_part *part, struct sheaf_error *err)
{
    int code = open_ahead(c, (size_t)(part - c->parts), err);

    if (code == SHEAF_OK)
        code = wait_for(c, &part->shard->job, err);
    if (code != SHEAF_OK)
        return code;
    if (part->shard->code != SHEAF_OK) {
        if (err != NULL)
            *err = part->shard->error;
        return part->shard->code;
    }
    for (size_t i = part->first; i < part->end; i++)
        if (i == part->first || c->entries[i].number != c->entries[i - 1].number)
            part->block_bytes += slot_bytes(part->shard->section, record_of(c, part, i));
    if (!budget_take(&c->budget, part->block_bytes))
        return no_room(c, part, part->block_bytes, err);
    part->block = aligned_alloc(ALIGNMENT, part->block_bytes + ALIGNMENT);
    return part->block == NULL ? err_memory(err, part->block_bytes) : SHEAF_OK;
}

/* ---- Groups --------------------------------------------------------------------------------- */

/* Whether a group that ends with record `last` may continue to `next`. */
static bool joins(const struct run *run, uint64_t last, uint64_t next)
{
    const struct index_section *s = run->shard->section;
    const uint64_t end = s->offsets[last] + index_frame_bytes(s, last);
    const bool is_remote = run->shard->object->is_remote;

    if (next - run->first >= GROUP_RECORDS)
        return false;
    if (s->blocks != NULL) {
        const uint64_t block = index_block_of(s, end - 1);

        return index_block_of(s, s->offsets[next]) == block;
    }
    return s->offsets[next] - end <= (is_remote ? GAP_REMOTE : GAP_LOCAL) &&
           s->offsets[next] + index_frame_bytes(s, next) - s->offsets[run->first] <= GROUP_BYTES;
}

/* The group that begins with entry `first`; `joined`: with others that lie close by. */
static struct group group_of(const struct call *c, struct shard_part *part, size_t first,
                             bool joined)
{
    struct group g = { .part = part, .first = first, .end = first + 1 };
    uint64_t last = record_of(c, part, first);

    g.run = (struct run){ .shard = part->shard, .first = last, .count = 1 };
    while (g.end < part->end) {
        const uint64_t next = record_of(c, part, g.end);

        if (next != last && (!joined || !joins(&g.run, last, next)))
            break;
        last = next;
        g.run.count = (size_t)(last - g.run.first) + 1;
        g.end++;
    }
    return g;
}

/* Gives each record that is asked for its slot in the block, from *slot on. */
static void place_items(const struct call *c, const struct group *g, uint8_t **slot)
{
    for (size_t i = g->first; i < g->end; i++) {
        const uint64_t record = record_of(c, g->part, i);
        struct item *item = &g->chunk->items[record - g->run.first];

        if (item->owns)
            continue;                   /* asked for twice */
        item->piece = *slot;
        item->owns = true;
        *slot += slot_bytes(g->part->shard->section, record);
    }
}

/* A codec's block is unpacked as far as needed, unless one request had better bring all of it. */
static bool is_in_pieces(const struct group *g)
{
    return chunk_can_be_in_pieces(&g->run, 1) && !g->run.shard->object->is_remote;
}

static uint64_t memory_of(const struct group *g)
{
    return chunk_memory(&g->run, 1, true, is_in_pieces(g));
}

static int begin_group(struct call *c, struct group *g, uint8_t **slot, struct sheaf_error *err)
{
    struct chunk *chunk = calloc(1, sizeof(*chunk));
    int code;

    if (chunk == NULL)
        return err_memory(err, sizeof(*chunk));
    g->chunk = chunk;
    chunk->job.run = chunk_run;
    chunk->dataset = c->dataset;
    chunk->own_frames = chunk->is_picked = true;
    chunk->in_pieces = is_in_pieces(g);
    chunk->workers = c->workers;
    code = chunk_prepare(chunk, &g->run, 1, NULL, err);
    if (code != SHEAF_OK)
        return code;
    place_items(c, g, slot);
    if (g->run.shard->object->is_remote)
        chunk_fetch(chunk);
    else if (c->count == 1)
        chunk_run(&chunk->job);
    else
        workers_submit(c->workers, &chunk->job);
    return SHEAF_OK;
}

/* The items are the entries' from here on. */
static void end_group(struct call *c, struct group *g)
{
    struct chunk *chunk = g->chunk;

    for (size_t i = g->first; chunk->items != NULL && i < g->end; i++) {
        struct item *item = &chunk->items[record_of(c, g->part, i) - g->run.first];

        c->entries[i].item = *item;
        c->entries[i].item.bad = NULL;
    }
    for (size_t i = 0; chunk->items != NULL && i < chunk->count; i++)
        chunk->items[i].owns = false;   /* the block is the call's */
    chunk_free(chunk, NULL);
    budget_give(&c->budget, g->memory_bytes);
    g->chunk = NULL;
}

static int error_of(const struct group *g, struct sheaf_error *err)
{
    const struct chunk *chunk = g->chunk;

    if (chunk->code != SHEAF_OK) {
        if (err != NULL)
            *err = chunk->error;
        return chunk->code;
    }
    for (size_t i = 0; i < chunk->count; i++) {
        if (!chunk->items[i].owns || chunk->items[i].bad == NULL)
            continue;
        if (err != NULL)
            *err = *chunk->items[i].bad;
        return chunk->items[i].bad->code;
    }
    return SHEAF_OK;
}

/* Takes the oldest group back. */
static int take_group(struct call *c, struct sheaf_error *err)
{
    struct group *g = &c->groups[c->oldest];
    int code = c->count == 1 && !g->run.shard->object->is_remote
             ? SHEAF_OK : wait_for(c, &g->chunk->job, err);

    if (code != SHEAF_OK)
        return code;                    /* it is still under way */
    code = error_of(g, err);
    if (g->end == g->part->end) {
        struct shard_part *part = g->part;

        end_group(c, g);
        shard_pool_drop(c->pool, part->shard);
        part->shard = NULL;
    } else {
        end_group(c, g);
    }
    c->oldest = (c->oldest + 1) % CHUNKS_MOST;
    c->group_count--;
    return code;
}

/* Makes room for the group and its chunk.  One that does not even fit alone is made smaller. */
static int make_room(struct call *c, struct group *g, struct sheaf_error *err)
{
    bool joined = true;
    int code = SHEAF_OK;

    g->memory_bytes = memory_of(g);
    while (code == SHEAF_OK && (c->group_count == CHUNKS_MOST ||
                                !budget_take(&c->budget, g->memory_bytes))) {
        if (c->group_count != 0) {
            code = take_group(c, err);
        } else if (joined) {
            joined = false;
            *g = group_of(c, g->part, g->first, false);
            g->memory_bytes = memory_of(g);
        } else {
            return no_room(c, g->part, g->memory_bytes, err);
        }
    }
    return code;
}

static int read_part(struct call *c, struct shard_part *part, struct sheaf_error *err)
{
    int code = begin_part(c, part, err);
    uint8_t *slot = part->block;

    for (size_t i = part->first; code == SHEAF_OK && i < part->end;) {
        struct group g = group_of(c, part, i, true);

        code = make_room(c, &g, err);
        if (code != SHEAF_OK)
            break;
        code = begin_group(c, &g, &slot, err);
        if (code != SHEAF_OK) {
            if (g.chunk != NULL)
                end_group(c, &g);
            break;
        }
        c->groups[(c->oldest + c->group_count++) % CHUNKS_MOST] = g;
        i = g.end;
    }
    return code;
}

/* Ends what is under way, and frees all but the blocks. */
static void end_call(struct call *c)
{
    for (size_t i = 0; i < c->group_count; i++)
        chunk_cancel(c->groups[(c->oldest + i) % CHUNKS_MOST].chunk);
    for (size_t i = 0; i < c->group_count; i++) {
        struct group *g = &c->groups[(c->oldest + i) % CHUNKS_MOST];

        if (c->count != 1 || g->run.shard->object->is_remote)
            workers_wait(c->workers, &g->chunk->job);
        end_group(c, g);
    }
    for (size_t i = 0; i < c->part_count; i++)
        shard_pool_drop(c->pool, c->parts[i].shard);
}

/* ---- What is given out ---------------------------------------------------------------------- */

static void release(struct sheaf_kept *kept)
{
    struct numbered *k = (struct numbered *)(void *)kept;

    for (size_t i = 0; k->scratch != NULL && i < k->count; i++)
        decode_scratch_free(&k->scratch[i]);
    for (size_t i = 0; k->blocks != NULL && i < k->block_count; i++)
        free(k->blocks[i]);
    free(k->scratch);
    free(k->samples);
    free(k->blocks);
    free(k);
}

static int make_samples(struct call *c, struct numbered *k, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    k->samples = calloc(c->count, sizeof(k->samples[0]));
    k->scratch = calloc(c->count, sizeof(k->scratch[0]));
    if (k->samples == NULL || k->scratch == NULL)
        return err_memory(err, c->count * sizeof(k->scratch[0]));
    k->count = c->count;
    for (size_t i = 0; code == SHEAF_OK && i < c->count; i++) {
        const struct entry *e = &c->entries[i];
        const struct format_ops *format = dataset_source(c->dataset, e->item.shard)->format;

        code = decode_item(c->dataset, format, &e->item, &k->scratch[e->asked],
                           &k->samples[e->asked], err);
    }
    return code;
}

/* The parts' blocks go to what is kept. */
static int give_blocks(struct call *c, struct numbered *k, struct sheaf_error *err)
{
    k->blocks = calloc(c->part_count + 1, sizeof(k->blocks[0]));
    for (size_t i = 0; i < c->part_count; i++) {
        if (k->blocks == NULL)
            free(c->parts[i].block);
        else
            k->blocks[k->block_count++] = c->parts[i].block;
    }
    return k->blocks == NULL ? err_memory(err, c->part_count * sizeof(k->blocks[0])) : SHEAF_OK;
}

static int read_all(struct call *c, const uint64_t *numbers, struct sheaf_error *err)
{
    int code = take_numbers(c, numbers, err);

    if (code == SHEAF_OK)
        code = make_parts(c, err);
    for (size_t i = 0; code == SHEAF_OK && i < c->part_count; i++)
        code = read_part(c, &c->parts[i], err);
    while (code == SHEAF_OK && c->group_count != 0)
        code = take_group(c, err);
    end_call(c);
    return code;
}

void sheaf_read_options_init(struct sheaf_read_options *options, size_t size)
{
    const struct sheaf_read_options all = { .sizeof_options = size,
                                            .memory_bytes = UINT64_C(1) << 30 };

    sized_give(options, size, &all, sizeof(all));
}

static struct sheaf_read_options options_of(const struct sheaf_read_options *given)
{
    struct sheaf_read_options own;

    sheaf_read_options_init(&own, sizeof(own));
    if (given != NULL)
        sized_take(&own, sizeof(own), given, given->sizeof_options);
    return own;
}

int sheaf_dataset_read(const struct sheaf_dataset *dataset, const uint64_t *numbers, size_t count,
                       const struct sheaf_read_options *options,
                       const struct sheaf_sample **samples, struct sheaf_kept **kept,
                       struct sheaf_error *err)
{
    const struct sheaf_read_options o = options_of(options);
    struct call c = { .dataset = dataset, .count = count, .budget.limit = o.memory_bytes,
                      .watch = { .progress = o.progress, .context = o.context,
                                 .interrupt = o.interrupt } };
    struct numbered *k;
    int code;

    if (dataset->is_stream)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "samples cannot be read by number from a "
                       "stream: compressed shards without an index, a pipe, or standard input");
    if (count == 0 || count > NUMBERS_MOST)
        return err_set(err, SHEAF_ERR_ARGUMENT, "%zu sample%s at once: expected 1 to %zu", count,
                       plural(count), NUMBERS_MOST);
    code = shard_pool_of(dataset, &c.pool, err);
    if (code != SHEAF_OK)
        return code;
    k = calloc(1, sizeof(*k));
    if (k == NULL)
        return err_memory(err, sizeof(*k));
    k->base.release = release;
    c.workers = shard_pool_workers(c.pool);
    code = read_all(&c, numbers, err);
    if (code == SHEAF_OK)
        code = give_blocks(&c, k, err);
    else
        (void)give_blocks(&c, k, NULL);
    if (code == SHEAF_OK)
        code = make_samples(&c, k, err);
    free(c.entries);
    free(c.parts);
    if (code != SHEAF_OK) {
        release(&k->base);
        return code;
    }
    *samples = k->samples;
    *kept = &k->base;
    return SHEAF_OK;
}
