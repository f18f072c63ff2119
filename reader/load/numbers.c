/* SPDX-License-Identifier: MIT
 *
 * Reads samples by their numbers, for random access. The requested numbers are sorted and divided
 * by shard. All numbers of one shard are called a part. Records of a part that lie close together
 * form a group, and each group is read with one read.
 *
 * The bytes of a group include unwanted records between the requested records. So the frames
 * (stored records) of the requested samples are copied into one block of memory for each part, and
 * the other bytes are dropped.
 *
 * If memory allows, several groups are read at the same time. Shards are opened in advance. The
 * samples are returned in the order in which their numbers were requested. */
#include "reader/load/numbers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/sized.h"
#include "base/watch.h"
#include "reader/load/decode.h"
#include "reader/load/kept.h"
#include "reader/load/shard_pool.h"
#include "reader/load/stretch.h"
#include "reader/load/unpack.h"

#define NUMBERS_MOST     ((size_t)1 << 20)
#define GROUP_BYTES      ((uint64_t)8 << 20)    /* largest size of a group that contains gaps */
#define GROUP_RECORDS    ((size_t)4096)
#define READS_MOST       64u                    /* largest number of reads under way */
#define PARTS_AHEAD      32u                    /* largest number of open shards */
#define ALIGNMENT        ((uint64_t)16)

/* An entry for a requested sample number. */
struct number_entry {
    uint64_t number;
    size_t asked;               /* index in the caller's array of numbers */
    /* The record of the sample in memory, or its error. If a sample was requested several times,
     * all entries for it point to the same item. */
    struct item *item;
};

/* The requested samples that are in one shard. */
struct shard_part {
    uint32_t shard_number;
    size_t first, end;
    struct shard *shard;        /* NULL if the shard is not open */
};

struct record_group {
    struct shard_part *part;
    size_t first, end;          /* range of the group's entries */
    uint64_t memory_bytes;
    /* the read that brings the group's records into memory; NULL if this read has ended */
    struct read *read;
};

struct numbered_samples {
    struct sheaf_kept base;
    size_t count;
    struct sheaf_sample *samples;
    struct decode_scratch *scratch;
    uint8_t **blocks;           /* for each shard: the memory for its requested records */
    size_t block_count;
};

/* The state of one call of numbers_read. */
struct call {
    const struct sheaf_dataset *dataset;
    struct shard_pool *pool;
    struct workers *workers;
    struct watch watch;
    struct budget budget;
    struct numbers_read *facts;
    struct number_entry *entries;
    size_t count;
    struct shard_part *parts;
    size_t part_count, opened;
    /* Ranges of records (runs) that the next read must bring. A read is for one group: requested
     * records of a shard that lie close together. */
    struct run *runs;
    /* Groups of records that are being read now, one read for each group. The array is a ring, and
     * its oldest entry has the index `oldest`. */
    struct record_group groups[READS_MOST];
    size_t oldest, group_count;
    struct numbered_samples *result;
};

/* ---- What is asked for ---------------------------------------------------------------------- */

static int numbers_by_number(const void *a, const void *b)
{
    const struct number_entry *x = a, *y = b;

    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return x->asked < y->asked ? -1 : 1;
}

static int numbers_take(struct call *c, const uint64_t *numbers, struct sheaf_error *err)
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
    qsort(c->entries, c->count, sizeof(c->entries[0]), numbers_by_number);
    return SHEAF_OK;
}

static int make_parts(struct call *c, struct sheaf_error *err)
{
    const struct sheaf_dataset *d = c->dataset;

    c->parts = calloc(c->count, sizeof(c->parts[0]));
    c->runs = calloc(MIN(c->count, GROUP_RECORDS), sizeof(c->runs[0]));
    if (c->parts == NULL || c->runs == NULL)
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
    c->result->blocks = calloc(c->part_count, sizeof(c->result->blocks[0]));
    return c->result->blocks == NULL ? err_memory(err, c->part_count * sizeof(uint8_t *))
                                     : SHEAF_OK;
}

static uint64_t record_of(const struct call *c, const struct shard_part *part, size_t entry)
{
    return c->entries[entry].number - c->dataset->first_numbers[part->shard_number];
}

/* ---- Waiting -------------------------------------------------------------------------------- */

static int numbers_wait_for(struct call *c, struct job *job, struct sheaf_error *err)
{
    uint64_t waited = 0;

    if (!workers_wait_or(c->workers, job, dataset_is_local(c->dataset), &c->watch, &waited))
        return err_set(err, SHEAF_ERR_INTERRUPTED, "interrupted");
    return watch_check(&c->watch, err);
}

