/* SPDX-License-Identifier: MIT
 *
 * Encodes and decodes the payload of a RecordIO record; see record_payload.h.
 *
 * A record has room for one file. If a sample has several fields or none, the fields are
 * concatenated, the image first, and a TRAILER follows them. Image decoders ignore the trailer. A
 * single field also gets a trailer if its content ends like a trailer, so that a reader never
 * mistakes content for a trailer.
 *
 * A trailer consists of a table, the table's CRC-32C (u32), the table's size (u32) and the 8 bytes
 * "sheafrec". The table begins with the number of fields (u32). For each field it then has the size
 * of the field (u64), the size of its suffix (u16) and the suffix. */
#include "formats/record_payload.h"

#include <inttypes.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "formats/label.h"
#include "formats/name.h"
#include "formats/sample.h"

#define IR_BYTES    24
/* bit of the header's id2: the sample has no label, and the label in the header is meaningless */
#define NO_LABEL    1
#define END_BYTES   16          /* bytes of a trailer after its table */
#define ENTRY_BYTES 10          /* bytes of a table's entry before the suffix */

static const char end_magic[8] = { 's', 'h', 'e', 'a', 'f', 'r', 'e', 'c' };

static bool ends_like_trailer(const void *data, size_t size)
{
    return size >= sizeof(end_magic) &&
           memcmp((const uint8_t *)data + size - sizeof(end_magic), end_magic,
                  sizeof(end_magic)) == 0;
}

/* ---- Encoding ----------------------------------------------------------------------------- */

static int record_payload_put_header(const struct sheaf_sample *sample, struct buf *out,
                                     struct sheaf_error *err)
{
    const size_t count = sample->label_count;
    uint8_t header[IR_BYTES], label[sizeof(float)];
    size_t i;
    int code;

    for (i = 0; i < count; i++) {
        if ((double)(float)sample->labels[i] != sample->labels[i])
            return err_set(err, SHEAF_ERR_LIMIT, "%.400s: the label %.17g is not exact as a 32-bit "
                           "float, as RecordIO requires", sample->key, sample->labels[i]);
    }
    store32(header, count > 1 ? (uint32_t)count : 0);
    store_float(header + 4, count == 1 ? (float)sample->labels[0] : 0);
    store64(header + 8, sample->number);
    store64(header + 16, count == 0 ? NO_LABEL : 0);
    code = buf_append(out, header, sizeof(header), err);
    for (i = 0; i < count && count > 1 && code == SHEAF_OK; i++) {
        store_float(label, (float)sample->labels[i]);
        code = buf_append(out, label, sizeof(label), err);
    }
    return code;
}

static int put_trailer(const struct sheaf_field *const *fields, size_t count, struct buf *out,
                       struct sheaf_error *err)
{
    const size_t start = out->size;
    uint8_t number[ENTRY_BYTES];
    size_t i, table_size;
    int code;

    store32(number, (uint32_t)count);
    code = buf_append(out, number, 4, err);
    for (i = 0; i < count && code == SHEAF_OK; i++) {
        const size_t suffix_size = strlen(field_suffix(fields[i]));

        store64(number, fields[i]->size);
        number[8] = (uint8_t)suffix_size;
        number[9] = (uint8_t)(suffix_size >> 8);
        code = buf_append(out, number, sizeof(number), err);
        if (code == SHEAF_OK)
            code = buf_append(out, field_suffix(fields[i]), suffix_size, err);
    }
    table_size = out->size - start;
    if (code == SHEAF_OK)
        code = buf_reserve(out, END_BYTES, err);
    if (code != SHEAF_OK)
        return code;
    store32(number, crc32c(0, out->data + start, table_size));
    store32(number + 4, (uint32_t)table_size);
    buf_put(out, number, 8);
    buf_put(out, end_magic, sizeof(end_magic));
    return SHEAF_OK;
}

/* Appends a line for the sample to `names`, the content of the shard's .lst file. The line is "id
 * \t label[ \t label...] \t path \n", as MXNet's im2rec writes it. */
static int put_name_line(const struct sheaf_sample *sample, const struct sheaf_field *first,
                         struct buf *names, struct sheaf_error *err)
{
    size_t i;
    int code = buf_printf(names, err, "%" PRIu64, sample->number);

