/* SPDX-License-Identifier: MIT
 *
 * Reads the samples to be copied; see copying.h. */
#include "copy/copying.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/timed_wait.h"
#include "reader/reader_options.h"
#include "store/store.h"

#define BATCH   64          /* samples asked for at once */
#define TICK_NS 100000000u
/* Largest number of samples in the shuffle buffer, which needs 64 bytes for each sample. A data set
 * with at most this number of samples is shuffled completely. In a larger data set, the order of
 * the shards is permuted, and a sample is shuffled only with samples that are in the buffer at the
 * same time. */
#define SHUFFLE_MOST ((uint64_t)4 << 20)

static void *copying_wake(void *argument)
{
    struct copying *c = argument;

    pthread_mutex_lock(&c->lock);
    while (!c->locked.is_ending)
        if (!wait_for(&c->ending, &c->lock, TICK_NS))
            sheaf_reader_interrupt(c->reader);
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

void copying_init(struct copying *c, const struct sheaf_dataset *dataset, const struct watch *watch,
                  const char *stage)
{
    *c = (struct copying){ .dataset = dataset, .watch = *watch, .progress.stage = stage };
    sheaf_dataset_get_info(dataset, &c->info, sizeof(c->info));
    c->progress.total_bytes = c->info.payload_bytes;
    c->progress.total_count = c->info.samples;
    pthread_mutex_init(&c->lock, NULL);
    timed_cond_init(&c->ending);
}

/* Copies the caller's options to `own`, except the options about the order of samples, because a
 * copy has an order of its own. The copy also does not use memory that the caller has allocated
 * (the member `memory`). */
static void copying_take_options(const struct copying *c, struct sheaf_reader_options *own,
                                 const struct sheaf_reader_options *given)
{
    const uint64_t count = c->info.is_view ? c->info.epoch_samples : c->info.samples;

    reader_options_take(own, given);
    own->epoch = own->rank = own->worker = 0;
    own->world_size = own->workers = 1;
    own->remainder = SHEAF_REMAINDER_AUTO;
    own->memory = NULL;
    own->memory_needed = NULL;
    own->no_shuffle = !c->shuffles;
    own->seed = c->seed;
    own->lanes = 1;
    own->shuffle_buffer = MIN(count, SHUFFLE_MOST);
}

/* Returns an error if the source is a view that returns some samples several times in an epoch,
 * because a copy must contain each sample only once. */
static int check_once(const struct copying *c, struct sheaf_error *err)
{
    struct sheaf_source_info s;

    for (size_t i = 0; c->info.is_view
         && sheaf_dataset_source(c->dataset, i, &s, sizeof(s)) == SHEAF_OK; i++) {
        const double times = s.share * (double)c->info.epoch_samples / (double)s.chosen;

        if (s.share * (double)c->info.epoch_samples >= (double)s.chosen + 1)
            return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: the samples that the view chooses of "
                           "it come %.4g times an epoch, and a copy has each only once", s.url,
                           times);
    }
    return SHEAF_OK;
}

int copying_open(struct copying *c, const struct sheaf_reader_options *options,
                 struct sheaf_error *err)
{
    struct sheaf_reader_options own;
    int code, failed;

    copying_take_options(c, &own, options);
    code = check_once(c, err);
    if (code == SHEAF_OK && c->shuffles && c->info.is_stream)
        code = err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: can only be read in its own order, so it "
                       "cannot be shuffled: sheaf index makes a data set of it", c->info.url);
    if (code == SHEAF_OK)
        code = sheaf_reader_open(c->dataset, &own, &c->reader, err);
    if (code == SHEAF_OK)
        code = watch_check(&c->watch, err);
    if (code != SHEAF_OK || (c->watch.progress == NULL && c->watch.interrupt == NULL))
        return code;
    failed = pthread_create(&c->waker, NULL, copying_wake, c);
    c->has_waker = failed == 0;
    return failed == 0 ? SHEAF_OK : err_errno(err, failed, "cannot start a thread");
}

int copying_next(struct copying *c, size_t most, const struct sheaf_sample **samples,
                 size_t *count, struct sheaf_error *err)
{
    int code;

    do {
        watch_show(&c->watch, &c->progress);
        code = watch_check(&c->watch, err);
        if (code != SHEAF_OK)
            return code;
        code = sheaf_reader_next_batch(c->reader, most == 0 || most > BATCH ? BATCH : most, samples,
                                       count);
    } while (code == SHEAF_ERR_INTERRUPTED);
    if (code < 0)
        *err = *sheaf_reader_error(c->reader);
    return code;
}

int copying_check_space(const struct copying *c, const char *dest, uint64_t files,
                        struct sheaf_error *err)
{
    if (c->info.is_view || c->info.is_stream)
        return SHEAF_OK;
    return store_check_space(dest, c->info.payload_bytes, files, err);
}

void copying_done(struct copying *c, const struct sheaf_sample *sample)
{
    for (size_t i = 0; i < sample->field_count; i++)
        c->progress.done_bytes += sample->fields[i].size;
    c->progress.done_count++;
}

int copying_place(const struct copying *c, const struct sheaf_sample *sample,
                  struct sheaf_error *err)
{
    struct sheaf_shard_info shard;

    if (err->code == SHEAF_ERR_ARGUMENT)
        err->code = SHEAF_ERR_UNSUPPORTED;
    if (sheaf_dataset_shard(c->dataset, sample->shard, &shard, sizeof(shard)) == SHEAF_OK)
        err_prefix(err, "%.300s: record %" PRIu64 ": ", shard.name, sample->record);
    if (err->code == SHEAF_ERR_EXISTS && c->info.source_count > 1)
        err_append(err, "; if it is of two of the %zu sources, leave it out of one with "
                   "\"not_keys\" in a view", c->info.source_count);
    return err->code;
}

void copying_close(struct copying *c, struct sheaf_reader_stats *stats)
{
    if (c->has_waker) {
        pthread_mutex_lock(&c->lock);
        c->locked.is_ending = true;
        pthread_cond_signal(&c->ending);
        pthread_mutex_unlock(&c->lock);
        pthread_join(c->waker, NULL);
    }
    if (stats != NULL && c->reader != NULL)
        sheaf_reader_get_stats(c->reader, stats, sizeof(*stats));
    sheaf_reader_free(c->reader);
    pthread_cond_destroy(&c->ending);
    pthread_mutex_destroy(&c->lock);
}
