/* SPDX-License-Identifier: MIT
 *
 * The public functions of the reader. reader/order computes the order of the samples. epoch.c runs
 * an epoch. reader/load and reader/dataset read and check the samples. memory.c divides the
 * memory. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/flag.h"
#include "base/sized.h"
#include "reader/dataset/kept_manifest.h"
#include "reader/load/decode.h"
#include "reader/column_fields.h"
#include "reader/epoch.h"
#include "reader/epoch_order.h"
#include "reader/memory.h"
#include "reader/position.h"
#include "reader/reader_features.h"
#include "reader/reader_options.h"
#include "reader/load/stream.h"
#include "reader/sum.h"
#include "store/request.h"

#define BATCH_LIMIT ((size_t)1 << 20)       /* largest number of samples in a batch */
#define THREADS_MOST 8u                     /* largest default number of threads */

/* Returns the default number of threads. For local files there is one thread less than usual,
 * because the thread that calls sheaf_reader_next also runs jobs. For a network file system there
 * are more threads, because they wait most of the time. */
static unsigned threads_for(const struct sheaf_dataset *d)
{
    const unsigned processors = MIN(workers_processors(), THREADS_MOST);

    if (d->read_bytes != 0)
        return THREADS_MOST;
    return dataset_is_local(d) ? MAX(processors, 2) - 1 : processors;
}

/* Stores the manifests of all remote sources in the cache. The data sets can then be opened
 * offline. */
static void keep_manifests(const struct sheaf_dataset *d, const struct cache *cache)
{
    for (size_t i = 0; i < dataset_source_count(d); i++) {
        const struct sheaf_dataset *source = dataset_source_at(d, i);

        if (source->has_manifest && source->is_remote && source->manifest_json != NULL)
            kept_manifest_put(cache, source->url, source->manifest_json);
    }
}

/* Opens the cache for remote shards. Its memory is a part of the reader's memory budget. */
static int open_cache(struct sheaf_reader *r, struct sheaf_error *err)
{
    struct budget *budget = &r->load.budget;

    const char *directory = r->dataset->offline != NULL ? r->dataset->offline
                                                        : r->options.cache_directory;
    int code;

    if (directory == NULL || !r->dataset->is_remote)
        return SHEAF_OK;
    if (budget->limit <= CACHE_MEMORY)
        return err_set(err, SHEAF_ERR_LIMIT, "the cache needs %" PRIu64 " bytes of memory, but the "
                       "budget is %" PRIu64, CACHE_MEMORY, budget->limit);
    budget->limit -= CACHE_MEMORY;
    code = cache_open(&r->load.cache, directory, r->options.cache_bytes, err);
    if (code == SHEAF_OK && r->dataset->offline != NULL)
        cache_go_offline(r->load.cache);
    else if (code == SHEAF_OK)
        keep_manifests(r->dataset, r->load.cache);
    return code;
}

int sheaf_reader_open(const struct sheaf_dataset *dataset,
                      const struct sheaf_reader_options *options, struct sheaf_reader **reader,
                      struct sheaf_error *err)
{
    struct sheaf_reader *r = calloc(1, sizeof(*r));
    int code;

