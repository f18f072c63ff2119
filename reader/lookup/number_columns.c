/* SPDX-License-Identifier: MIT
 *
 * sheaf_dataset_read: reads samples by their numbers, and adds the fields of columns to them. A
 * column is a field that was added to a data set after packing. It is stored in layers, each of
 * which is a data set.
 *
 * Reading takes three steps:
 * - The samples are read, and the index gives the CRC-32C of each of them.
 * - For each layer of a column, the numbers of the needed records are computed, and the records are
 * read by their numbers.
 * - The key of each record is checked. It must contain the number and the CRC-32C of its sample.
 *
 * Columns that were opened once stay open until the data set is freed. */
#include "reader/lookup/number_columns.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/error.h"
#include "formats/sample.h"
#include "reader/dataset/column_name.h"
#include "reader/dataset/column_sets.h"
#include "reader/load/kept.h"
#include "reader/load/numbers.h"

/* ---- Open columns ---------------------------------------------------------------------------- */

/* A list element: columns that one call has opened. Elements are added to the list but never
 * removed. So any thread may search the list without a lock. */
struct open_columns {
    struct dataset_cache base;
    struct open_columns *next;
    struct columns *columns;
};

static void release_columns(struct dataset_cache *cache)
{
    struct open_columns *o = (struct open_columns *)(void *)cache;

    while (o != NULL) {
        struct open_columns *next = o->next;

        columns_free(o->columns);
        free(o);
        o = next;
    }
}

static bool has_names(const struct columns *c, const char *const *names, size_t count)
{
    bool same = c->count == count;

    for (size_t i = 0; same && i < count; i++)
        same = strcmp(c->names[i], names[i]) == 0;
    return same;
}

/* Sets *columns to the columns with the names in `o`. They stay open until the data set is freed.
 */
static int number_columns_of(const struct sheaf_dataset *dataset,
                             const struct sheaf_read_options *o, const struct columns **columns,
                             struct sheaf_error *err)
{
    struct sheaf_dataset *d = (struct sheaf_dataset *)(uintptr_t)dataset;
    struct dataset_cache *first = atomic_load(&d->columns);
    struct open_columns *own;
    int code;

    for (own = (struct open_columns *)(void *)first; own != NULL; own = own->next) {
        *columns = own->columns;
        if (has_names(own->columns, o->columns, o->column_count))
            return SHEAF_OK;
    }
    own = calloc(1, sizeof(*own));
    if (own == NULL)
        return err_memory(err, sizeof(*own));
    own->base.release = release_columns;
    code = columns_open(dataset, o->columns, o->column_count, &own->columns, err);
    if (code != SHEAF_OK) {
        free(own);
        return code;
    }
    *columns = own->columns;
    do
        own->next = (struct open_columns *)(void *)first;
    while (!atomic_compare_exchange_weak(&d->columns, &first, &own->base));
    return SHEAF_OK;
}

/* ---- A call ---------------------------------------------------------------------------------- */

struct columned {
    struct sheaf_kept base;
    /* Blocks of memory that are freed together. The first has the samples. Each further block has
     * the records that were read from one layer, a data set in which a column is stored. */
    struct sheaf_kept **kept;
    size_t kept_count;
    struct sheaf_sample *samples;
    struct arena fields;
    struct column_name *names;
};

struct numbered_call {
    const struct sheaf_dataset *dataset;
    const struct sheaf_read_options *options;
    const struct columns *columns;
    const uint64_t *numbers;
    size_t count;
    uint32_t *crcs;
    uint32_t *lacks;            /* argument `lacks` of number_columns_read */
    uint64_t memory_bytes;      /* memory that is already taken, in bytes */
    struct columned *result;
};

/* A record that must be read from a layer (a data set of the column). */
struct wanted_record {
    const struct sheaf_dataset *layer;
    uint64_t number;            /* number of the record in its layer */
    size_t asked;               /* index of its sample in the call */
};

static void number_columns_release(struct sheaf_kept *kept)
{
    struct columned *r = (struct columned *)(void *)kept;

    for (size_t i = r->kept_count; i-- > 0;)
        sheaf_kept_free(r->kept[i]);
    column_names_free(r->names);
    arena_free(&r->fields);
    free(r->kept);
    free(r->samples);
    free(r);
}

/* Reads samples of the data set `d`. One call of sheaf_dataset_read makes several such reads, which
 * share its memory budget. c->memory_bytes is the memory that earlier reads have taken, and this
 * read uses only the rest. */
static int number_columns_read_more(struct numbered_call *c, const struct sheaf_dataset *d,
                                    const uint64_t *numbers, size_t count, uint32_t *crcs,
                                    const struct sheaf_sample **samples, struct sheaf_error *err)
{
    struct numbers_read facts = { .crcs = crcs };
    struct columned *r = c->result;
    struct sheaf_read_options o = *c->options;
    struct sheaf_kept **grown = realloc(r->kept, (r->kept_count + 1) * sizeof(grown[0]));
    int code;

    if (grown == NULL)
        return err_memory(err, (r->kept_count + 1) * sizeof(grown[0]));
    r->kept = grown;
    o.memory_bytes -= MIN(o.memory_bytes, c->memory_bytes);
    code = numbers_read(d, numbers, count, &o, &facts, samples, &r->kept[r->kept_count], err);
    r->kept_count += code == SHEAF_OK;
    c->memory_bytes += facts.memory_bytes;
    return code;
}

