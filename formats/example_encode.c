/* SPDX-License-Identifier: MIT
 *
 * Sample -> tf.train.Example.  All sizes are computed first, so that the bytes are written in
 * one pass and each field's content is copied once.  The result is what protobuf's
 * deterministic serialization gives. */
#include <stdio.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/example.h"
#include "formats/jpeg.h"
#include "formats/label.h"
#include "formats/sample.h"

#define MESSAGE_LIMIT ((uint64_t)INT32_MAX)     /* of protobuf itself */
#define OWN_FEATURES  8                         /* that are made beside the fields */
#define USUAL_SIDE    256                       /* of an image: as most, a varint of two bytes */

#define TAG_BYTES(field)  ((uint8_t)((field) << 3 | 2))

enum kind { KIND_BYTES = 1, KIND_FLOATS = 2, KIND_INTS = 3 };  /* field numbers of Feature */

struct feature {
    const char *name;
    size_t name_size;
    enum kind kind;
    const struct sheaf_field *field;        /* of the sample, whose content it is; or NULL */
    const void *data;           /* KIND_BYTES: `size` bytes; else: `count` doubles */
    size_t size;
    size_t count;
    uint64_t packed;            /* bytes of the value, or of the packed values */
    uint64_t body;              /* bytes of the Feature message */
    uint64_t entry;             /* bytes of the map entry */
};

/* Features in byte order of names. */
struct features {
    struct feature list[FIELD_LIMIT + OWN_FEATURES];
    size_t count;
    char filename[KEY_LIMIT + 1];
    double height, width;
};

static size_t varint_size(uint64_t value)
{
    return (size_t)(70 - __builtin_clzll(value | 1)) / 7;
}

