/* SPDX-License-Identifier: MIT
 *
 * Unpacking: writes each field of each sample as a file. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/sized.h"
#include "copy/copying.h"
#include "copy/extract.h"

#define PATH_LIMIT 8192     /* bytes of a key and a suffix */

void sheaf_unpack_options_init(struct sheaf_unpack_options *options, size_t size)
{
    memset(options, 0, size);
    options->sizeof_options = size;
}

static int write_field(struct extract *extract, const struct sheaf_sample *sample,
                       const struct sheaf_field *field, struct sheaf_error *err)
{
    char path[PATH_LIMIT];
    const int n = snprintf(path, sizeof(path), "%s.%s", sample->key, field->suffix);

    if (n < 0 || (size_t)n >= sizeof(path))
        return err_set(err, SHEAF_ERR_LIMIT, "sample %" PRIu64 ": the path has %d bytes; the "
                       "limit is %d", sample->number, n, PATH_LIMIT - 1);
    return extract_file(extract, path, field->data, field->size, err);
}

static int unpack_sample(struct copying *c, struct extract *extract,
                         const struct sheaf_sample *sample, uint64_t *files,
                         struct sheaf_error *err)
{
    for (size_t i = 0; i < sample->field_count; i++) {
        const int code = write_field(extract, sample, &sample->fields[i], err);

        if (code != SHEAF_OK)
            return copying_place(c, sample, err);
        ++*files;
    }
    copying_done(c, sample);
    return SHEAF_OK;
}

static int unpack_all(struct copying *c, struct extract *extract,
                      struct sheaf_unpack_result *result, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    while (code == SHEAF_OK) {
        const struct sheaf_sample *samples;
        size_t count = 0;

        code = copying_next(c, 0, &samples, &count, err);
        for (size_t i = 0; i < count && code == SHEAF_OK; i++) {
            code = unpack_sample(c, extract, &samples[i], &result->files, err);
            if (code == SHEAF_OK)
                code = watch_check(&c->watch, err);
        }
    }
    result->samples = c->progress.done_count;
    result->bytes = c->progress.done_bytes;
    return code == SHEAF_END ? extract_sync(extract, err) : code;
}

/* Checks that the output equals the input. The reader checks its own sum. */
static int check_sum(const struct copying *c, const struct sheaf_unpack_result *r,
                     struct sheaf_error *err)
{
    struct sheaf_reader_stats stats;

    sheaf_reader_get_stats(c->reader, &stats, sizeof(stats));
    if (stats.samples == r->samples && stats.payload_bytes == r->bytes)
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_MISMATCH, "unpack: %" PRIu64 " sample%s (%" PRIu64 " byte%s) "
                   "were read, but %" PRIu64 " (%" PRIu64 " byte%s) written", stats.samples,
                   plural(stats.samples), stats.payload_bytes, plural(stats.payload_bytes),
                   r->samples, r->bytes, plural(r->bytes));
}

int sheaf_unpack(const struct sheaf_dataset *dataset, const char *directory,
                 const struct sheaf_unpack_options *options,
                 const struct sheaf_reader_options *reading, struct sheaf_unpack_result *result,
                 struct sheaf_reader_stats *stats, struct sheaf_error *error)
{
    struct sheaf_unpack_options o = { .resume = 0 };
    struct sheaf_unpack_result own_result;
    struct sheaf_error own_error;
    struct extract *extract = NULL;
    struct copying c;
    int code;

    result = result != NULL ? result : &own_result;
    error = error != NULL ? error : &own_error;
    *result = (struct sheaf_unpack_result){ .samples = 0 };
    if (options != NULL)
        sized_take(&o, sizeof(o), options, options->sizeof_options);
    copying_init(&c, dataset, &(struct watch){ .progress = o.progress, .context = o.context,
                                               .interrupt = o.interrupt }, "unpack");
    code = copying_open(&c, reading, error);
    if (code == SHEAF_OK)
        code = extract_open(directory, o.resume != 0, &extract, error);
    if (code == SHEAF_OK)
        code = unpack_all(&c, extract, result, error);
    if (code == SHEAF_OK)
        code = check_sum(&c, result, error);
    extract_close(extract);
    copying_close(&c, stats);
    return code;
}

int sheaf_unpack_samples(const struct sheaf_sample *samples, size_t count, const char *field,
                         const char *directory, struct sheaf_error *error)
{
    struct extract *extract = NULL;
    int code = extract_open(directory, false, &extract, error);

    for (size_t i = 0; i < count && code == SHEAF_OK; i++)
        for (size_t f = 0; f < samples[i].field_count && code == SHEAF_OK; f++)
            if (field == NULL || strcmp(samples[i].fields[f].name, field) == 0)
                code = write_field(extract, &samples[i], &samples[i].fields[f], error);
    if (code == SHEAF_OK)
        code = extract_sync(extract, error);
    extract_close(extract);
    return code;
}
