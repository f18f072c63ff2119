/* SPDX-License-Identifier: MIT
 *
 * Reads samples by their numbers, for random access. This is a loader with one queue, as in an
 * epoch, but a list takes the place of the order: the requested numbers, sorted. So the samples are
 * in the order of their shards, and the queue plans their reads like those of an epoch (stretch.h).
 * The samples are returned in the order in which their numbers were requested.
 *
 * All numbers of one shard are called a part. Shards are opened in advance. */
#include "reader/load/numbers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/sized.h"
#include "reader/load/decode.h"
#include "reader/load/kept.h"
#include "reader/load/queue.h"
#include "reader/load/shard_pool.h"
#include "reader/load/stretch.h"
#include "reader/load/unpack.h"

#define NUMBERS_MOST     ((size_t)1 << 20)
#define NUMBERS_BYTES    ((uint64_t)8 << 20)    /* largest size of a read without codec blocks */
#define RUNS_MOST        ((size_t)4096)         /* largest number of runs in a read */
#define READS_MOST       64u                    /* largest number of reads under way */
/* If records are far apart in a local shard, one read takes several of them, but at most this part
 * of all requested records. So several threads share the work. */
#define READ_PART        32u
#define PARTS_AHEAD      32u                    /* largest number of shards opened in advance */

/* An entry for a requested sample number. */
struct number_entry {
    uint64_t number;
    size_t asked;               /* index in the caller's array of numbers */
};

/* The requested samples that are in one shard. */
struct shard_part {
    uint32_t shard_number;
    size_t first, end;
    struct shard *shard;        /* NULL if the shard is not open */
};

/* The result. Its arrays are in the same allocation. */
struct numbered_samples {
    struct sheaf_kept base;
    size_t count;
    struct decode_scratch *scratch;
    /* The records in memory, in the order of their numbers. If a number was requested several
     * times, its record is here only once. Each item was allocated by malloc, because the loader
     * has no heap. */
    struct item **items;
    size_t item_count;
    struct sheaf_sample samples[];
};

/* The state of one call of numbers_read. */
struct call {
    /* Its member `shards` has no shards, only the budget. The open shards are in the pool. The call
     * has a reference to each shard from which it reads, so the reads never drop the last one. */
    struct loader loader;
    struct queue queue;
    struct sequence sequence;   /* It has only the number of samples. */
    struct shard_pool *pool;
    struct numbers_read *facts;
    struct number_entry *entries;
    size_t count;
    struct shard_part *parts;
    size_t part_count, opened;
    struct run *runs;           /* the runs (ranges of records) of the read that is planned */
    /* index of the first entry for which no read is planned yet, and of its part */
    size_t planned, planned_part;
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
    const uint64_t samples = dataset_samples(c->loader.dataset);

    c->entries = calloc(c->count, sizeof(c->entries[0]) + sizeof(c->parts[0]));
    c->runs = calloc(MIN(c->count, RUNS_MOST), sizeof(c->runs[0]));
    if (c->entries == NULL || c->runs == NULL)
        return err_memory(err, c->count * sizeof(c->entries[0]));
    c->parts = (struct shard_part *)(void *)(c->entries + c->count);
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

/* Returns true if the number of an entry is the same as that of the entry before it, because the
 * caller has requested this number several times. */
static bool is_again(const struct call *c, size_t entry)
{
    return entry != 0 && c->entries[entry].number == c->entries[entry - 1].number;
}

static void find_parts(struct call *c)
{
    const struct sheaf_dataset *d = c->loader.dataset;

    for (size_t i = 0; i < c->count;) {
        struct shard_part *part = &c->parts[c->part_count++];
        const uint32_t shard = dataset_shard_of(d, c->entries[i].number);

        part->shard_number = shard;
        part->first = i;
        for (; i < c->count && c->entries[i].number < d->first_numbers[shard + 1]; i++)
            c->sequence.count += !is_again(c, i);
        part->end = i;
    }
}

static uint64_t record_of(const struct call *c, const struct shard_part *part, size_t entry)
{
    return c->entries[entry].number - c->loader.dataset->first_numbers[part->shard_number];
}

/* ---- Reads ---------------------------------------------------------------------------------- */

static int numbers_no_room(const struct call *c, const struct shard_part *part,
                           const struct read_plan *plan, struct sheaf_error *err)
{
    const struct read_needs n = read_needs_of(plan);

    err_set(err, SHEAF_ERR_LIMIT, "%s: %" PRIu64 " bytes more are needed to read samples by "
            "number, but of the %" PRIu64 " bytes of memory %" PRIu64 " are in use: ask for fewer "
            "at once", dataset_shown(c->loader.dataset, part->shard_number),
            n.work + n.block + n.pieces, c->loader.budget.limit, c->loader.budget.used);
    return err_because(err, SHEAF_ERR_LIMIT, SHEAF_REASON_MEMORY);
}

static int open_ahead(struct call *c, struct sheaf_error *err)
{
    const size_t end = MIN(c->part_count, c->planned_part + PARTS_AHEAD);
    int code = SHEAF_OK;

    while (code == SHEAF_OK && c->opened < end) {
        struct shard_part *part = &c->parts[c->opened];

        code = shard_pool_use(c->pool, part->shard_number, &part->shard, err);
        c->opened += code == SHEAF_OK;
    }
    return code;
}

/* Waits until the shard of the part is open, and chooses the thread that reads from it. A single
 * local sample is read on this thread. */
static int enter_part(struct call *c, const struct shard_part *part, struct sheaf_error *err)
{
    int code = open_ahead(c, err);

    if (code == SHEAF_OK)
        code = loader_open_shard(&c->loader, part->shard, err);
    if (code != SHEAF_OK)
        return code;
    if (c->facts->crcs != NULL && part->shard->section->crcs == NULL)
        return err_because(err, err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: its index has no "
                                        "checksums, which show the records of a column to belong "
                                        "to its samples",
                                        dataset_shown(c->loader.dataset, part->shard_number)),
                           SHEAF_REASON_NOT_INDEXED);
    c->loader.workers = c->count == 1 && !part->shard->object->is_remote
                      ? NULL : shard_pool_workers(c->pool);
    return watch_check(&c->loader.watch, err);
}

