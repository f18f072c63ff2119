/* SPDX-License-Identifier: MIT
 *
 * Decodes the records of columns and adds their fields to samples; see column_fields.h. A column is
 * a field that was added to a data set after packing, and stored in records of its own. */
#include "reader/column_fields.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/sample.h"
#include "reader/dataset/column_name.h"

/* The scratch memory for a sample of the batch. */
struct column_scratch {
    /* struct sheaf_field[]: fields of the sample, including those of its columns */
    struct buf fields;
    struct decode_scratch records[];    /* scratch memory for decoding, one for each column */
};

static size_t column_fields_scratch_bytes(const struct sheaf_reader *r)
{
    return sizeof(struct column_scratch) + r->columns->count * sizeof(struct decode_scratch);
}

int column_fields_room(struct sheaf_reader *r, size_t old, size_t count)
{
    struct column_scratch **scratch;

    if (r->columns == NULL)
        return SHEAF_OK;
    scratch = realloc(r->column_scratch, count * sizeof(scratch[0]));
    if (scratch == NULL)
        return err_memory(&r->error, count * sizeof(scratch[0]));
    r->column_scratch = scratch;
    for (; old < count; old++) {
        scratch[old] = calloc(1, column_fields_scratch_bytes(r));
        if (scratch[old] == NULL)
            return err_memory(&r->error, column_fields_scratch_bytes(r));
        scratch[old]->fields = (struct buf)BUF_INIT(SIZE_MAX / 4);
        r->column_scratch_count = old + 1;
    }
    return SHEAF_OK;
}

void column_fields_free(struct sheaf_reader *r)
{
    for (size_t i = 0; i < r->column_scratch_count; i++) {
        for (size_t k = 0; k < r->columns->count; k++)
            decode_scratch_free(&r->column_scratch[i]->records[k]);
        buf_free(&r->column_scratch[i]->fields);
        free(r->column_scratch[i]);
    }
    free(r->column_scratch);
    column_names_free(r->column_names);
}

/* Adds a field of a column to the sample. */
static int column_fields_add_field(struct sheaf_reader *r, struct sheaf_sample *s,
                                   struct buf *fields, const struct column_name *name,
                                   const void *data, size_t size)
{
    const int code = buf_reserve(fields, sizeof(struct sheaf_field), &r->error);

    if (code != SHEAF_OK)
        return code;
    fields->size += sizeof(struct sheaf_field);
    return column_name_insert(name, data, size, s, (struct sheaf_field *)(void *)fields->data,
                              dataset_shown(r->dataset, s->shard), &r->error);
}

/* Returns an error if the key in a column's record is not the key of the sample, because the record
 * then belongs to another sample. */
static int column_fields_check_key(struct sheaf_reader *r, const struct item *item, size_t column,
                                   const struct text *found)
{
    const struct sheaf_dataset *d = r->dataset;
    const struct item_column *data = &item_columns(item)[column];
    const uint64_t number = d->first_numbers[item->shard] + item->record
                          - dataset_source(d, item->shard)->first_number;
    char key[COLUMN_KEY_BYTES];

    if (column_key_is(found, number, data->base_crc))
        return SHEAF_OK;
    column_key(number, data->base_crc, key);
    return err_set(&r->error, SHEAF_ERR_CORRUPT, "belongs to another sample: it is for %.*s, "
                   "expected %s (number and CRC-32C)", (int)MIN(found->size, 100), found->data,
                   key);
}

/* Adds the fields of a column's record to the sample, if two conditions are true: the record has
 * the usual form in which our packer writes records, and each field name is already in the reader's
 * list of names. Otherwise sets *done to false. The caller must then use add_decoded, which accepts
 * any valid record and any name. */
static int add_usual(struct sheaf_reader *r, const struct item *item, size_t column,
                     struct sheaf_sample *s, struct buf *fields, bool *done)
{
    const struct item_column *data = &item_columns(item)[column];
    const struct column_name *names[COLUMN_VALUES_MOST];
    struct column_value values[COLUMN_VALUES_MOST];
    struct text key;
    size_t count;
    int code;