    if (r == NULL)
        return err_memory(err, sizeof(*r));
    r->opened_ns = clock_ns();
    r->dataset = r->load.dataset = dataset;
    r->load.queue_ops = &queue_in_order;        /* memory_choose sets it again for each epoch. */
    r->epoch_order = epoch_order_of(dataset);
    reader_options_take(&r->options, options);
    if (r->options.threads == 0)
        r->options.threads = threads_for(dataset);
    r->load.budget.limit = r->options.memory_bytes;
    r->load.watch.interrupt = &r->interrupt;
    code = reader_options_order(dataset, &r->options, &r->load.order, &r->member, err);
    if (code == SHEAF_OK) {
        code = epoch_set_lanes(r);
        if (code != SHEAF_OK && err != NULL)
            *err = r->error;
    }
    if (code == SHEAF_OK)
        code = dataset_seed_sources(dataset, &r->seed_sources, err);
    if (code == SHEAF_OK)
        code = workers_open(&r->load.workers, r->options.threads, err);
    if (code == SHEAF_OK)
        code = open_cache(r, err);
    if (code == SHEAF_OK)
        code = shards_init(&r->load.shards, dataset, r->load.workers, &r->load.budget,
                           r->load.cache, err);
    if (code == SHEAF_OK)
        code = columns_open(dataset, r->options.columns, r->options.column_count, &r->columns,
                            err);
    if (code == SHEAF_OK)
        code = columns_open_indexes(r->columns, &r->load.budget, r->load.cache, err);
    r->load.shards.columns = r->columns;
    if (code == SHEAF_OK)
        code = memory_open_heap(r, true, err);
    r->load.shards.keep_short = r->options.on_corrupt == SHEAF_SKIP;
    if (code == SHEAF_OK) {
        code = epoch_begin(r, 0, 0);
        if (code != SHEAF_OK && err != NULL)
            *err = r->error;
    }
    if (code != SHEAF_OK) {
        sheaf_reader_free(r);
        return code;
    }
    *reader = r;
    return SHEAF_OK;
}

void sheaf_reader_free(struct sheaf_reader *r)
{
    if (r == NULL)
        return;
    if (r->load.workers != NULL)
        epoch_end(r);
    loader_free(&r->load);
    workers_close(r->load.workers);
    if (r->load.shards.dataset != NULL)
        shards_free(&r->load.shards);
    cache_close(r->load.cache);
    column_fields_free(r);
    columns_free(r->columns);
    for (size_t i = 0; i < r->out_capacity; i++)
        decode_scratch_free(&r->scratch[i]);
    free(r->scratch);
    free(r->samples);
    free(r->out);
    if (r->epoch_order != NULL && r->epoch_order->free != NULL)
        r->epoch_order->free(r);
    free(r->load.queues);
    free(r->lanes);
    free(r->gaps);
    free(r->seed_sources);
    free(r);
}

static int begin_at(struct sheaf_reader *r, uint64_t epoch, uint64_t sample)
{
    int code;

    if (r->dead)
        return err_set(&r->error, SHEAF_ERR_STATE, "the reader has failed, and can only be closed");
    epoch_end(r);
    r->load.order.epoch = epoch;
    code = epoch_begin(r, sample / r->own_lanes, sample % r->own_lanes);
    r->dead = code != SHEAF_OK;
    return code;
}

int sheaf_reader_begin_epoch(struct sheaf_reader *r, uint64_t epoch)
{
    return begin_at(r, epoch, 0);
}

/* Moves to the sample with the number `sample`. (In a stream, this is not possible.)
 *
 * The lanes (sequences of samples) take turns, and each turn returns one sample. A lane that ends
 * early comes after all longer lanes, so no turn is empty. So sample number n is returned by turn
 * number n. A sample that is left out, for example because it is damaged, also has a turn. */
int sheaf_reader_seek(struct sheaf_reader *r, uint64_t epoch, uint64_t sample)
{
    if (r->dataset->is_stream || sample > r->epoch_samples)
        return err_set(&r->error, SHEAF_ERR_ARGUMENT, "cannot seek to sample %" PRIu64 ": that "
                       "requires an epoch with at least that number of samples, and no "
                       "stream", sample);
    return begin_at(r, epoch, sample);
}

uint64_t sheaf_reader_epoch_samples(const struct sheaf_reader *r)
{
    return r->epoch_samples;
}

/* ---- next ----------------------------------------------------------------------------------- */

/* Makes room for a batch of `count` samples. */
static int reader_make_room(struct sheaf_reader *r, size_t count)
{
    struct out *out;
    struct sheaf_sample *samples;
    struct decode_scratch *scratch;

    if (count <= r->out_capacity)
        return SHEAF_OK;
    if (count > BATCH_LIMIT)
        return err_set(&r->error, SHEAF_ERR_LIMIT, "a batch of %zu samples exceeds the limit of "
                       "%zu", count, BATCH_LIMIT);
    out = realloc(r->out, count * sizeof(*out));
    if (out != NULL)
        r->out = out;
    samples = realloc(r->samples, count * sizeof(*samples));
    if (samples != NULL)
        r->samples = samples;
    scratch = realloc(r->scratch, count * sizeof(*scratch));
    if (scratch != NULL)
        r->scratch = scratch;
    if (out == NULL || samples == NULL || scratch == NULL)
        return err_memory(&r->error, count * sizeof(*scratch));
    if (column_fields_room(r, r->column_scratch_count, count) != SHEAF_OK)
        return r->error.code;
    memset(scratch + r->out_capacity, 0, (count - r->out_capacity) * sizeof(*scratch));
    r->out_capacity = count;
    return SHEAF_OK;
}