/* Plans a read of the first records that are not planned yet. If `alone` is true, the read has only
 * one record. Returns the index of the first entry after these records. Each record gets an
 * allocation of its own, and a single record is read directly to its place there.
 *
 * Each read decompresses its codec block from the beginning. So one read takes all requested
 * records of a block, if they need at most half of the memory that is left. */
static size_t plan_entries(const struct call *c, const struct shard_part *part, bool alone,
                           struct stretch *t)
{
    uint64_t bytes = c->loader.read_most;
    size_t i = c->planned;

    if (part->shard->section->blocks != NULL)
        bytes = MAX(bytes, budget_room(&c->loader.budget) / 2);
    t->runs = c->runs;
    t->run_most = MIN(c->count, RUNS_MOST);
    stretch_begin(t, &c->loader, part->shard, record_of(c, part, i), bytes,
                  MAX(c->count / READ_PART, 1) - 1);
    while (++i < part->end)
        if (!is_again(c, i) && (alone || !stretch_add(t, record_of(c, part, i), false, 0)))
            break;
    t->plan.apart = t->plan.run_count != 1 || t->runs[0].count != 1;
    if (alone)
        t->plan.step_bytes = MIN(t->plan.step_bytes, unpack_step(part->shard->object->is_remote));
    return i;
}

/* Implements queue_ops.plan. */
static int plan_numbers(struct loader *l, struct queue *q, struct sheaf_error *err)
{
    struct call *c = (struct call *)(void *)l;
    const struct shard_part *part = &c->parts[c->planned_part];
    struct stretch t;
    size_t end;
    int code = enter_part(c, part, err);

    if (code != SHEAF_OK)
        return code;
    end = plan_entries(c, part, false, &t);
    code = queue_begin_read(l, q, &t.plan, err);
    if (code == SHEAF_END && q->first == NULL) {        /* No other read will free its memory. */
        end = plan_entries(c, part, true, &t);
        code = queue_begin_read(l, q, &t.plan, err);
        if (code == SHEAF_END)
            return numbers_no_room(c, part, &t.plan, err);
    }
    if (code != SHEAF_OK)
        return code;
    part->shard->users += (unsigned)t.plan.run_count;
    c->planned = end;
    c->planned_part += end == part->end;
    return SHEAF_OK;
}

static const struct queue_ops queue_of_numbers = {
    .plan = plan_numbers, .pump = queue_pump_planned, .take = queue_take_planned,
};

/* Takes the next record from the queue. */
static int take_item(struct call *c, struct sheaf_error *err)
{
    struct numbered_samples *k = c->result;
    struct ref ref;
    const int code = queue_take(&c->loader, &c->queue, true, &ref, err);

    if (code != SHEAF_OK)
        return code;
    k->items[k->item_count++] = ref.item;
    if (ref.read != NULL) {     /* The block of the read has only this item. The result keeps it. */
        ref.read->table = NULL;
        ref.read->bad_count = 0;
        ref.read->alone_bytes = 0;
        loader_leave(&c->loader, ref.read);
    }
    if (ref.item->is_bad)
        *err = *ref.item->bad;
    return ref.item->is_bad ? err->code : SHEAF_OK;
}

