/* SPDX-License-Identifier: MIT
 *
 * sheaf_index_keys: gives a data set its table of keys, for those of releases that made none.  The
 * samples are read as an epoch is, in their order. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sized.h"
#include "formats/key_table.h"
#include "reader/lookup/key_file.h"

struct indexing {
    const char *directory;
    const struct sheaf_verify_options *options;
    struct sheaf_verify_result *result;
    struct sheaf_dataset *dataset;
    struct sheaf_reader *reader;
    struct sort *keys;
    size_t part;                /* of which these are */
};

static int open_dataset(const char *directory, struct sheaf_dataset **dataset,
                        struct sheaf_error *err)
{
    int code = sheaf_dataset_open(&directory, 1, dataset, err);

    if (code == SHEAF_OK && !(*dataset)->has_manifest)
        code = err_set(err, SHEAF_ERR_NOT_FOUND, "%s: has no %s: foreign shards get their table of "
                       "keys when they are indexed", directory, MANIFEST_NAME);
    return code;
}

static int open_reader(struct indexing *x, struct sheaf_error *err)
{
    struct sheaf_reader_options options;
    const uint64_t sorting = x->options->memory_bytes / 4;
    int code = key_file_sort(x->directory, sorting, &x->keys, err);

    sheaf_reader_options_init(&options, sizeof(options));
    options.no_shuffle = 1;
    options.shuffle_buffer = 0;
    options.threads = x->options->threads;
    options.memory_bytes = x->options->memory_bytes - sorting;
    return code == SHEAF_OK ? sheaf_reader_open(x->dataset, &options, &x->reader, err) : code;
}

static void show(const struct indexing *x)
{
    const struct sheaf_progress progress = {
        .stage = "index", .done_count = x->result->samples,
        .total_count = dataset_samples(x->dataset),
    };

    if (x->options->progress != NULL)
        x->options->progress(x->options->context, &progress);
}

/* A table that was made of what is there no more would be refused, so it is not left behind. */
static int check_same(const struct indexing *x, struct sheaf_error *err)
{
    struct sheaf_dataset *now = NULL;
    int code = open_dataset(x->directory, &now, err);

    if (code == SHEAF_OK &&
        strcmp(now->manifest.fingerprint, x->dataset->manifest.fingerprint) != 0)
        code = err_set(err, SHEAF_ERR_CHANGED, "%s: the data set was replaced while its keys were "
                       "read", x->directory);
    sheaf_dataset_free(now);
    return code;
}

/* Writes the table of a part whose samples have been read; the next one begins. */
static int end_part(struct indexing *x, struct sheaf_error *err)
{
    const struct dataset_part *part = &x->dataset->parts[x->part++];
    int code = check_same(x, err);

    if (code == SHEAF_OK)
        code = key_file_put(part->keys_url, part->fingerprint, part->samples, x->keys, err);
    sort_close(x->keys);
    x->keys = NULL;
    if (code == SHEAF_OK && x->part < x->dataset->part_count)
        code = key_file_sort(x->directory, x->options->memory_bytes / 4, &x->keys, err);
    return code;
}

static int take_key(struct indexing *x, const struct sheaf_sample *sample, struct sheaf_error *err)
{
    const struct dataset_part *part = &x->dataset->parts[x->part];
    int code;

    if (sample->number < part->first_number + part->samples)
        return key_table_add(x->keys, key_hash(sample->key), sample->number - part->first_number,
                             err);
    code = end_part(x, err);
    return code == SHEAF_OK ? take_key(x, sample, err) : code;
}

static int take_keys(struct indexing *x, struct sheaf_error *err)
{
    const struct sheaf_sample *sample;
    int code;

    while ((code = sheaf_reader_next(x->reader, &sample)) == SHEAF_OK) {
        code = take_key(x, sample, err);
        if (code != SHEAF_OK)
            return code;
        if (++x->result->samples % 256 == 0)
            show(x);
        if (x->options->interrupt != NULL && *x->options->interrupt != 0)
            return err_set(err, SHEAF_ERR_INTERRUPTED, "%s: interrupted", x->directory);
    }
    if (code != SHEAF_END && err != NULL)
        *err = *sheaf_reader_error(x->reader);
    return code == SHEAF_END ? SHEAF_OK : code;
}

static int index_keys(struct indexing *x, struct sheaf_error *err)
{
    struct sheaf_reader_stats stats;
    int code = open_dataset(x->directory, &x->dataset, err);

    if (code == SHEAF_OK)
        code = open_reader(x, err);
    if (code == SHEAF_OK)
        code = take_keys(x, err);
    while (code == SHEAF_OK && x->part < x->dataset->part_count)
        code = end_part(x, err);
    if (code != SHEAF_OK)
        return code;
    sheaf_reader_get_stats(x->reader, &stats, sizeof(stats));
    x->result->shards = x->dataset->manifest.shard_count;
    x->result->bytes = stats.read_bytes;
    x->result->passed_over = stats.passed_over;
    return SHEAF_OK;
}

int sheaf_index_keys(const char *directory, const struct sheaf_verify_options *options,
                     struct sheaf_verify_result *result, struct sheaf_error *err)
{
    struct sheaf_verify_options own;
    struct indexing x = { .directory = directory, .options = &own, .result = result };
    int code;

    sheaf_verify_options_init(&own, sizeof(own));
    if (options != NULL)
        sized_take(&own, sizeof(own), options, options->sizeof_options);
    memset(result, 0, sizeof(*result));
    code = index_keys(&x, err);
    sheaf_reader_free(x.reader);
    sheaf_dataset_free(x.dataset);
    sort_close(x.keys);
    return code;
}
