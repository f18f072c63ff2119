/* SPDX-License-Identifier: MIT
 *
 * sheaf_column_verify: checks a column. A column consists of layers, each of which is a data set.
 * Checks each layer as sheaf_verify does. Also checks that each record of the column belongs to the
 * right sample. The samples are those of the base, the data set to which the column was added. */
#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/sized.h"
#include "reader/dataset/column_pairs.h"

/* Counts of the problems that were found in a layer, a data set of the column. */
struct pair_problems {
    const struct sheaf_verify_options *options;
    const struct column_layer *layer;
    bool is_damaged;            /* whether sheaf_verify has found problems in it */
    uint64_t count;
};

static int count_problem(void *context, const struct sheaf_sample *record, uint64_t number,
                         const struct sheaf_error *problem, struct sheaf_error *err)
{
    struct pair_problems *p = context;

    (void)number;
    (void)err;
    if (problem == NULL)
        return SHEAF_OK;
    p->count++;
    if (p->options->report != NULL)
        p->options->report(p->options->context, p->layer->dataset->urls[record->shard], problem);
    return SHEAF_OK;
}

/* Returns true if sheaf_verify has already reported the problem with the code `code` in this layer
 * (a data set of the column). So it need not be reported again. */
static bool is_reported(const struct pair_problems *problems, int code)
{
    return code == SHEAF_ERR_CORRUPT ||
           (problems->is_damaged && (code == SHEAF_ERR_NOT_FOUND || code == SHEAF_ERR_TRUNCATED ||
                                     code == SHEAF_ERR_CHANGED || code == SHEAF_ERR_IO));
}

/* Checks that each record of a layer (one of the data sets that store the column) belongs to its
 * sample. Skips damaged records, and stops at a missing shard. Neither is reported here, because
 * sheaf_verify has already reported it. */
static int column_verify_read_layer(struct column_pairs *pairs, struct pair_problems *problems,
                                    struct sheaf_error *err)
{
    const struct sheaf_verify_options *o = problems->options;
    struct sheaf_reader_options options;
    int code;

    sheaf_reader_options_init(&options, sizeof(options));
    options.memory_bytes = o->memory_bytes;
    options.threads = o->threads;
    options.on_corrupt = SHEAF_SKIP;
    code = column_pairs_read(pairs, &options, o->interrupt, count_problem, problems, err);
    return is_reported(problems, code) ? SHEAF_OK : code;
}

static int column_verify_check_layer(const struct sheaf_dataset *base, uint64_t first,
                                     const struct column_layer *layer,
                                     const struct sheaf_verify_options *options,
                                     struct sheaf_verify_result *result, struct sheaf_error *err)
{
    struct column_pairs pairs = { .base = base, .first = first, .layer = layer };
    struct pair_problems problems = { .options = options, .layer = layer };
    struct sheaf_verify_result own;
    int code = sheaf_verify(layer->dataset, options, &own, err);

    problems.is_damaged = code == SHEAF_OK && own.problems != 0;
    if (code == SHEAF_OK)
        code = column_verify_read_layer(&pairs, &problems, err);
    column_pairs_close(&pairs);
    if (code != SHEAF_OK)
        return code;
    result->shards += own.shards;
    result->samples += own.samples;
    result->bytes += own.bytes;
    result->problems += own.problems + problems.count;
    return SHEAF_OK;
}

int sheaf_column_verify(const struct sheaf_dataset *d, const char *name,
                        const struct sheaf_verify_options *options,
                        struct sheaf_verify_result *result, struct sheaf_error *error)
{
    struct sheaf_verify_options own;
    struct sheaf_error own_error;
    int code = SHEAF_OK;

    error = error != NULL ? error : &own_error;
    sheaf_verify_options_init(&own, sizeof(own));
    sized_take(&own, sizeof(own), options);
    own.part = own.parts = 0;
    own.field = NULL;
    for (size_t i = 0; i < dataset_source_count(d) && code == SHEAF_OK; i++) {
        const struct sheaf_dataset *source = dataset_source_at(d, i);
        struct column_set set;

        code = column_set_open(source, name, &set, error);
        for (size_t k = 0; k < set.count && code == SHEAF_OK; k++)
            code = column_verify_check_layer(d, source->first_number, &set.layers[k], &own, result,
                                             error);
        column_set_close(&set);
    }
    return code;
}
