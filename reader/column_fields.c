/* SPDX-License-Identifier: MIT
 *
 * Decodes the records of columns, and merges their fields with those of the sample; see
 * column_fields.h. Names NAME.EXT are made once for each column and extension. */
#include "reader/column_fields.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/sample.h"

/* The name of a column's field. */
struct column_name {
    struct column_name *next;
    size_t column;
    const char *extension;      /* in `name` */
    char name[];                /* "NAME.EXT" */
};

/* The scratch memory for a sample of the batch. */
struct column_scratch {
    struct buf fields;          /* struct sheaf_field[]: of the sample with its columns */
    struct decode_scratch records[];    /* one for each column */
};

static size_t scratch_bytes(const struct sheaf_reader *r)
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
        scratch[old] = calloc(1, scratch_bytes(r));
        if (scratch[old] == NULL)
            return err_memory(&r->error, scratch_bytes(r));
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
    while (r->column_names != NULL) {
        struct column_name *name = r->column_names;

        r->column_names = name->next;
        free(name);
    }
}

/* Returns the name of a column's field, or NULL if memory is exhausted. */
static const char *name_of(struct sheaf_reader *r, size_t column, const char *extension)
{
    const char *own = r->columns->names[column];
    struct column_name *n;
    size_t size;

    for (n = r->column_names; n != NULL; n = n->next)
        if (n->column == column && strcmp(n->extension, extension) == 0)
            return n->name;
    size = strlen(own) + strlen(extension) + 2;
    n = malloc(sizeof(*n) + size);
    if (n == NULL)
        return NULL;
    snprintf(n->name, size, "%s.%s", own, extension);
    *n = (struct column_name){ .next = r->column_names, .column = column,
                               .extension = n->name + strlen(own) + 1 };
    r->column_names = n;
    return n->name;
}

/* Returns an error in the record of a column. */
static int blame(struct sheaf_reader *r, const struct item *item, const struct column_place *place,
                 int code)
{
    err_prefix(&r->error, "%s: record %" PRIu64 ": ", place->layer->urls[place->shard],
               place->first + item->record);
    err_prefix(&r->error, "%s: record %" PRIu64 ": ", dataset_shown(r->dataset, item->shard),
               item->record);
    return code;
}

/* Decodes the record of a column, and checks that it belongs to the sample. */
static int decode_record(struct sheaf_reader *r, const struct item *item, size_t column,
                         struct decode_scratch *scratch, struct sheaf_sample *values)
{
    const struct sheaf_dataset *d = r->dataset;
    const struct item_column *data = &item_columns(item)[column];
    const struct column_place *place = columns_place(r->columns, item->shard, column);
    const uint64_t number = d->first_numbers[item->shard] + item->record
                          - dataset_source(d, item->shard)->first_number;
    const struct record record = { .data = data->data, .size = data->size, .number = number,
                                   .shard = place->shard,
                                   .record = place->first + item->record };
    const struct decode_context context = dataset_decode_context(place->layer, place->shard);
    char key[COLUMN_KEY_BYTES];
    int code = place->layer->format->decode(&record, &context, scratch, values, &r->error);

    if (code == SHEAF_ERR_MEMORY)
        return code;
    column_key(number, data->base_crc, key);
    if (code == SHEAF_OK && strcmp(values->key, key) != 0)
        code = err_set(&r->error, SHEAF_ERR_CORRUPT, "belongs to another sample: it is for %.100s, "
                       "expected %s (number and CRC-32C)", values->key, key);
    return code == SHEAF_OK ? SHEAF_OK : blame(r, item, place, code);
}

/* Inserts a field in byte order of the suffixes. */
static int insert(struct sheaf_reader *r, struct sheaf_sample *s, struct sheaf_field *fields,
                  const struct sheaf_field *field)
{
    size_t i = s->field_count;

    for (size_t k = 0; k < s->field_count; k++)
        if (strcmp(fields[k].name, field->name) == 0)
            return err_set(&r->error, SHEAF_ERR_EXISTS, "%s: record %" PRIu64 ": the sample %.400s "
                           "has a field %s already, which the column would hide",
                           dataset_shown(r->dataset, s->shard), s->record, s->key, field->name);
    for (; i > 0 && strcmp(field_suffix(&fields[i - 1]), field_suffix(field)) > 0; i--)
        fields[i] = fields[i - 1];
    fields[i] = *field;
    s->field_count++;
    return SHEAF_OK;
}

static int add_values(struct sheaf_reader *r, struct sheaf_sample *s, struct buf *fields,
                      size_t column, const struct sheaf_sample *values)
{
    int code = buf_reserve(fields, values->field_count * sizeof(struct sheaf_field), &r->error);

    for (size_t i = 0; i < values->field_count && code == SHEAF_OK; i++) {
        struct sheaf_field field = values->fields[i];

        field.name = name_of(r, column, field.name);
        field.suffix = name_of(r, column, field_suffix(&values->fields[i]));
        if (field.name == NULL || field.suffix == NULL)
            return err_memory(&r->error, strlen(values->fields[i].name));
        fields->size += sizeof(field);
        code = insert(r, s, (struct sheaf_field *)(void *)fields->data, &field);
    }
    return code;
}

/* Applies the option for a sample without a value. */
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
        struct sheaf_sample values = { .field_count = 0 };

        if (item_columns(item)[k].data != NULL)
            code = decode_record(r, item, k, &scratch->records[k], &values);
        if (code == SHEAF_OK && values.field_count == 0)
            code = miss(r, s, k);
        else if (code == SHEAF_OK)
            code = add_values(r, s, &scratch->fields, k, &values);
    }
    s->fields = (struct sheaf_field *)(void *)scratch->fields.data;
    return code;
}