    if (code == SHEAF_OK && sample->label_count == 0)
        code = buf_append(names, "\t0", 2, err);
    for (i = 0; i < sample->label_count && code == SHEAF_OK; i++) {
        code = buf_append(names, "\t", 1, err);
        if (code == SHEAF_OK)
            code = label_print(names, &sample->labels[i], 1, err);
    }
    if (code != SHEAF_OK)
        return code;
    return first == NULL ? buf_printf(names, err, "\t%s\n", sample->key)
                         : buf_printf(names, err, "\t%s.%s\n", sample->key, field_suffix(first));
}

/* Moves the field at `index` to the front. */
static void bring_forward(const struct sheaf_field **fields, size_t index)
{
    const struct sheaf_field *first = fields[index];

    memmove(fields + 1, fields, index * sizeof(*fields));
    fields[0] = first;
}

/* Returns an error if the sample is clearly too large, so that it is not copied in vain. The exact
 * check is made later, when the record is framed. */
static int record_payload_check_size(const struct sheaf_sample *sample, struct sheaf_error *err)
{
    uint64_t total = 0;
    size_t i;

    for (i = 0; i < sample->field_count; i++) {
        if (__builtin_add_overflow(total, sample->fields[i].size, &total) ||
            total >= RECORD_PAYLOAD_LIMIT)
            return err_set(err, SHEAF_ERR_LIMIT, "%.400s: the fields have %" PRIu64 " bytes or "
                           "more, but a RecordIO record must have less than %zu", sample->key,
                           total, RECORD_PAYLOAD_LIMIT);
    }
    return SHEAF_OK;
}

/* Sets `fields` to the sample's fields in the order in which the record concatenates them. */
static int lay_out(const struct sheaf_sample *sample, const struct sheaf_field *fields[FIELD_LIMIT],
                   struct sheaf_error *err)
{
    size_t image;
    int code = sample_check(sample, fields, err);

    if (code == SHEAF_OK)
        code = record_payload_check_size(sample, err);
    if (code != SHEAF_OK)
        return code;
    image = sample_image(fields, sample->field_count);
    if (image < sample->field_count)
        bring_forward(fields, image);
    return SHEAF_OK;
}

size_t record_payload_content_at(const struct sheaf_sample *sample,
                                 const struct sheaf_field *field)
{
    const struct sheaf_field *fields[FIELD_LIMIT];
    size_t at = IR_BYTES + (sample->label_count > 1 ? 4 * sample->label_count : 0);

    if (lay_out(sample, fields, NULL) != SHEAF_OK)
        return SIZE_MAX;
    for (size_t i = 0; i < sample->field_count; i++) {
        if (fields[i] == field)
            return at;
        at += fields[i]->size;
    }
    return SIZE_MAX;
}

int record_payload_encode(const struct sheaf_sample *sample, struct buf *out, struct buf *names,
                          struct sheaf_error *err)
{
    const struct sheaf_field *fields[FIELD_LIMIT];
    const size_t count = sample->field_count;
    size_t i;
    int code = lay_out(sample, fields, err);

    if (code == SHEAF_OK)
        code = record_payload_put_header(sample, out, err);
    for (i = 0; i < count && code == SHEAF_OK; i++) {
        code = buf_reserve(out, fields[i]->size, err);
        if (code == SHEAF_OK)
            buf_put_content(out, fields[i]->data, fields[i]->size);
    }
    if (code == SHEAF_OK &&
        (count != 1 || ends_like_trailer(fields[0]->data, fields[0]->size)))
        code = put_trailer(fields, count, out, err);
    if (code == SHEAF_OK)
        code = put_name_line(sample, count == 0 ? NULL : fields[0], names, err);
    return code;
}

/* ---- Decoding ----------------------------------------------------------------------------- */

struct payload_content {
    const uint8_t *data;
    size_t size;
};

static bool record_payload_is_suffix(const uint8_t *data, size_t size)
{
    return size != 0 && size <= KEY_LIMIT && memchr(data, '/', size) == NULL &&
           name_is_text((const char *)data, size);
}

/* Reads the entry at *at of the trailer's table, which lists the fields of a record. Sets the size
 * and the suffix of `slice`. Returns false if the entry is malformed. */