/* Checks that a record belongs to its sample. */
static int number_columns_check_record(const struct numbered_call *c, const struct wanted_record *w,
                                       const struct sheaf_sample *record, struct sheaf_error *err)
{
    const struct sheaf_dataset *d = c->dataset;
    const struct sheaf_sample *s = &c->result->samples[w->asked];
    const uint64_t number = c->numbers[w->asked] - dataset_source(d, s->shard)->first_number;
    const struct text found = { record->key, strlen(record->key) };
    char key[COLUMN_KEY_BYTES];

    if (column_key_is(&found, number, c->crcs[w->asked]))
        return SHEAF_OK;
    column_key(number, c->crcs[w->asked], key);
    return err_set(err, SHEAF_ERR_CORRUPT, "%s: record %" PRIu64 ": %s: record %" PRIu64 ": "
                   "belongs to another sample: it is for %.100s, expected %s (number and CRC-32C)",
                   dataset_shown(d, s->shard), s->record, w->layer->urls[record->shard],
                   record->record, record->key, key);
}

static int number_columns_add_fields(struct numbered_call *c, size_t column,
                                     const struct wanted_record *w,
                                     const struct sheaf_sample *record, struct sheaf_error *err)
{
    struct sheaf_sample *s = &c->result->samples[w->asked];
    const size_t most = s->field_count + record->field_count;
    struct sheaf_field *fields = arena_take(&c->result->fields, most * sizeof(fields[0]));
    int code = fields == NULL ? err_memory(err, most * sizeof(fields[0]))
                              : number_columns_check_record(c, w, record, err);

    if (code == SHEAF_OK && s->field_count != 0)
        memcpy(fields, s->fields, s->field_count * sizeof(fields[0]));
    for (size_t i = 0; i < record->field_count && code == SHEAF_OK; i++) {
        const struct sheaf_field *f = &record->fields[i];
        const struct column_name *name = column_name_get(&c->result->names, column,
                                                         c->columns->names[column],
                                                         field_suffix(f));

        code = name == NULL ? err_memory(err, strlen(f->name))
             : column_name_insert(name, f->data, f->size, s, fields,
                                  dataset_shown(c->dataset, s->shard), err);
    }
    s->fields = fields;
    return code;
}

/* Reads the wanted records of one layer (a data set of a column), and adds their fields to the
 * samples. */
static int number_columns_read_layer(struct numbered_call *c, size_t column,
                                     const struct wanted_record *wanted, size_t count,
                                     struct sheaf_error *err)
{
    uint64_t *numbers = calloc(count, sizeof(numbers[0]));
    const struct sheaf_sample *records = NULL;
    int code = numbers == NULL ? err_memory(err, count * sizeof(numbers[0])) : SHEAF_OK;

    for (size_t i = 0; i < count && code == SHEAF_OK; i++)
        numbers[i] = wanted[i].number;
    if (code == SHEAF_OK)
        code = number_columns_read_more(c, wanted[0].layer, numbers, count, NULL, &records, err);
    for (size_t i = 0; i < count && code == SHEAF_OK; i++)
        code = number_columns_add_fields(c, column, &wanted[i], &records[i], err);
    free(numbers);
    return code;
}

static int by_layer(const void *x, const void *y)
{
    const struct wanted_record *a = x, *b = y;
    const uintptr_t first = (uintptr_t)a->layer, second = (uintptr_t)b->layer;

    return (first > second) - (first < second);
}

/* Finds the records of a column for the samples. */
static size_t find_records(const struct numbered_call *c, size_t column,
                           struct wanted_record *wanted)
{
    size_t count = 0;

    for (size_t i = 0; i < c->count; i++) {
        const uint32_t shard = dataset_shard_of(c->dataset, c->numbers[i]);
        const struct column_place *place = columns_place(c->columns, shard, column);

        if (place->layer != NULL)
            wanted[count++] = (struct wanted_record){
                place->layer, place->layer->first_numbers[place->shard] + place->first +
                              c->numbers[i] - c->dataset->first_numbers[shard], i,
            };
    }
    qsort(wanted, count, sizeof(wanted[0]), by_layer);
    return count;
}

int number_columns_refuse(const struct sheaf_dataset *dataset, const struct sheaf_sample *s,
                          const char *column, struct sheaf_error *err)
{
    return err_because(err, err_set(err, SHEAF_ERR_NOT_FOUND, "%s: record %" PRIu64 ": the sample "
                                    "%.400s has no value in the column %s",
                                    dataset_shown(dataset, s->shard), s->record, s->key, column),
                       SHEAF_REASON_NO_VALUE);
}