/* ---- Parts ---------------------------------------------------------------------------------- */

static uint64_t slot_bytes(const struct shard *shard, uint64_t record)
{
    return (read_piece_bytes(shard, record) + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
}

static int numbers_no_room(const struct call *c, const struct shard_part *part, uint64_t bytes,
                           struct sheaf_error *err)
{
    err_set(err, SHEAF_ERR_LIMIT, "%s: %" PRIu64 " bytes more are needed to read samples by "
            "number, but of the %" PRIu64 " bytes of memory %" PRIu64 " are in use: ask for fewer "
            "at once", dataset_shown(c->dataset, part->shard_number), bytes, c->budget.limit,
            c->budget.used);
    return err_because(err, SHEAF_ERR_LIMIT, SHEAF_REASON_MEMORY);
}

static int open_ahead(struct call *c, size_t part, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (; code == SHEAF_OK && c->opened < MIN(c->part_count, part + PARTS_AHEAD); c->opened++)
        code = shard_pool_use(c->pool, c->parts[c->opened].shard_number,
                              &c->parts[c->opened].shard, err);
    return code;
}

/* Begins a part, that is, all requested samples of one shard. Waits until the shard is open, and
 * allocates one block of memory for its requested records. */
static int begin_part(struct call *c, struct shard_part *part, uint8_t **block,
                      struct sheaf_error *err)
{
    uint64_t bytes = 0;
    int code = open_ahead(c, (size_t)(part - c->parts), err);

    if (code == SHEAF_OK)
        code = numbers_wait_for(c, &part->shard->job, err);
    if (code != SHEAF_OK)
        return code;
    if (part->shard->code != SHEAF_OK) {
        if (err != NULL)
            *err = part->shard->error;
        return part->shard->code;
    }
    if (c->facts->crcs != NULL && part->shard->section->crcs == NULL)
        return err_because(err, err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: its index has no "
                                        "checksums, which show the records of a column to belong "
                                        "to its samples",
                                        dataset_shown(c->dataset, part->shard_number)),
                           SHEAF_REASON_NOT_INDEXED);
    for (size_t i = part->first; i < part->end; i++)
        if (i == part->first || c->entries[i].number != c->entries[i - 1].number)
            bytes += slot_bytes(part->shard, record_of(c, part, i));
    if (!budget_take(&c->budget, bytes))
        return numbers_no_room(c, part, bytes, err);
    *block = aligned_alloc(ALIGNMENT, bytes + ALIGNMENT);
    c->result->blocks[c->result->block_count++] = *block;
    return *block == NULL ? err_memory(err, bytes) : SHEAF_OK;
}

/* ---- Groups --------------------------------------------------------------------------------- */

/* Returns true if the record `next` is close enough to be read together with the records `first` to
 * `last`. */
static bool joins(struct shard *shard, uint64_t first, uint64_t last, uint64_t next)
{
    const struct index_section *s = shard->section;
    const struct run both = { .shard = shard, .first = first, .count = (size_t)(next - first) + 1 };

    if (s->blocks != NULL)
        return extent_is_in_block(&both);
    return stretch_joins(s, last, next, stretch_gap_of(shard))
           && s->offsets[next] + index_frame_bytes(s, next) - s->offsets[first] <= GROUP_BYTES;
}

/* Plans the read of a group of records that lie close together. The group begins with entry
 * g->first in the sorted list of requested numbers. If `joined` is true, the next requested records
 * are added if they are close.
 *
 * The plan has one run (range of records) for each record. If all records are in one codec block, a
 * local block is read in small steps, only up to the last requested record. A remote block is read
 * with one request. */
static struct read_plan plan_group(const struct call *c, struct record_group *g, bool joined)
{
    struct shard *shard = g->part->shard;
    struct run *runs = c->runs, whole;
    struct read_plan plan = { .runs = runs, .run_count = 1, .apart = true };

    runs[0] = (struct run){ .shard = shard, .first = record_of(c, g->part, g->first), .count = 1 };
    for (g->end = g->first + 1; g->end < g->part->end; g->end++) {
        const uint64_t last = runs[plan.run_count - 1].first;
        const uint64_t next = record_of(c, g->part, g->end);

        if (next == last)
            continue;           /* The caller has requested this number twice. */
        if (!joined || plan.run_count == GROUP_RECORDS || !joins(shard, runs[0].first, last, next))
            break;
        runs[plan.run_count++] = (struct run){ .shard = shard, .first = next, .count = 1,
                                               .joins = true };
    }
    (void)run_row(runs, plan.run_count, &whole);
    if (extent_is_in_block(&whole))
        plan.step_bytes = shard->object->is_remote ? UINT64_MAX : unpack_step(false);
    return plan;
}

