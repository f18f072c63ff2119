/* SPDX-License-Identifier: MIT
 *
 * sheaf_index_keys: makes a table of keys for a data set that an old release has packed without
 * this table. Reads all samples in order. */
#include "reader/lookup/index_keys.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sized.h"
#include "base/workers.h"
#include "formats/key_table.h"
#include "publish/output.h"
#include "publish/publish_keys.h"
#include "publish/strays.h"
#include "reader/dataset/dataset.h"
#include "store/over.h"

struct keys_indexing {
    const char *directory;
    const struct sheaf_verify_options *options;
    bool replaces_strays;       /* whether to replace files of other programs */
    struct sheaf_verify_result *result;
    struct sheaf_dataset *dataset;
    struct sheaf_reader *reader;
    struct publish_keys keys;
    struct output output;
    char *dest;                 /* directory of the tables */
    size_t part;                /* number of the part that is being read */
};

static int index_keys_open_dataset(const char *directory, struct sheaf_dataset **dataset,
                                   struct sheaf_error *err)
{
    int code = sheaf_dataset_open(&directory, 1, dataset, err);

    if (code == SHEAF_OK && !(*dataset)->has_manifest)
        code = err_set(err, SHEAF_ERR_NOT_FOUND, "%s: has no %s: foreign shards get their table of "
                       "keys when they are indexed", directory, MANIFEST_NAME);
    return code;
}

static int open_reader(struct keys_indexing *x, struct sheaf_error *err)
{
    struct sheaf_reader_options options;
    const uint64_t sorting = x->options->memory_bytes / 4;
    int code = publish_keys_open(&x->keys, x->dest, sorting, err);

    sheaf_reader_options_init(&options, sizeof(options));
    options.no_shuffle = 1;
    options.shuffle_buffer = 0;
    options.threads = x->options->threads;
    options.memory_bytes = x->options->memory_bytes - sorting;
    return code == SHEAF_OK ? sheaf_reader_open(x->dataset, &options, &x->reader, err) : code;
}

static void index_keys_show(const struct keys_indexing *x)
{
    const struct sheaf_progress progress = {
        .stage = "index", .done_count = x->result->samples,
        .total_count = dataset_samples(x->dataset),
    };

    if (x->options->progress != NULL)
        x->options->progress(x->options->context, &progress);
}

/* Returns an error if the data set was replaced while its keys were read. The table of keys would
 * then be for samples that no longer exist. */
static int index_keys_check_same(const struct keys_indexing *x, struct sheaf_error *err)
{
    struct sheaf_dataset *now = NULL;
    int code = index_keys_open_dataset(x->directory, &now, err);

    if (code == SHEAF_OK &&
        strcmp(now->manifest.fingerprint, x->dataset->manifest.fingerprint) != 0)
        code = err_set(err, SHEAF_ERR_CHANGED, "%s: the data set was replaced while its keys were "
                       "read", x->directory);
    sheaf_dataset_free(now);
    return code;
}

/* Returns SHEAF_ERR_EXISTS if another program has written a file under the name of the part's table
 * of keys. */
static int index_keys_check_stray(const struct keys_indexing *x, const struct dataset_part *part,
                                  struct sheaf_error *err)
{
    struct store_seen seen = { .is_there = false };
    const int code = x->replaces_strays ? SHEAF_OK : store_see(part->keys_url, &seen, err);

    return code == SHEAF_OK ? strays_check_table(part->keys_url, &seen, err) : code;
}

/* Writes the table of keys for a part of the data set, and begins the table of the next part. (Each
 * run that appended samples has added a part.) Called after the last sample of the part. */
static int index_keys_end_part(struct keys_indexing *x, struct sheaf_error *err)
{
    const struct dataset_part *part = &x->dataset->parts[x->part++];
    int code = index_keys_check_same(x, err);

    x->keys.keyed = part->keyed;
    if (code == SHEAF_OK)
        code = publish_keys_put(&x->keys, &x->output, strrchr(part->keys_url, '/') + 1,
                                part->fingerprint,
                                x->replaces_strays ? NULL : strays_check_table, err);
    publish_keys_close(&x->keys);
    if (code == SHEAF_OK && x->part < x->dataset->part_count)
        code = publish_keys_open(&x->keys, x->dest, x->options->memory_bytes / 4, err);
    return code;
}

static int index_keys_take_key(struct keys_indexing *x, const struct sheaf_sample *sample,
                               struct sheaf_error *err)
{
    const struct dataset_part *part = &x->dataset->parts[x->part];
    int code;