static const struct format_ops *format_in_use(const struct sheaf_reader *r, uint32_t shard)
{
    const struct format_ops *format = dataset_source(r->dataset, shard)->format;

    return format != NULL ? format : stream_format(r->load.queues[0].stream);
}

/* Decodes record number `i` of the batch, and makes sample number `i` from it. Returns SHEAF_END if
 * the sample must be left out. */
static int reader_decode(struct sheaf_reader *r, size_t i)
{
    const struct item *item = r->out[i].ref.item;
    int code;

    r->scratch[i].keeps = r->keeps_features;
    code = decode_item(r->dataset, format_in_use(r, item->shard), item, &r->scratch[i],
                       &r->samples[i], &r->error);
    return code == SHEAF_OK && r->columns != NULL ? column_fields_add(r, i) : code;
}

void reader_keep_features(struct sheaf_reader *r)
{
    r->keeps_features = true;
}

struct kept_features reader_features(const struct sheaf_reader *r,
                                     const struct sheaf_sample *sample)
{
    const struct buf *kept = &r->scratch[sample - r->samples].kept;

    return (struct kept_features){ (struct kept_feature *)(void *)kept->data,
                          kept->size / sizeof(struct kept_feature) };
}

/* Returns the seed of the sample that was drawn last. In a view (a mix of data sets), the seed
 * depends on the epoch of the sample's source. */
static uint64_t seed_of(const struct sheaf_reader *r, const struct sheaf_sample *sample)
{
    return dataset_sample_seed(r->dataset, r->seed_sources, sample, r->load.order.seed,
                               r->epoch_order->source_epoch(r));
}

static void reader_count_sample(struct sheaf_reader *r, const struct item *item,
                                const struct sheaf_sample *sample)
{
    const uint64_t size = item->size + (item->has_name ? item->name_size + 1 : 0);

    r->stats.chosen_bytes += dataset_stored_bytes(r->dataset, item->shard, size);
    if (r->stats.samples++ == 0)
        r->stats.first_sample_ns = clock_ns() - r->opened_ns;
    r->stats.repeated += item->repeats;
    for (size_t i = 0; i < sample->field_count; i++)
        r->stats.payload_bytes += sample->fields[i].size;
}

/* Reads the next sample and adds it to the batch. Damaged records are skipped if the options allow
 * this. A record that exceeds a limit counts as damaged. */
static int next_sample(struct sheaf_reader *r)
{
    struct ref *ref = &r->out[r->out_count].ref;

    for (;;) {
        struct sheaf_error bad;
        const struct item *item;
        int code = epoch_next(r, ref);

        if (code != SHEAF_OK)
            return code;
        item = ref->item;
        code = reader_decode(r, r->out_count);
        if (code == SHEAF_OK)
            code = position_count(r);
        if (code == SHEAF_OK) {
            r->samples[r->out_count].ordinal = r->turns - 1 - r->sum.empty;
            r->samples[r->out_count].repeated = item->repeats;
            r->samples[r->out_count].seed = seed_of(r, &r->samples[r->out_count]);
            reader_count_sample(r, item, &r->samples[r->out_count++]);
            return SHEAF_OK;
        }
        if (code == SHEAF_END) {
            r->sum.missing++;
            code = SHEAF_OK;
        } else if (code == SHEAF_ERR_CORRUPT || code == SHEAF_ERR_LIMIT) {
            bad = r->error;
            code = epoch_bad(r, item->shard, &bad);
        }
        loader_release(&r->load, ref);
        if (code != SHEAF_OK)
            return code;
    }
}