/* Sets the memory for each requested record of the group. This memory begins at *slot, in the block
 * that was allocated for all requested records of the shard. */
static void numbers_place_items(struct call *c, const struct record_group *g, uint8_t **slot)
{
    size_t n = 0;

    for (size_t i = g->first; i < g->end; i++) {
        struct number_entry *e = &c->entries[i];

        if (c->facts->crcs != NULL)
            c->facts->crcs[e->asked] = g->part->shard->section->crcs[record_of(c, g->part, i)];
        if (i != g->first && e->number == e[-1].number) {
            e->item = e[-1].item;       /* The caller has requested this number twice. */
            continue;
        }
        e->item = (struct item *)(void *)*slot;
        g->read->each[n++] = e->item;
        *slot += slot_bytes(g->part->shard, record_of(c, g->part, i));
    }
}

static bool is_read_here(const struct call *c, const struct record_group *g)
{
    return c->count == 1 && !g->part->shard->object->is_remote;
}

static int begin_group(struct call *c, struct record_group *g, const struct read_plan *plan,
                       uint8_t **slot, struct sheaf_error *err)
{
    struct read *read = calloc(1, sizeof(*read));
    struct work *work = calloc(1, sizeof(*work));
    int code = SHEAF_ERR_MEMORY;

    if (read != NULL && work != NULL)
        code = read_open(read, work, plan, c->dataset, c->workers, err);
    if (code == SHEAF_OK) {
        read->each = calloc(read->span, sizeof(read->each[0]));
        code = read->each == NULL ? SHEAF_ERR_MEMORY : SHEAF_OK;
    }
    if (code != SHEAF_OK) {
        work_free(work);
        free(read);
        return err_memory(err, sizeof(*work));
    }
    g->read = read;
    numbers_place_items(c, g, slot);
    if (is_read_here(c, g))
        read_run(read);
    else
        read_start(read);
    return SHEAF_OK;
}

/* Ends the read of a group of records. Frees the buffers of the read, and the errors of bad
 * records. The records themselves stay in the block of memory for their shard. */
static void numbers_end_group(struct call *c, struct record_group *g)
{
    struct read *r = g->read;

    for (size_t i = 0; r->bad_count != 0 && i < r->span; i++)
        item_free_error(r->each[i]);
    work_free(r->work);
    free(r->each);
    free(r);
    budget_give(&c->budget, g->memory_bytes);
    g->read = NULL;
}

static int error_of(const struct record_group *g, struct sheaf_error *err)
{
    const struct read *r = g->read;

    if (r->work->code != SHEAF_OK) {
        if (err != NULL)
            *err = r->work->error;
        return r->work->code;
    }
    for (size_t i = 0; i < r->span; i++) {
        if (!r->each[i]->is_bad)
            continue;
        if (err != NULL)
            *err = *r->each[i]->bad;
        return r->each[i]->bad->code;
    }
    return SHEAF_OK;
}

/* Waits for the oldest group and ends it. */
static int take_group(struct call *c, struct sheaf_error *err)
{
    struct record_group *g = &c->groups[c->oldest];
    struct shard_part *part = g->part;
    int code = is_read_here(c, g) ? SHEAF_OK : numbers_wait_for(c, &g->read->work->job, err);

    if (code != SHEAF_OK)
        return code;                    /* The read is still under way. */
    code = error_of(g, err);
    numbers_end_group(c, g);
    if (g->end == part->end) {
        shard_pool_drop(c->pool, part->shard);
        part->shard = NULL;
    }
    c->oldest = (c->oldest + 1) % READS_MOST;
    c->group_count--;
    return code;
}

/* Makes room for the read of a group of records: ends reads of earlier groups, until there is
 * enough memory. */
static int numbers_make_room(struct call *c, struct record_group *g, const struct read_plan *plan,
                             struct sheaf_error *err)
{
    int code = SHEAF_OK;

    g->memory_bytes = read_needs_of(plan).work;
    while (code == SHEAF_OK && (c->group_count == READS_MOST
                                || !budget_take(&c->budget, g->memory_bytes))) {
        if (c->group_count == 0)
            return SHEAF_END;
        code = take_group(c, err);
    }
    return code;
}

/* Reads the group of records that begins with entry g->first. Returns SHEAF_END if there is not
 * enough memory even when no other group is being read. */
static int read_group(struct call *c, struct record_group *g, bool joined, uint8_t **slot,
                      struct sheaf_error *err)
{
    const struct read_plan plan = plan_group(c, g, joined);
    int code = numbers_make_room(c, g, &plan, err);