    if (sample->number < part->first_number + part->samples)
        return publish_keys_add_hash(&x->keys, key_hash(sample->key), err);
    code = index_keys_end_part(x, err);
    return code == SHEAF_OK ? index_keys_take_key(x, sample, err) : code;
}

static int index_keys_take(struct keys_indexing *x, struct sheaf_error *err)
{
    const struct sheaf_sample *sample;
    int code;

    while ((code = sheaf_reader_next(x->reader, &sample)) == SHEAF_OK) {
        code = index_keys_take_key(x, sample, err);
        if (code != SHEAF_OK)
            return code;
        if (++x->result->samples % 256 == 0)
            index_keys_show(x);
        if (x->options->interrupt != NULL && *x->options->interrupt != 0)
            return err_set(err, SHEAF_ERR_INTERRUPTED, "%s: interrupted", x->directory);
    }
    if (code != SHEAF_END && err != NULL)
        *err = *sheaf_reader_error(x->reader);
    return code == SHEAF_END ? SHEAF_OK : code;
}

/* Claims the data set, so that no other run can change it. Returns an error if the data set is not
 * the one that was opened, or if a table of keys would replace a file of another program. */
static int index_keys_claim(struct keys_indexing *x, struct sheaf_error *err)
{
    const char *url = x->dataset->parts[0].keys_url;
    bool finished;
    int code;

    x->dest = strndup(url, (size_t)(strrchr(url, '/') - url));
    code = x->dest == NULL ? err_memory(err, strlen(url))
                           : output_open(&x->output, x->dest, NULL, NULL, "index", err);
    if (code == SHEAF_OK)
        code = output_add_split(&x->output, "", 0, err);
    if (code == SHEAF_OK)
        code = output_claim(&x->output, ASK_KEYS, &finished, err);
    for (size_t i = 0; i < x->dataset->part_count && code == SHEAF_OK; i++)
        code = index_keys_check_stray(x, &x->dataset->parts[i], err);
    return code == SHEAF_OK ? index_keys_check_same(x, err) : code;
}

static int index_keys_read_all(struct keys_indexing *x, struct sheaf_error *err)
{
    struct sheaf_reader_stats stats;
    int code = open_reader(x, err);

    if (code == SHEAF_OK)
        code = index_keys_take(x, err);
    while (code == SHEAF_OK && x->part < x->dataset->part_count)
        code = index_keys_end_part(x, err);
    if (code != SHEAF_OK)
        return code;
    sheaf_reader_get_stats(x->reader, &stats, sizeof(stats));
    x->result->shards = x->dataset->manifest.shard_count;
    x->result->bytes = stats.read_bytes;
    x->result->passed_over = stats.passed_over;
    return SHEAF_OK;
}

static int index_keys(struct keys_indexing *x, struct sheaf_error *err)
{
    int code = index_keys_open_dataset(x->directory, &x->dataset, err);

    if (code == SHEAF_OK)
        code = index_keys_claim(x, err);
    if (code == SHEAF_OK)
        code = index_keys_read_all(x, err);
    if (code == SHEAF_OK)
        return journal_clear(&x->output.journal, err);
    if (x->output.journal.claim.is_there)
        (void)journal_clear(&x->output.journal, NULL);
    return code;
}

static int index_keys_run(const char *directory, const struct sheaf_verify_options *options,
                          bool replaces_strays, struct sheaf_verify_result *result,
                          struct sheaf_error *err)
{
    struct sheaf_verify_options own;
    struct keys_indexing x = { .directory = directory, .options = &own, .result = result,
                               .replaces_strays = replaces_strays, .output.lock = -1 };
    int code;

    sheaf_verify_options_init(&own, sizeof(own));
    sized_take(&own, sizeof(own), options);
    memset(result, 0, sizeof(*result));
    code = workers_check("threads", own.threads, err);
    if (code == SHEAF_OK)
        code = index_keys(&x, err);
    sheaf_reader_free(x.reader);
    sheaf_dataset_free(x.dataset);
    publish_keys_close(&x.keys);
    output_close(&x.output);
    free(x.dest);
    return code;
}

int sheaf_index_keys(const char *directory, const struct sheaf_verify_options *options,
                     struct sheaf_verify_result *result, struct sheaf_error *err)
{
    return index_keys_run(directory, options, false, result, err);
}

int index_keys_again(const char *directory, const struct sheaf_verify_options *options,
                     struct sheaf_verify_result *result, struct sheaf_error *err)
{
    return index_keys_run(directory, options, true, result, err);
}