/* Ends a batch because of an error, or at the end of the epoch.
 *
 * If the batch already has samples, they are returned now, and an error is stored for the next
 * call. An interruption or a lack of memory is stored only if a record was lost. If no record was
 * lost, the next call tries to read the same record again. */
static int end_batch(struct sheaf_reader *r, int code)
{
    if (r->out_count != 0) {
        const bool comes_again = code == SHEAF_ERR_LIMIT || code == SHEAF_ERR_INTERRUPTED;

        if (code < 0 && (!comes_again || sum_is_open(r))) {
            r->kept_code = code;
            r->kept = r->error;
        }
        return SHEAF_OK;
    }
    r->dead = code < 0 && code != SHEAF_ERR_INTERRUPTED;
    return code;
}

static int check_state(struct sheaf_reader *r)
{
    if (r->dead)
        return err_set(&r->error, SHEAF_ERR_STATE, "the reader has failed, and can only be closed");
    epoch_release(r);
    if (r->kept_code != SHEAF_OK) {
        r->error = r->kept;
        r->dead = true;
        return r->kept_code;
    }
    if (flag_take(&r->interrupt))
        return err_set(&r->error, SHEAF_ERR_INTERRUPTED, "interrupted");
    return SHEAF_OK;
}

int sheaf_reader_next_batch(struct sheaf_reader *r, size_t max,
                            const struct sheaf_sample **samples, size_t *count)
{
    int code;

    *count = 0;
    if (max == 0)
        return err_set(&r->error, SHEAF_ERR_ARGUMENT, "a batch of 0 samples: expected 1 or more");
    code = check_state(r);
    if (code == SHEAF_OK)
        code = reader_make_room(r, max);
    if (code != SHEAF_OK)
        return code;
    code = epoch_go_on(r);
    while (code == SHEAF_OK && r->out_count < max)
        code = next_sample(r);
    if (code == SHEAF_ERR_INTERRUPTED && r->out_count == 0)
        (void)flag_take(&r->interrupt);
    if (code != SHEAF_OK)
        code = end_batch(r, code);
    *samples = r->samples;
    *count = r->out_count;
    return code;
}

int sheaf_reader_next(struct sheaf_reader *r, const struct sheaf_sample **sample)
{
    size_t count;

    return sheaf_reader_next_batch(r, 1, sample, &count);
}

/* ---- The rest ------------------------------------------------------------------------------- */

void sheaf_reader_interrupt(struct sheaf_reader *r)
{
    flag_raise(&r->interrupt);
}

static void get_own_stats(const struct sheaf_reader *r, struct sheaf_reader_stats *stats)
{
    struct sheaf_reader_stats all = r->stats;
    uint64_t fetched;

    all.epoch = r->load.order.epoch;
    all.read_bytes = r->load.read_bytes;
    all.stall_ns = r->load.stall_ns;
    all.passed_over = r->dataset->passed_over + r->load.counts.passed_over;
    all.lost_bytes = r->dataset->lost_bytes + r->load.counts.lost_bytes;
    all.repeated_keys = r->dataset->repeated_keys + r->load.counts.repeated_keys;
    all.memory_bytes = r->load.budget.used;
    all.memory_peak_bytes = r->load.budget.peak;
    if (r->load.cache != NULL) {
        all.memory_bytes += CACHE_MEMORY;
        all.memory_peak_bytes += CACHE_MEMORY;
        cache_counts(r->load.cache, &all.cached_bytes, &fetched, &all.uncached_objects);
    }
    *stats = all;
}

void sheaf_reader_get_stats(const struct sheaf_reader *r, struct sheaf_reader_stats *stats,
                            size_t sizeof_stats)
{
    struct sheaf_reader_stats all = { .samples = 0 };

    if (r != NULL)
        get_own_stats(r, &all);
    request_counts(&all.requests, &all.retries);
    sized_give(stats, sizeof_stats, &all, sizeof(all));
}

const struct sheaf_error *sheaf_reader_error(const struct sheaf_reader *r)
{
    return &r->error;
}