/* Takes the records of a part from the queue. */
static int take_part(struct call *c, struct shard_part *part, struct sheaf_error *err)
{
    for (size_t i = part->first; i < part->end; i++) {
        const int code = is_again(c, i) ? SHEAF_OK : take_item(c, err);

        if (code != SHEAF_OK)
            return code;
        if (c->facts->crcs != NULL)
            c->facts->crcs[c->entries[i].asked] = part->shard->section->crcs[record_of(c, part, i)];
    }
    shard_pool_drop(c->pool, part->shard);
    part->shard = NULL;
    return SHEAF_OK;
}

/* Ends all reads, and frees their memory, except for the samples. */
static void end_reads(struct call *c)
{
    struct loader *l = &c->loader;

    loader_cancel_reads(l);
    loader_wait_for_all(l);
    queue_clear(l, &c->queue);
    loader_free(l);
    for (size_t i = 0; i < c->opened; i++)
        shard_pool_drop(c->pool, c->parts[i].shard);
}

/* ---- What is given out ---------------------------------------------------------------------- */

static void numbers_release(struct sheaf_kept *kept)
{
    struct numbered_samples *k = (struct numbered_samples *)(void *)kept;

    for (size_t i = 0; i < k->count; i++)
        decode_scratch_free(&k->scratch[i]);
    for (size_t i = 0; i < k->item_count; i++) {
        item_free_error(k->items[i]);
        free(k->items[i]);
    }
    free(k);
}

/* Makes a result with `count` samples, which are empty. */
static struct numbered_samples *new_result(size_t count)
{
    struct numbered_samples *k = calloc(1, sizeof(*k) + count * (sizeof(k->samples[0]) +
                                                                 sizeof(k->scratch[0]) +
                                                                 sizeof(k->items[0])));

    if (k == NULL)
        return NULL;
    k->base.release = numbers_release;
    k->count = count;
    k->scratch = (struct decode_scratch *)(void *)(k->samples + count);
    k->items = (struct item **)(void *)(k->scratch + count);
    return k;
}

static int make_samples(struct call *c, struct sheaf_error *err)
{
    const struct sheaf_dataset *d = c->loader.dataset;
    struct numbered_samples *k = c->result;
    struct item **item = k->items;
    int code = SHEAF_OK;

    for (size_t i = 0; code == SHEAF_OK && i < c->count; i++) {
        const size_t asked = c->entries[i].asked;

        item += i != 0 && !is_again(c, i);
        code = decode_item(d, dataset_source(d, (*item)->shard)->format, *item,
                           &k->scratch[asked], &k->samples[asked], err);
    }
    return code;
}

static int numbers_read_all(struct call *c, const uint64_t *numbers, struct sheaf_error *err)
{
    int code = numbers_take(c, numbers, err);

    if (code == SHEAF_OK)
        find_parts(c);
    for (size_t i = 0; code == SHEAF_OK && i < c->part_count; i++)
        code = take_part(c, &c->parts[i], err);
    end_reads(c);
    if (code == SHEAF_OK)
        code = make_samples(c, err);
    free(c->entries);
    free(c->runs);
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
    struct call c = {
        .loader = { .dataset = dataset, .budget.limit = o->memory_bytes,
                    .shards.budget = &c.loader.budget, .queue_ops = &queue_of_numbers,
                    .queues = &c.queue, .queue_count = 1, .keep = 1, .queued_most = READS_MOST,
                    .read_most = NUMBERS_BYTES,
                    /* A remote codec block is read with one request if there is enough memory. */
                    .step_bytes = { unpack_step(false), UINT64_MAX },
                    .outsize_bytes = UINT64_MAX, .spare_most_bytes = UINT64_MAX,
                    .watch = { .progress = o->progress, .context = o->context,
                               .interrupt = o->interrupt, .stage = "read" } },
        .queue.sequence = &c.sequence, .count = count, .facts = facts,
    };
    struct sheaf_error ignored;
    int code;

    if (err == NULL)
        err = &ignored;
    if (dataset->is_stream)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "samples cannot be read by number from a "
                       "stream: compressed shards without an index, a pipe, or standard input");
    if (count == 0 || count > NUMBERS_MOST)
        return err_set(err, SHEAF_ERR_ARGUMENT, "%zu sample%s at once: expected 1 to %zu", count,
                       plural(count), NUMBERS_MOST);
    code = shard_pool_of(dataset, &c.pool, err);
    if (code != SHEAF_OK)
        return code;
    c.result = new_result(count);
    if (c.result == NULL)
        return err_memory(err, count * sizeof(c.result->samples[0]));
    code = numbers_read_all(&c, numbers, err);
    if (code != SHEAF_OK) {
        numbers_release(&c.result->base);
        return code;
    }
    facts->memory_bytes = c.loader.budget.used;
    *samples = c.result->samples;
    *kept = &c.result->base;
    return SHEAF_OK;
}
