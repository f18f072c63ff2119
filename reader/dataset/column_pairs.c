/* SPDX-License-Identifier: MIT
 *
 * Reads the records of a column, and checks that each record belongs to its sample; see
 * column_pairs.h. Each record is compared with the entry of the sample in the base data set's
 * index. The index is read shard by shard. */
#include "reader/dataset/column_pairs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/watch.h"

#define BATCH 256u

/* Reads the part of the base data set's index that contains sample `number`, unless this part is
 * already in memory. Each shard has one such part, called an index section. */
static int column_pairs_find_section(struct column_pairs *p, uint64_t number,
                                     struct sheaf_error *err)
{
    const uint64_t *first = p->base->first_numbers;
    int code;

    if (p->section != NULL && number < first[p->shard + 1])
        return SHEAF_OK;
    while (first[p->shard + 1] <= number)
        p->shard++;
    index_section_free(p->section);
    code = sections_parse(&p->sections, p->shard, &p->section, err);
    if (code == SHEAF_OK && p->section->crcs == NULL)
        code = err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: its index has no checksums",
                       p->base->url);
    return code;
}

static int column_pairs_take_record(struct column_pairs *p, const struct sheaf_sample *s,
                                    column_pair_fn *each, void *context, struct sheaf_error *err)
{
    const struct sheaf_dataset *d = p->layer->dataset;
    const uint64_t number = p->layer->facts.first + s->number, in_base = p->first + number;
    const struct text found = { s->key, strlen(s->key) };
    struct sheaf_error problem;
    char key[COLUMN_KEY_BYTES];
    uint32_t crc;
    int code = column_pairs_find_section(p, in_base, err);

    if (code != SHEAF_OK)
        return code;
    crc = p->section->crcs[in_base - p->base->first_numbers[p->shard]];
    if (column_key_is(&found, number, crc))
        return each(context, s, in_base, NULL, err);
    column_key(number, crc, key);
    err_set(&problem, SHEAF_ERR_CORRUPT, "%s: record %" PRIu64 ": belongs to another sample: it is "
            "for %.100s, expected %s (number and CRC-32C)", d->urls[s->shard], s->record, s->key,
            key);
    return each(context, s, in_base, &problem, err);
}

int column_pairs_read(struct column_pairs *p, const struct sheaf_reader_options *options,
                      const volatile int *interrupt, column_pair_fn *each, void *context,
                      struct sheaf_error *err)
{
    const struct watch watch = { .interrupt = interrupt };
    struct sheaf_reader_options own = *options;
    const struct sheaf_sample *samples;
    struct sheaf_reader *reader;
    size_t count;
    int code;

    p->sections.dataset = p->base;
    own.no_shuffle = 1;
    code = sheaf_reader_open(p->layer->dataset, &own, &reader, err);
    if (code != SHEAF_OK)
        return code;
    while ((code = watch_check(&watch, err)) == SHEAF_OK) {
        code = sheaf_reader_next_batch(reader, BATCH, &samples, &count);
        if (code < 0 && err != NULL)
            *err = *sheaf_reader_error(reader);
        for (size_t i = 0; code == SHEAF_OK && i < count; i++)
            code = column_pairs_take_record(p, &samples[i], each, context, err);
        if (code != SHEAF_OK)
            break;
    }
    sheaf_reader_free(reader);
    return code == SHEAF_END ? SHEAF_OK : code;
}

void column_pairs_close(struct column_pairs *p)
{
    sections_close(&p->sections);
    index_section_free(p->section);
}