static uint8_t *put_varint(uint8_t *p, uint64_t value)
{
    while (value >= 0x80) {
        *p++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *p++ = (uint8_t)value;
    return p;
}

/* The bytes of a length-delimited field with a content of this size. */
static uint64_t delimited(uint64_t content)
{
    return 1 + varint_size(content) + content;
}

static uint8_t *put_delimiter(uint8_t *p, unsigned field, uint64_t content)
{
    *p++ = TAG_BYTES(field);
    return put_varint(p, content);
}

static void measure(struct feature *f)
{
    const double *values = f->data;
    size_t i;

    f->packed = f->kind == KIND_BYTES ? f->size : 4 * (uint64_t)f->count;
    if (f->kind == KIND_INTS) {
        f->packed = 0;
        for (i = 0; i < f->count; i++)
            f->packed += varint_size((uint64_t)(int64_t)values[i]);
    }
    f->body = delimited(delimited(f->packed));
    f->entry = delimited(f->name_size) + delimited(f->body);
}

static void add_feature(struct features *all, struct feature feature)
{
    size_t i = all->count++;

    feature.name_size = strlen(feature.name);
    measure(&feature);
    for (; i > 0 && strcmp(all->list[i - 1].name, feature.name) > 0; i--)
        all->list[i] = all->list[i - 1];
    all->list[i] = feature;
}

static void add_bytes(struct features *all, const char *name, const void *data, size_t size)
{
    add_feature(all, (struct feature){ .name = name, .kind = KIND_BYTES, .data = data,
                                       .size = size });
}

static void add_content(struct features *all, const char *name, const struct sheaf_field *field)
{
    add_feature(all, (struct feature){ .name = name, .kind = KIND_BYTES, .field = field,
                                       .data = field->data, .size = field->size });
}

static void add_numbers(struct features *all, const char *name, enum kind kind,
                        const double *values, size_t count)
{
    add_feature(all, (struct feature){ .name = name, .kind = kind, .data = values,
                                       .count = count });
}

static void add_image(struct features *all, const char *key, const struct sheaf_field *field)
{
    const bool is_unread = field->data == NULL && field->size != 0;
    struct jpeg_info info = { .height = USUAL_SIDE, .width = USUAL_SIDE };

    snprintf(all->filename, sizeof(all->filename), "%s.%s", key, field_suffix(field));
    add_content(all, "image/encoded", field);
    add_bytes(all, "image/filename", all->filename, strlen(all->filename));
    add_bytes(all, "image/format", "JPEG", 4);
    if (!is_unread && !jpeg_size(field->data, field->size, &info))
        return;
    all->height = info.height;
    all->width = info.width;
    add_numbers(all, "image/height", KIND_INTS, &all->height, 1);
    add_numbers(all, "image/width", KIND_INTS, &all->width, 1);
}

/* All integers, or all 32-bit floats: a list of both kinds must have them all as floats. */
static int add_labels(struct features *all, const struct sheaf_sample *sample,
                      struct sheaf_error *err)
{
    enum kind kind = KIND_INTS;
    size_t i;

    if (sample->label_count == 0)
        return SHEAF_OK;
    for (i = 0; i < sample->label_count && kind == KIND_INTS; i++) {
        if (!label_is_integer(sample->labels[i]))
            kind = KIND_FLOATS;
    }
    for (i = 0; i < sample->label_count && kind == KIND_FLOATS; i++) {
        if ((double)(float)sample->labels[i] != sample->labels[i])
            return err_set(err, SHEAF_ERR_LIMIT, "%.400s: the label %.17g is not exact as a 32-bit "
                           "float, which is required if another label is a fraction", sample->key,
                           sample->labels[i]);
    }
    add_numbers(all, "image/class/label", kind, sample->labels, sample->label_count);
    return SHEAF_OK;
}

static int collect_features(const struct sheaf_sample *sample, const struct encode_context *context,
                            struct features *all, struct sheaf_error *err)
{
    const struct sheaf_field *sorted[FIELD_LIMIT];
    const char *class_name;
    size_t i, image;
    int code = sample_check(sample, sorted, err);

    all->count = 0;
    if (code != SHEAF_OK)
        return code;
    image = sample_image(sorted, sample->field_count);
    for (i = 0; i < sample->field_count; i++) {
        if (i != image)
            add_content(all, field_suffix(sorted[i]), sorted[i]);
    }
    if (image < sample->field_count)
        add_image(all, sample->key, sorted[image]);
    else
        add_bytes(all, "__key__", sample->key, strlen(sample->key));
    class_name = sample_class(sample, context->classes, context->class_count,
                              context->label_base);
    if (class_name != NULL)
        add_bytes(all, "image/class/text", class_name, strlen(class_name));
    return add_labels(all, sample, err);
}

static uint8_t *put_values(uint8_t *p, const struct feature *f)
{
    const double *values = f->data;
    size_t i;

    if (f->kind == KIND_BYTES) {
        if (f->size != 0 && p != f->data)
            memcpy(p, f->data, f->size);
        return p + f->size;
    }
    for (i = 0; i < f->count; i++) {
        if (f->kind == KIND_INTS) {
            p = put_varint(p, (uint64_t)(int64_t)values[i]);
        } else {
            store_float(p, (float)values[i]);
            p += sizeof(float);
        }
    }
    return p;
}

static uint8_t *put_feature(uint8_t *p, const struct feature *f)
{
    p = put_delimiter(p, 1, f->entry);
    p = put_delimiter(p, 1, f->name_size);
    memcpy(p, f->name, f->name_size);
    p += f->name_size;
    p = put_delimiter(p, 2, f->body);
    p = put_delimiter(p, f->kind, delimited(f->packed));
    p = put_delimiter(p, 1, f->packed);
    return put_values(p, f);
}

/* The bytes of all entries.  SHEAF_ERR_LIMIT: protobuf takes no such message. */
static int add_entries(const struct features *all, const char *key, uint64_t *total,
                       struct sheaf_error *err)
{
    size_t i;

    /* No more than FIELD_LIMIT fields of at most SIZE_MAX / 2 bytes, but checked one by one. */
    for (i = 0, *total = 0; i < all->count; i++) {
        if (all->list[i].packed > MESSAGE_LIMIT || *total > MESSAGE_LIMIT)
            break;
        *total += delimited(all->list[i].entry);
    }
    if (i == all->count && delimited(*total) <= MESSAGE_LIMIT)
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_LIMIT, "%.400s: the sample is larger than the 2 GiB that a "
                   "tf.train.Example can have", key);
}

/* What put_feature puts before the value. */
static size_t feature_lead(const struct feature *f)
{
    return (size_t)(delimited(f->entry) - f->packed);
}

size_t example_content_at(const struct sheaf_sample *sample, const struct encode_context *context,
                          const struct sheaf_field *field)
{
    struct features all;
    uint64_t total = 0;
    size_t at;

    if (collect_features(sample, context, &all, NULL) != SHEAF_OK ||
        add_entries(&all, sample->key, &total, NULL) != SHEAF_OK)
        return SIZE_MAX;
    at = (size_t)(delimited(total) - total);
    for (size_t i = 0; i < all.count; i++) {
        if (all.list[i].field == field)
            return at + feature_lead(&all.list[i]);
        at += (size_t)delimited(all.list[i].entry);
    }
    return SIZE_MAX;
}

int example_encode(const struct sheaf_sample *sample, const struct encode_context *context,
                   size_t spare, struct buf *out, struct sheaf_error *err)
{
    struct features all;
    uint64_t total;
    uint8_t *p;
    int code = collect_features(sample, context, &all, err);

    if (code == SHEAF_OK)
        code = add_entries(&all, sample->key, &total, err);
    if (code == SHEAF_OK)
        code = buf_reserve(out, delimited(total) + spare, err);
    if (code != SHEAF_OK)
        return code;
    p = put_delimiter(out->data + out->size, 1, total);
    for (size_t i = 0; i < all.count; i++)
        p = put_feature(p, &all.list[i]);
    out->size = (size_t)(p - out->data);
    return SHEAF_OK;
}