static bool record_payload_read_entry(struct payload_content table, size_t *at, struct slice *slice)
{
    const uint8_t *p = table.data + *at;
    size_t suffix_size;

    if (table.size - *at < ENTRY_BYTES)
        return false;
    suffix_size = (size_t)p[8] | (size_t)p[9] << 8;
    if (suffix_size > table.size - *at - ENTRY_BYTES || !record_payload_is_suffix(p + ENTRY_BYTES,
                                                                                  suffix_size))
        return false;
    slice->size = load64(p);
    slice->suffix = (const char *)p + ENTRY_BYTES;
    slice->suffix_size = suffix_size;
    *at += ENTRY_BYTES + suffix_size;
    return true;
}

/* Finds the table in a record's trailer, which lists the fields. Shortens `content` to the bytes
 * before the trailer, which are the fields. Returns false if the trailer is invalid. */
static bool find_table(struct payload_content *content, struct payload_content *table)
{
    const uint8_t *end = content->data + content->size;
    size_t table_size;

    if (content->size < END_BYTES + 4)
        return false;
    table_size = load32(end - 12);
    if (table_size < 4 || table_size > content->size - END_BYTES)
        return false;
    *table = (struct payload_content){ end - END_BYTES - table_size, table_size };
    content->size -= END_BYTES + table_size;
    return crc32c(0, table->data, table->size) == load32(end - 16);
}

/* Reads the fields of a record that ends with a trailer, which lists the fields. Returns
 * SHEAF_ERR_CORRUPT if the trailer is invalid. */
static int read_trailer(struct payload_content content, struct decode_scratch *scratch,
                        struct sheaf_error *err)
{
    struct payload_content table;
    size_t at = 4, used = 0, i, count;

    if (!find_table(&content, &table))
        return err_set(err, SHEAF_ERR_CORRUPT, "the trailer of the record's fields has a wrong "
                       "size or CRC");
    count = load32(table.data);
    for (i = 0; i < count; i++) {
        struct slice slice = { .data = content.data + used };
        int code;

        if (!record_payload_read_entry(table, &at, &slice) || slice.size > content.size - used)
            return err_set(err, SHEAF_ERR_CORRUPT, "entry %zu of the %zu in the record's trailer "
                           "is invalid", i, count);
        code = sample_add(scratch, &slice, err);
        if (code != SHEAF_OK)
            return code;
        used += slice.size;
    }
    if (at != table.size || used != content.size)
        return err_set(err, SHEAF_ERR_CORRUPT, "the record's trailer says %zu byte%s of fields, "
                       "but there are %zu", used, plural(used), content.size);
    return SHEAF_OK;
}

/* Reads the labels from a record's header. The caller must have checked the size of the header. */
static int record_payload_read_labels(const uint8_t *data, bool ours,
                                      struct decode_scratch *scratch, struct sheaf_error *err)
{
    const uint32_t flag = load32(data);
    const uint8_t *p = flag == 0 ? data + 4 : data + IR_BYTES;
    size_t i, count = flag == 0 ? 1 : flag;

    if (ours && flag == 0 && (load64(data + 16) & NO_LABEL) != 0)
        return SHEAF_OK;
    for (i = 0; i < count; i++) {
        int code = sample_add_label(scratch, (double)load_float(p + 4 * i), err);

        if (code != SHEAF_OK)
            return code;
    }
    return SHEAF_OK;
}

/* Copies the path from the record's line in the .lst file to `path`, with a NUL. Returns false
 * unless the line has the form that put_name_line() writes, and states the record's number `id`. */
static bool read_name_line(const struct record *record, uint64_t id, char path[KEY_LIMIT + 1])
{
    const char *line = record->name_line;
    const size_t size = line == NULL ? 0 : record->name_line_size;
    const char *tab = size == 0 ? NULL : memrchr(line, '\t', size);
    uint64_t number = 0;
    size_t at = 0, path_size;

    if (tab == NULL)
        return false;
    for (; line[at] >= '0' && line[at] <= '9'; at++) {
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(line[at] - '0'), &number))
            return false;
    }
    path_size = size - (size_t)(tab + 1 - line);
    if (at == 0 || line[at] != '\t' || line + at == tab || number != id || path_size == 0 ||
        path_size > KEY_LIMIT || !name_is_text(tab + 1, path_size))
        return false;
    memcpy(path, tab + 1, path_size);
    path[path_size] = '\0';
    return true;
}

/* Sets *key to `path` without its suffix. `path` is the path of the record's first field. If the
 * record has a trailer, the trailer states the suffix, and `path` must end with it. If the record
 * has no trailer, the suffix of the field is also taken from `path`. Returns false if the path does
 * not match the field. */