/* Handles samples for which the column has no value. If c->lacks is set, records such a sample
 * there. Otherwise returns an error, unless the option `missing` allows samples without a value.
 *
 * before[i] is the number of fields that sample i had before the column was read. A sample that
 * still has this number of fields has got no field from the column. */
static int check_missing(const struct numbered_call *c, size_t column, const size_t *before,
                         struct sheaf_error *err)
{
    for (size_t i = 0; i < c->count; i++) {
        const struct sheaf_sample *s = &c->result->samples[i];

        if (s->field_count != before[i])
            continue;
        if (c->lacks != NULL)
            c->lacks[i] = MIN(c->lacks[i], (uint32_t)column);
        else if (c->options->missing == SHEAF_MISSING_FAIL)
            return number_columns_refuse(c->dataset, s, c->columns->names[column], err);
    }
    return SHEAF_OK;
}

static int read_column(struct numbered_call *c, size_t column, struct sheaf_error *err)
{
    struct wanted_record *wanted = calloc(c->count, sizeof(wanted[0]));
    size_t *before = calloc(c->count, sizeof(before[0]));
    size_t count = 0;
    int code = wanted == NULL || before == NULL ? err_memory(err, c->count * sizeof(wanted[0]))
                                                : SHEAF_OK;

    for (size_t i = 0; i < c->count && code == SHEAF_OK; i++)
        before[i] = c->result->samples[i].field_count;
    if (code == SHEAF_OK)
        count = find_records(c, column, wanted);
    for (size_t i = 0, end; i < count && code == SHEAF_OK; i = end) {
        for (end = i + 1; end < count && wanted[end].layer == wanted[i].layer; end++)
            ;
        code = number_columns_read_layer(c, column, wanted + i, end - i, err);
    }
    if (code == SHEAF_OK)
        code = check_missing(c, column, before, err);
    free(before);
    free(wanted);
    return code;
}

static int number_columns_read_all(struct numbered_call *c, struct sheaf_error *err)
{
    const struct sheaf_sample *samples = NULL;
    struct columned *r = c->result;
    int code;

    c->crcs = calloc(c->count, sizeof(c->crcs[0]));
    if (c->crcs == NULL)
        return err_memory(err, c->count * sizeof(c->crcs[0]));
    code = number_columns_read_more(c, c->dataset, c->numbers, c->count, c->crcs, &samples, err);
    if (code != SHEAF_OK)
        return code;
    r->samples = calloc(c->count, sizeof(r->samples[0]));
    if (r->samples == NULL)
        return err_memory(err, c->count * sizeof(r->samples[0]));
    memcpy(r->samples, samples, c->count * sizeof(r->samples[0]));
    for (size_t i = 0; i < c->columns->count && code == SHEAF_OK; i++)
        code = read_column(c, i, err);
    return code;
}

static int read_with_columns(struct numbered_call *c, struct sheaf_error *err)
{
    int code;

    if (c->options->missing == SHEAF_MISSING_SKIP)
        return err_set(err, SHEAF_ERR_ARGUMENT, "samples that are read by number or key cannot be "
                       "skipped if a column has no value for them: expected fail or none");
    code = number_columns_of(c->dataset, c->options, &c->columns, err);
    if (code != SHEAF_OK)
        return code;
    c->result = calloc(1, sizeof(*c->result));
    if (c->result == NULL)
        return err_memory(err, sizeof(*c->result));
    c->result->base.release = number_columns_release;
    code = number_columns_read_all(c, err);
    free(c->crcs);
    if (code != SHEAF_OK)
        number_columns_release(&c->result->base);
    return code;
}

int number_columns_read(const struct sheaf_dataset *dataset, const uint64_t *numbers, size_t count,
                        const struct sheaf_read_options *options, uint32_t *lacks,
                        const struct sheaf_sample **samples, struct sheaf_kept **kept,
                        struct sheaf_error *err)
{
    const struct sheaf_read_options o = numbers_options(options);
    struct numbers_read facts = { .crcs = NULL };
    struct numbered_call c = { .dataset = dataset, .options = &o, .numbers = numbers,
                             .count = count, .lacks = lacks };
    int code;

    for (size_t i = 0; lacks != NULL && i < count; i++)
        lacks[i] = LACKS_NONE;
    if (o.column_count == 0)
        return numbers_read(dataset, numbers, count, &o, &facts, samples, kept, err);
    code = read_with_columns(&c, err);
    if (code != SHEAF_OK)
        return code;
    *samples = c.result->samples;
    *kept = &c.result->base;
    return SHEAF_OK;
}

int sheaf_dataset_read(const struct sheaf_dataset *dataset, const uint64_t *numbers, size_t count,
                       const struct sheaf_read_options *options,
                       const struct sheaf_sample **samples, struct sheaf_kept **kept,
                       struct sheaf_error *err)
{
    return number_columns_read(dataset, numbers, count, options, NULL, samples, kept, err);
}
