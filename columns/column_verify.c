/* SPDX-License-Identifier: MIT
 *
 * sheaf_column_verify: checks the layers of a column as data sets, and whether each record belongs
 * to its sample of the base. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/sized.h"
#include "base/watch.h"
#include "formats/index.h"
#include "reader/dataset/column_sets.h"
#include "reader/dataset/sections.h"

#define BATCH 256u

struct pairing {
    const struct sheaf_dataset *base;
    uint64_t first;             /* number of the source's first sample in it */
    const struct column_layer *layer;
    const struct sheaf_verify_options *options;
    struct sections sections;
    struct index_section *section;      /* of the base's shard `shard` */
    uint32_t shard;
    uint64_t problems;
};

/* Makes sure of the section with the base's sample `number`. */
static int find_section(struct pairing *p, uint64_t number, struct sheaf_error *err)
{
    const uint64_t *first = p->base->first_numbers;
    uint8_t *data = NULL;
    int code;

    if (p->section != NULL && number < first[p->shard + 1])
        return SHEAF_OK;
    while (first[p->shard + 1] <= number)
        p->shard++;
    index_section_free(p->section);
    p->section = NULL;
    code = sections_read(&p->sections, p->shard, &data, err);
    if (code == SHEAF_OK)
        code = index_parse(data, p->base->manifest.shards[p->shard].index_bytes,
                           p->base->samples[p->shard], &p->section, err);
    free(data);
    if (code == SHEAF_OK && p->section->crcs == NULL)
        code = err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: its index has no checksums",
                       p->base->url);
    return code;
}

static int check_sample(struct pairing *p, const struct sheaf_sample *s, struct sheaf_error *err)
{
    const uint64_t number = p->layer->facts.first + s->number, in_base = p->first + number;
    const struct sheaf_dataset *d = p->layer->dataset;
    char key[COLUMN_KEY_BYTES];
    struct sheaf_error problem;
    int code = find_section(p, in_base, err);

    if (code != SHEAF_OK)
        return code;
    column_key(number, p->section->crcs[in_base - p->base->first_numbers[p->shard]], key);
    if (strcmp(key, s->key) == 0)
        return SHEAF_OK;
    p->problems++;
    err_set(&problem, SHEAF_ERR_CORRUPT, "%s: record %" PRIu64 ": belongs to another sample: it is "
            "for %.100s, expected %s (number and CRC-32C)", d->urls[s->shard], s->record, s->key,
            key);
    if (p->options->report != NULL)
        p->options->report(p->options->context, d->urls[s->shard], &problem);
    return SHEAF_OK;
}

/* Damaged records were reported by sheaf_verify already. */
static int read_layer(struct pairing *p, struct sheaf_error *err)
{
    const struct watch watch = { .interrupt = p->options->interrupt };
    struct sheaf_reader_options options;
    const struct sheaf_sample *samples;
    struct sheaf_reader *reader;
    size_t count;
    int code;

    sheaf_reader_options_init(&options, sizeof(options));
    options.no_shuffle = 1;
    options.memory_bytes = p->options->memory_bytes;
    options.threads = p->options->threads;
    options.on_corrupt = SHEAF_SKIP;
    code = sheaf_reader_open(p->layer->dataset, &options, &reader, err);
    if (code != SHEAF_OK)
        return code;
    while ((code = watch_check(&watch, err)) == SHEAF_OK &&
           (code = sheaf_reader_next_batch(reader, BATCH, &samples, &count)) == SHEAF_OK)
        for (size_t i = 0; i < count && code == SHEAF_OK; i++)
            code = check_sample(p, &samples[i], err);
    if (code < 0 && sheaf_reader_error(reader)->code == code)
        *err = *sheaf_reader_error(reader);
    sheaf_reader_free(reader);
    return code == SHEAF_END || code == SHEAF_ERR_CORRUPT ? SHEAF_OK : code;
}

static int check_layer(const struct sheaf_dataset *base, uint64_t first,
                       const struct column_layer *layer, const struct sheaf_verify_options *options,
                       struct sheaf_verify_result *result, struct sheaf_error *err)
{
    struct pairing p = { .base = base, .first = first, .layer = layer, .options = options,
                         .sections.dataset = base };
    struct sheaf_verify_result own;
    int code = sheaf_verify(layer->dataset, options, &own, err);

    if (code == SHEAF_OK)
        code = read_layer(&p, err);
    sections_close(&p.sections);
    index_section_free(p.section);
    if (code != SHEAF_OK)
        return code;
    result->shards += own.shards;
    result->samples += own.samples;
    result->bytes += own.bytes;
    result->problems += own.problems + p.problems;
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
    if (options != NULL)
        sized_take(&own, sizeof(own), options, options->sizeof_options);
    own.part = own.parts = 0;
    own.field = NULL;
    for (size_t i = 0; i < dataset_source_count(d) && code == SHEAF_OK; i++) {
        const struct sheaf_dataset *source = dataset_source_at(d, i);
        struct column_set set;

        code = column_set_open(source, name, &set, error);
        for (size_t k = 0; k < set.count && code == SHEAF_OK; k++)
            code = check_layer(d, source->first_number, &set.layers[k], &own, result, error);
        column_set_close(&set);
    }
    return code;
}