    *done = column_record_parse(data->data, data->size, &key, values, &count);
    for (size_t i = 0; *done && i < count; i++) {
        names[i] = column_name_find(r->column_names, column, values[i].extension,
                                    values[i].extension_size);
        *done = names[i] != NULL;
    }
    if (!*done)
        return SHEAF_OK;
    code = column_fields_check_key(r, item, column, &key);
    for (size_t i = 0; code == SHEAF_OK && i < count; i++)
        code = column_fields_add_field(r, s, fields, names[i], values[i].data, values[i].size);
    return code;
}

/* Adds the fields of a column's record to the sample. Accepts any valid form of the record, and so
 * is slower than add_usual. */
static int add_decoded(struct sheaf_reader *r, const struct item *item, size_t column,
                       struct sheaf_sample *s, struct column_scratch *scratch)
{
    const struct item_column *data = &item_columns(item)[column];
    const struct column_place *place = columns_place(r->columns, item->shard, column);
    const struct record record = { .data = data->data, .size = data->size, .shard = place->shard,
                                   .record = place->first + item->record };
    const struct decode_context context = dataset_decode_context(place->layer, place->shard);
    struct sheaf_sample values = { .field_count = 0 };
    struct text key;
    int code = place->layer->format->decode(&record, &context, &scratch->records[column], &values,
                                            &r->error);

    if (code == SHEAF_OK) {
        key = (struct text){ values.key, strlen(values.key) };
        code = column_fields_check_key(r, item, column, &key);
    }
    for (size_t i = 0; i < values.field_count && code == SHEAF_OK; i++) {
        const struct sheaf_field *field = &values.fields[i];
        const struct column_name *name = column_name_get(&r->column_names, column,
                                                         r->columns->names[column],
                                                         field_suffix(field));

        code = name == NULL ? err_memory(&r->error, strlen(field->name))
             : column_fields_add_field(r, s, &scratch->fields, name, field->data, field->size);
    }
    return code;
}

/* Adds the fields of a column's record to a sample. First checks that the record belongs to the
 * sample: its key must contain the sample's number and checksum. */
static int add_record(struct sheaf_reader *r, const struct item *item, size_t column,
                      struct sheaf_sample *s, struct column_scratch *scratch)
{
    const struct column_place *place = columns_place(r->columns, item->shard, column);
    bool done;
    int code = add_usual(r, item, column, s, &scratch->fields, &done);

    if (!done)
        code = add_decoded(r, item, column, s, scratch);
    if (code == SHEAF_OK || code == SHEAF_ERR_MEMORY || code == SHEAF_ERR_EXISTS)
        return code;
    err_prefix(&r->error, "%s: record %" PRIu64 ": ", place->layer->urls[place->shard],
               place->first + item->record);
    err_prefix(&r->error, "%s: record %" PRIu64 ": ", dataset_shown(r->dataset, item->shard),
               item->record);
    return code;
}

/* Handles a sample for which a column has no value. Returns an error if the option `missing`
 * forbids such samples. Otherwise counts the sample. Then returns SHEAF_END to leave it out, or
 * SHEAF_OK to return it without the value, as the option says. */
static int miss(struct sheaf_reader *r, const struct sheaf_sample *s, size_t column)
{
    if (r->options.missing == SHEAF_MISSING_FAIL)
        return err_because(&r->error, err_set(&r->error, SHEAF_ERR_NOT_FOUND, "%s: record %" PRIu64
                           ": the sample %.400s has no value in the column %s",
                           dataset_shown(r->dataset, s->shard), s->record, s->key,
                           r->columns->names[column]), SHEAF_REASON_NO_VALUE);
    r->stats.missing++;
    return r->options.missing == SHEAF_MISSING_SKIP ? SHEAF_END : SHEAF_OK;
}

int column_fields_add(struct sheaf_reader *r, size_t i)
{
    struct column_scratch *scratch = r->column_scratch[i];
    struct sheaf_sample *s = &r->samples[i];
    const struct item *item = r->out[i].ref.item;
    int code;

    scratch->fields.size = 0;
    code = buf_append(&scratch->fields, s->fields, s->field_count * sizeof(s->fields[0]),
                      &r->error);
    for (size_t k = 0; k < r->columns->count && code == SHEAF_OK; k++) {
        const size_t before = s->field_count;

        if (item_columns(item)[k].data != NULL)
            code = add_record(r, item, k, s, scratch);
        if (code == SHEAF_OK && s->field_count == before)
            code = miss(r, s, k);
    }
    s->fields = (struct sheaf_field *)(void *)scratch->fields.data;
    return code;
}