static bool split_path(const char *path, struct slice *first, struct text *key)
{
    const size_t size = strlen(path);

    *key = (struct text){ path, size };
    if (first == NULL)
        return true;
    if (first->suffix == NULL) {
        if (!name_split(path, &key->size, &first->suffix))
            return false;
        first->suffix_size = strlen(first->suffix);
        return true;
    }
    if (size <= first->suffix_size + 1)
        return false;
    key->size = size - first->suffix_size - 1;
    return path[key->size] == '.' &&
           memcmp(path + key->size + 1, first->suffix, first->suffix_size) == 0;
}

/* Sets the suffix that `sniff_suffix` finds, or "data". */
static void guess_suffix(struct slice *slice)
{
    const char *suffix = sniff_suffix(slice->data, slice->size);

    slice->suffix = suffix == NULL ? "data" : suffix;
    slice->suffix_size = strlen(slice->suffix);
}

/* Completes a sample with its key, which comes from the .lst file. Records of our packer must have
 * a line in this file. For other records without such a line, a key is made up. */
static int finish_record(const struct record *record, const struct decode_context *context,
                         uint64_t id, struct decode_scratch *scratch, struct sheaf_sample *sample,
                         struct sheaf_error *err)
{
    const struct text no_class = { NULL, 0 };
    struct slice *first = sample_slice_count(scratch) == 0 ? NULL : sample_slices(scratch);
    char path[KEY_LIMIT + 1];
    struct text key;

    if (!read_name_line(record, id, path) || !split_path(path, first, &key)) {
        if (context->ours)
            return err_set(err, SHEAF_ERR_CORRUPT, "record %" PRIu64 " has the line \"%.*s\" in "
                           "the .lst, which does not match it", id,
                           (int)MIN(record->name_line_size, 200),
                           record->name_line == NULL ? "" : record->name_line);
        key = sample_made_up_key(record, context, path);
        if (first != NULL && first->suffix == NULL)
            guess_suffix(first);
    }
    return sample_finish(scratch, record, context, key, no_class, sample, err);
}

/* Finds the fields in the content of a record. If the content ends with a trailer, the trailer
 * lists the fields. Otherwise the whole content is a single field. */
static int record_payload_read_content(struct payload_content content, bool ours,
                                       struct decode_scratch *scratch, struct sheaf_error *err)
{
    const struct slice whole = { .data = content.data, .size = content.size };

    if (ends_like_trailer(content.data, content.size)) {
        int code = read_trailer(content, scratch, err);

        if (code == SHEAF_OK || ours)
            return code;
        scratch->slices.size = 0;
    }
    return sample_add(scratch, &whole, err);
}

int record_payload_number(const uint8_t *data, size_t size, uint64_t *number,
                          struct sheaf_error *err)
{
    if (size < IR_BYTES)
        return err_set(err, SHEAF_ERR_CORRUPT, "the record has %zu byte%s, its header %u", size,
                       plural(size), (unsigned)IR_BYTES);
    *number = load64(data + 8);
    return SHEAF_OK;
}

int record_payload_decode(const uint8_t *data, size_t size, const struct record *record,
                          const struct decode_context *context, struct decode_scratch *scratch,
                          struct sheaf_sample *sample, struct sheaf_error *err)
{
    const uint64_t labels = size < IR_BYTES ? 0 : load32(data);
    const uint64_t header_size = IR_BYTES + 4 * labels;
    struct payload_content content = { data, size };
    uint64_t id = 0;
    int code = SHEAF_OK;

    if (size >= header_size &&
        (context->ours || sniff_suffix(data + header_size, size - header_size) != NULL ||
         ends_like_trailer(data + header_size, size - header_size))) {
        content = (struct payload_content){ data + header_size, size - header_size };
        id = load64(data + 8);
        code = record_payload_read_labels(data, context->ours, scratch, err);
    } else if (context->ours) {
        return err_set(err, SHEAF_ERR_CORRUPT, "the record has %zu byte%s, its header and labels "
                       "%" PRIu64, size, plural(size), header_size);
    }
    if (code == SHEAF_OK)
        code = record_payload_read_content(content, context->ours, scratch, err);
    if (code != SHEAF_OK)
        return code;
    return finish_record(record, context, id, scratch, sample, err);
}
