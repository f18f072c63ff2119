/* SPDX-License-Identifier: MIT
 *
 * Decodes one frame; see decode.h. */
#include "reader/load/decode.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"

/* Writes the place of an item before the message of its error. */
static int place_bad(const struct sheaf_dataset *d, const struct item *item,
                     struct sheaf_error *err)
{
    const char *url = d->urls[item->shard];

    if (item->has_name)
        return err_prefix(err, "%s: record %" PRIu64 ": ", url, item->record);
    return err_prefix(err, "%s: offset %" PRIu64 ", record %" PRIu64 ": ", url, item->offset,
                      item->record);
}

static bool decode_is_kept(const struct sheaf_dataset *source, const struct sheaf_field *field)
{
    for (size_t i = 0; i < source->field_count; i++)
        if (strcmp(source->fields[i], field->name) == 0
            || strcmp(source->fields[i], field->suffix) == 0)
            return true;
    return false;
}

/* Removes the fields of the sample that the view (a mix of data sets) does not keep. */
static int keep_fields(const struct sheaf_dataset *source, struct decode_scratch *scratch,
                       struct sheaf_sample *sample, struct sheaf_error *err)
{
    struct sheaf_field *kept;
    size_t count = 0;

    if (source->fields == NULL)
        return SHEAF_OK;
    if ((const void *)sample->fields != scratch->fields.data) {
        const int code = buf_reserve(&scratch->fields, sample->field_count * sizeof(*kept), err);

        if (code != SHEAF_OK)
            return code;
    }
    kept = (struct sheaf_field *)(void *)scratch->fields.data;
    for (size_t i = 0; i < sample->field_count; i++)
        if (decode_is_kept(source, &sample->fields[i]))
            kept[count++] = sample->fields[i];
    sample->fields = kept;
    sample->field_count = count;
    return SHEAF_OK;
}

int decode_item(const struct sheaf_dataset *d, const struct format_ops *format,
                const struct item *item, struct decode_scratch *scratch,
                struct sheaf_sample *sample, struct sheaf_error *err)
{
    const struct record record = {
        .data = item->data, .size = item->size,
        .name_line = item->has_name ? item->name : NULL, .name_line_size = item->name_size,
        .number = d->first_numbers[item->shard] + item->record,
        .shard = item->shard, .record = item->record,
    };
    const struct decode_context context = dataset_decode_context(d, item->shard);
    const struct pipe_source *pipes = d->pipes;
    int code;

    code = pipes != NULL && pipes->attributes.count != 0
        ? attributes_decode(&pipes->attributes, &record, &context, scratch, sample, err)
        : format->decode(&record, &context, scratch, sample, err);
    if (code == SHEAF_OK)
        code = dataset_renumber(d, scratch, sample, err);
    if (code == SHEAF_OK)
        code = keep_fields(dataset_source(d, item->shard), scratch, sample, err);
    return code == SHEAF_OK || code == SHEAF_ERR_MEMORY ? code : place_bad(d, item, err);
}