    if (code != SHEAF_OK)
        return code;
    code = begin_group(c, g, &plan, slot, err);
    if (code != SHEAF_OK)
        budget_give(&c->budget, g->memory_bytes);
    return code;
}

static int numbers_read_part(struct call *c, struct shard_part *part, struct sheaf_error *err)
{
    uint8_t *slot;
    int code = begin_part(c, part, &slot, err);

    for (size_t i = part->first; code == SHEAF_OK && i < part->end;) {
        struct record_group g = { .part = part, .first = i };

        code = read_group(c, &g, true, &slot, err);
        if (code == SHEAF_END)          /* Try a smaller group. */
            code = read_group(c, &g, false, &slot, err);
        if (code == SHEAF_END)
            return numbers_no_room(c, part, g.memory_bytes, err);
        if (code != SHEAF_OK)
            break;
        c->groups[(c->oldest + c->group_count++) % READS_MOST] = g;
        i = g.end;
    }
    return code;
}

/* Ends all reads, and frees everything except the blocks. */
static void end_call(struct call *c)
{
    for (size_t i = 0; i < c->group_count; i++)
        read_cancel(c->groups[(c->oldest + i) % READS_MOST].read);
    for (size_t i = 0; i < c->group_count; i++) {
        struct record_group *g = &c->groups[(c->oldest + i) % READS_MOST];

        if (!is_read_here(c, g))
            workers_wait(c->workers, &g->read->work->job);
        numbers_end_group(c, g);
    }
    for (size_t i = 0; i < c->part_count; i++)
        shard_pool_drop(c->pool, c->parts[i].shard);
}

/* ---- What is given out ---------------------------------------------------------------------- */

static void numbers_release(struct sheaf_kept *kept)
{
    struct numbered_samples *k = (struct numbered_samples *)(void *)kept;

    for (size_t i = 0; k->scratch != NULL && i < k->count; i++)
        decode_scratch_free(&k->scratch[i]);
    for (size_t i = 0; i < k->block_count; i++)
        free(k->blocks[i]);
    free(k->scratch);
    free(k->samples);
    free(k->blocks);
    free(k);
}

static int make_samples(struct call *c, struct sheaf_error *err)
{
    struct numbered_samples *k = c->result;
    int code = SHEAF_OK;

    k->samples = calloc(c->count, sizeof(k->samples[0]));
    k->scratch = calloc(c->count, sizeof(k->scratch[0]));
    if (k->samples == NULL || k->scratch == NULL)
        return err_memory(err, c->count * sizeof(k->scratch[0]));
    k->count = c->count;
    for (size_t i = 0; code == SHEAF_OK && i < c->count; i++) {
        const struct number_entry *e = &c->entries[i];
        const struct format_ops *format = dataset_source(c->dataset, e->item->shard)->format;

        code = decode_item(c->dataset, format, e->item, &k->scratch[e->asked],
                           &k->samples[e->asked], err);
    }
    return code;
}

static int numbers_read_all(struct call *c, const uint64_t *numbers, struct sheaf_error *err)
{
    int code = numbers_take(c, numbers, err);

    if (code == SHEAF_OK)
        code = make_parts(c, err);
    for (size_t i = 0; code == SHEAF_OK && i < c->part_count; i++)
        code = numbers_read_part(c, &c->parts[i], err);
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

struct sheaf_read_options numbers_options(const struct sheaf_read_options *given)
{
    struct sheaf_read_options own;

    sheaf_read_options_init(&own, sizeof(own));
    sized_take(&own, sizeof(own), given);
    return own;
}

int numbers_read(const struct sheaf_dataset *dataset, const uint64_t *numbers, size_t count,
                 const struct sheaf_read_options *o, struct numbers_read *facts,
                 const struct sheaf_sample **samples, struct sheaf_kept **kept,
                 struct sheaf_error *err)
{
    struct call c = { .dataset = dataset, .count = count, .facts = facts,
                      .budget.limit = o->memory_bytes,
                      .watch = { .progress = o->progress, .context = o->context,
                                 .interrupt = o->interrupt, .stage = "read" } };
    struct numbered_samples *k;
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
    k->base.release = numbers_release;
    c.workers = shard_pool_workers(c.pool);
    c.result = k;
    code = numbers_read_all(&c, numbers, err);
    if (code == SHEAF_OK)
        code = make_samples(&c, err);
    free(c.entries);
    free(c.parts);
    free(c.runs);
    if (code != SHEAF_OK) {
        numbers_release(&k->base);
        return code;
    }
    facts->memory_bytes = c.budget.used;
    *samples = k->samples;
    *kept = &k->base;
    return SHEAF_OK;
}
