/* SPDX-License-Identifier: MIT
 *
 * sheaf_dataset_find: finds samples by their keys. The data set has tables of keys, which contain
 * parts of the keys' hashes. The tables show which samples may have a given key (the candidates).
 * The candidates are read, and those with the right key are returned. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/key_table.h"
#include "reader/load/kept.h"
#include "reader/load/numbers.h"
#include "reader/lookup/key_file.h"
#include "reader/lookup/number_columns.h"

struct found {
    struct sheaf_kept base;
    /* memory with the samples that were found; NULL if no sample was found */
    struct sheaf_kept *read;
    struct sheaf_sample *samples;
    size_t *firsts;
};

static void find_release(struct sheaf_kept *kept)
{
    struct found *f = (struct found *)(void *)kept;

    sheaf_kept_free(f->read);
    free(f->samples);
    free(f->firsts);
    free(f);
}

static int find_by_asked(const void *x, const void *y)
{
    const struct key_match *a = x, *b = y;

    if (a->asked != b->asked)
        return a->asked < b->asked ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

/* Finds the samples that may have one of the keys (the candidates). Searches one source of the data
 * set after another. In `matches`, a candidate has its number in the whole data set, and not its
 * number in the source. */
static int find_matches(const struct sheaf_dataset *d, const uint64_t *hashes, size_t count,
                        const volatile int *interrupt, struct buf *matches,
                        struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (size_t i = 0; i < dataset_source_count(d) && code == SHEAF_OK; i++) {
        const struct sheaf_dataset *source = dataset_source_at(d, i);
        size_t at = matches->size;

        code = key_file_find(source, hashes, count, interrupt, matches, err);
        for (; at < matches->size; at += sizeof(struct key_match))
            ((struct key_match *)(void *)(matches->data + at))->number += source->first_number;
    }
    if (matches->size != 0)
        qsort(matches->data, matches->size / sizeof(struct key_match), sizeof(struct key_match),
              find_by_asked);
    return code;
}

static int hash_keys(const char *const *keys, size_t count, uint64_t **hashes,
                     struct sheaf_error *err)
{
    *hashes = calloc(count + 1, sizeof((*hashes)[0]));
    if (*hashes == NULL)
        return err_memory(err, count * sizeof((*hashes)[0]));
    for (size_t i = 0; i < count; i++)
        (*hashes)[i] = key_hash(keys[i]);
    return SHEAF_OK;
}

/* Called after the samples that may have a requested key were read. Selects the samples that do
 * have a requested key. If a column has no value for a selected sample, returns an error, unless
 * the options allow samples without a value. */
static int find_choose(const struct sheaf_dataset *d, const struct sheaf_read_options *options,
                       struct found *f, const char *const *keys, size_t count,
                       const struct key_match *matches, size_t match_count,
                       const struct sheaf_sample *samples, const uint32_t *lacks,
                       struct sheaf_error *err)
{
    size_t kept = 0, m = 0;

    for (size_t i = 0; i < count; i++) {
        f->firsts[i] = kept;
        for (; m < match_count && matches[m].asked == i; m++) {
            if (strcmp(samples[m].key, keys[i]) != 0)
                continue;
            if (lacks[m] != LACKS_NONE && options->missing == SHEAF_MISSING_FAIL)
                return number_columns_refuse(d, &samples[m], options->columns[lacks[m]], err);
            f->samples[kept++] = samples[m];
        }
    }
    f->firsts[count] = kept;
    return SHEAF_OK;
}

static int read_matches(const struct sheaf_dataset *d, const struct key_match *matches,
                        size_t count, const struct sheaf_read_options *options, struct found *f,
                        const struct sheaf_sample **samples, uint32_t *lacks,
                        struct sheaf_error *err)
{
    uint64_t *numbers = calloc(count + 1, sizeof(numbers[0]));
    int code = SHEAF_OK;

    if (numbers == NULL)
        return err_memory(err, count * sizeof(numbers[0]));
    for (size_t i = 0; i < count; i++)
        numbers[i] = matches[i].number;
    if (count != 0)
        code = number_columns_read(d, numbers, count, options, lacks, samples, &f->read, err);
    free(numbers);
    return code;
}

static int find_do(const struct sheaf_dataset *d, const char *const *keys, size_t count,
                   const struct sheaf_read_options *options, struct found *f,
                   struct sheaf_error *err)
{
    struct buf matches = BUF_INIT(SIZE_MAX / 4);
    const struct sheaf_sample *samples = NULL;
    uint64_t *hashes = NULL;
    uint32_t *lacks;
    size_t match_count;
    int code = hash_keys(keys, count, &hashes, err);

    if (code == SHEAF_OK)
        code = find_matches(d, hashes, count, options->interrupt, &matches, err);
    match_count = matches.size / sizeof(struct key_match);
    lacks = calloc(match_count + 1, sizeof(lacks[0]));
    if (code == SHEAF_OK && lacks == NULL)
        code = err_memory(err, match_count * sizeof(lacks[0]));
    if (code == SHEAF_OK)
        code = read_matches(d, (const void *)matches.data, match_count, options, f, &samples, lacks,
                            err);
    f->samples = calloc(match_count + 1, sizeof(f->samples[0]));
    f->firsts = calloc(count + 1, sizeof(f->firsts[0]));
    if (code == SHEAF_OK && (f->samples == NULL || f->firsts == NULL))
        code = err_memory(err, match_count * sizeof(f->samples[0]));
    if (code == SHEAF_OK)
        code = find_choose(d, options, f, keys, count, (const void *)matches.data, match_count,
                           samples, lacks, err);
    free(lacks);
    buf_free(&matches);
    free(hashes);
    return code;
}

int sheaf_dataset_find(const struct sheaf_dataset *dataset, const char *const *keys, size_t count,
                       const struct sheaf_read_options *options,
                       const struct sheaf_sample **samples, const size_t **firsts,
                       struct sheaf_kept **kept, struct sheaf_error *err)
{
    const struct sheaf_read_options o = numbers_options(options);
    struct found *f;
    int code;

    if (dataset->is_stream)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "samples cannot be found by key in a stream: "
                       "compressed shards without an index, a pipe, or standard input");
    if (dataset->offline != NULL && dataset->is_remote)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: was opened offline, and the table of its "
                       "keys is not in the cache: ask for numbers, or open it with its server",
                       dataset->url);
    f = calloc(1, sizeof(*f));
    if (f == NULL)
        return err_memory(err, sizeof(*f));
    f->base.release = find_release;
    code = find_do(dataset, keys, count, &o, f, err);
    if (code != SHEAF_OK) {
        find_release(&f->base);
        return code;
    }
    *samples = f->samples;
    *firsts = f->firsts;
    *kept = &f->base;
    return SHEAF_OK;
}
