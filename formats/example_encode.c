/* SPDX-License-Identifier: MIT
 *
 * Encodes a sample as a tf.train.Example (the payload of a TFRecord). All sizes are computed first,
 * so that the bytes are written in one pass and each field's content is copied once. The result is
 * the same as protobuf's deterministic serialization.
 *
 * If the sample was read from an Example, the decoder may have kept the Example's features. A kept
 * feature is written exactly as it was read, if it still fits the sample. Otherwise a new value is
 * written: for example, a new image/filename if the image was replaced. So decoding the result
 * gives the same sample. */
#include <stdio.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/example.h"
#include "formats/example_copied.h"
#include "formats/example_wire.h"
#include "formats/jpeg.h"
#include "formats/label.h"
#include "formats/sample.h"

#define MESSAGE_LIMIT ((uint64_t)INT32_MAX)     /* of protobuf itself */
/* Side length in pixels that is assumed for an image while its content is not known. It serves to
 * estimate the size of the image's features. Like most side lengths, it takes two bytes as a
 * varint. */
#define USUAL_SIDE    256

#define COPY_SPARE    64                        /* bytes around the key of a copied record */

#define TAG_BYTES(field)  ((uint8_t)((field) << 3 | 2))

/* The kind of a feature's list, by its field number in protobuf's Feature message. KIND_KEPT is not
 * a list but a complete Feature message that was read from another Example. */
enum kind { KIND_KEPT = 0, KIND_BYTES = 1, KIND_FLOATS = 2, KIND_INTS = 3 };

struct feature {
    const char *name;
    size_t name_size;
    enum kind kind;
    /* the sample's field whose data is the value of this feature, or NULL if the value comes from
     * `data` */
    const struct sheaf_field *field;
    /* The value of the feature, if `field` is NULL. It is `size` bytes for KIND_BYTES, `size` bytes
     * of a complete Feature message for KIND_KEPT, and `count` doubles for the other kinds. */
    const void *data;
    size_t size;
    size_t count;
    uint64_t packed;            /* bytes of the value, or of the packed values */
    uint64_t body;              /* bytes of the Feature message */
    uint64_t entry;             /* bytes of the map entry */
};

/* Features in byte order of their names. */
struct features {
    struct feature list[FIELD_LIMIT + OWN_FEATURES];
    size_t count;
    char filename[KEY_LIMIT + 1];
    double height, width;
    /* true if the decoder will take the features image/height and image/width as the size of the
     * image, and will make no fields of them. A field of the sample must then not be written under
     * these two names, because it would get lost. */
    bool takes_sizes;
    /* true if the decoder will make no field of the feature image/format. A field of the sample
     * must then not be written under this name, because it would get lost. */
    bool takes_format;
};

/* A sample, and its fields in byte order of their suffixes. features[i] is the feature from which
 * the field sorted[i] was decoded. It is NULL if the field does not come from an Example, or if the
 * data of the field was replaced after decoding. */
struct example_source {
    const struct sheaf_sample *sample;
    const struct sheaf_field *sorted[FIELD_LIMIT];
    const struct kept_feature *features[FIELD_LIMIT];   /* of unchanged fields; or NULL */
    size_t count;
    const struct kept_features *kept;
    /* index of the field that is written as the feature image/encoded; `count` if the sample has no
     * such field */
    size_t image;
};

static size_t varint_size(uint64_t value)
{
    return (size_t)(70 - __builtin_clzll(value | 1)) / 7;
}

static uint8_t *example_encode_put_varint(uint8_t *p, uint64_t value)
{
    while (value >= 0x80) {
        *p++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *p++ = (uint8_t)value;
    return p;
}

/* Returns the size in bytes of a protobuf field that has a tag of one byte, a length, and `content`
 * bytes. */
static uint64_t delimited(uint64_t content)
{
    return 1 + varint_size(content) + content;
}

static uint8_t *put_delimiter(uint8_t *p, unsigned field, uint64_t content)
{
    *p++ = TAG_BYTES(field);
    return example_encode_put_varint(p, content);
}

static void example_encode_measure(struct feature *f)
{
    const double *values = f->data;
    size_t i;

    f->packed = f->kind == KIND_BYTES || f->kind == KIND_KEPT ? f->size : 4 * (uint64_t)f->count;
    if (f->kind == KIND_INTS) {
        f->packed = 0;
        for (i = 0; i < f->count; i++)
            f->packed += varint_size((uint64_t)(int64_t)values[i]);
    }
    f->body = f->kind == KIND_KEPT ? f->size : delimited(delimited(f->packed));
    f->entry = delimited(f->name_size) + delimited(f->body);
}

static int example_encode_compare_names(const struct feature *f, const char *name, size_t size)
{
    const int order = memcmp(f->name, name, MIN(f->name_size, size));

    return order != 0 ? order : (f->name_size > size) - (f->name_size < size);
}

static void insert_feature(struct features *all, struct feature feature)
{
    size_t i = all->count++;

    example_encode_measure(&feature);
    for (; i > 0 && example_encode_compare_names(&all->list[i - 1], feature.name,
                                                 feature.name_size) > 0; i--)
        all->list[i] = all->list[i - 1];
    all->list[i] = feature;
}

static void add_feature(struct features *all, struct feature feature)
{
    feature.name_size = strlen(feature.name);
    insert_feature(all, feature);
}

static void add_kept(struct features *all, struct text name, const struct kept_feature *f)
{
    insert_feature(all, (struct feature){ .name = name.data, .name_size = name.size,
                                          .kind = KIND_KEPT, .data = f->data, .size = f->size });
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

/* ---- What was kept ----------------------------------------------------------------------- */

static bool is_named(const struct kept_feature *f, const char *name)
{
    return f->name.size == strlen(name) && memcmp(f->name.data, name, f->name.size) == 0;
}

/* A kept feature is a feature of the Example that was read. Returns whether the kept feature `f` is
 * called `name` and its field was not renamed. Returns false if `f` is NULL. */
static bool example_encode_is_own(const struct kept_feature *f, const char *name)
{
    return f != NULL && !f->is_renamed && is_named(f, name);
}

/* Returns the feature of the decoded Example from which `field` was made. Returns NULL if the field
 * was not made from a feature, or if its data was replaced after decoding. */
static const struct kept_feature *find_feature(const struct kept_features *kept,
                                               const struct sheaf_field *field)
{
    for (size_t i = 0; kept != NULL && i < kept->count; i++) {
        const struct kept_feature *f = &kept->features[i];

        if (f->suffix == field->suffix && f->suffix != NULL)
            return f->content == field->data && f->content_size == field->size ? f : NULL;
    }
    return NULL;
}

/* A kept feature is a feature of the Example that was read. Returns the kept feature called `name`
 * if the decoder made no field of it, for example because the feature states the key or the labels.
 * Returns NULL otherwise. */
static const struct kept_feature *taken_out(const struct example_source *s, const char *name)
{
    for (size_t i = 0; s->kept != NULL && i < s->kept->count; i++)
        if (s->kept->features[i].suffix == NULL && is_named(&s->kept->features[i], name))
            return &s->kept->features[i];
    return NULL;
}

/* A kept feature is a feature of the Example that was read. Returns the kept feature called `name`
 * if the decoder made a field of it and the field still has this name. Returns NULL otherwise. */
static const struct kept_feature *own_field(const struct example_source *s, const char *name)
{
    for (size_t i = 0; s->kept != NULL && i < s->count; i++)
        if (example_encode_is_own(s->features[i], name))
            return s->features[i];
    return NULL;
}

/* A kept feature is a feature of the Example that was read. Returns whether its numbers equal the
 * present labels of the sample. */
static bool says_labels(const struct kept_feature *f, const struct sheaf_sample *sample)
{
    struct wire feature = { f->data, f->data + f->size };
    struct wire_numbers numbers = { .bad = false };
    uint64_t bits;
    uint8_t tag;
    size_t i;

    if (!wire_tag(&feature, &tag) || !wire_delimited(&feature, &numbers.list))
        return false;
    numbers.floats = tag == TAG_DELIMITED_2;
    for (i = 0; wire_number(&numbers, &bits); i++)
        if (i == sample->label_count || sample->labels[i] != wire_double(&numbers, bits))
            return false;
    return i == sample->label_count;
}

/* ---- The image --------------------------------------------------------------------------- */

static bool is_own_image(const struct kept_feature *f)
{
    return example_encode_is_own(f, "image/encoded") && f->is_value;
}

/* Returns the index of the sample's image: the field that is named like a JPEG, or else the field
 * "png", "webp", "gif" or "bmp". Returns `count` if the sample has no such field. */
static size_t example_encode_find_name(const struct example_source *s)
{
    size_t i = sample_image(s->sorted, s->count);

    if (i < s->count)
        return i;
    for (i = 0; i < s->count; i++)
        if (example_image_format(s->sorted[i]->name, strlen(s->sorted[i]->name)) != NULL)
            break;
    return i;
}

/* Returns the index of the field that is written as the feature image/encoded. This is the field
 * that was read from image/encoded. If there is no such field, it is the field that is named like
 * an image, unless that field was read from another feature and not renamed: then the field is
 * written as that feature. Returns `count` if no field is written as image/encoded. */
static size_t example_encode_find_image(const struct example_source *s)
{
    size_t i;

    for (i = 0; s->kept != NULL && i < s->count; i++)
        if (is_own_image(s->features[i]))
            return i;
    i = example_encode_find_name(s);
    return i == s->count || s->features[i] == NULL ||
           (s->features[i]->is_renamed && s->features[i]->is_value) ? i : s->count;
}

static void add_key(struct features *all, const struct sheaf_sample *sample)
{
    add_bytes(all, "__key__", sample->key, strlen(sample->key));
}

static void add_filename(struct features *all, const char *key, const struct sheaf_field *image)
{
    snprintf(all->filename, sizeof(all->filename), "%s.%s", key, field_suffix(image));
    add_bytes(all, "image/filename", all->filename, strlen(all->filename));
}

static void add_sizes(struct features *all, const struct sheaf_field *image)
{
    const bool is_unread = image->data == NULL && image->size != 0;
    struct jpeg_info info = { .height = USUAL_SIDE, .width = USUAL_SIDE };

    if (!is_unread && !jpeg_size(image->data, image->size, &info))
        return;
    all->height = info.height;
    all->width = info.width;
    add_numbers(all, "image/height", KIND_INTS, &all->height, 1);
    add_numbers(all, "image/width", KIND_INTS, &all->width, 1);
}

static const char *format_of_image(const struct sheaf_field *image)
{
    const char *suffix = field_suffix(image);

    return example_image_format(suffix, strlen(suffix));
}

static bool is_jpeg(const struct sheaf_field *image)
{
    const char *format = format_of_image(image);

    return format != NULL && strcmp(format, "JPEG") == 0;
}

/* Returns whether the sample has a field that was read from the feature image/format, and that
 * would get lost if it were written as image/format again.
 *
 * If the value of image/format is the usual one for the image (such as "PNG" for a PNG), the
 * decoder makes no field of it. There is one exception: the decoder makes a field if the image is
 * not a JPEG and the Example has image/height or image/width. If the sample no longer has a field
 * of these two names, a field image/format with the usual value would get lost. */
static bool loses_format(const struct example_source *s)
{
    const struct sheaf_field *image = s->sorted[s->image];
    const struct kept_feature *format = own_field(s, "image/format");
    const char *usual = format_of_image(image);

    return format != NULL && format->is_value && usual != NULL && !is_jpeg(image)
           && format->content_size == strlen(usual)
           && memcmp(format->content, usual, format->content_size) == 0
           && own_field(s, "image/height") == NULL && own_field(s, "image/width") == NULL;
}

/* Returns whether the decoder would find the right suffix for the image even without the feature
 * image/filename: from image/format, or from the content of the image. */
static bool names_itself(const struct example_source *s)
{
    const struct sheaf_field *image = s->sorted[s->image];
    const struct kept_feature *format = own_field(s, "image/format");
    const char *usual = format_of_image(image);
    /* The value that image/format will have. If the decoder took image/format out, the feature had
     * the usual value for the image's suffix, because the decoder makes a field of any other
     * value. */
    struct text text = { usual, usual == NULL ? 0 : strlen(usual) };
    const bool is_taken = taken_out(s, "image/format") != NULL;
    const bool is_text = is_taken || (format != NULL && format->is_value && !loses_format(s));
    char name[16];

    if (!is_taken && is_text)
        text = (struct text){ format->content, format->content_size };
    return strcmp(example_image_suffix(is_text ? &text : NULL, image->data, image->size, name),
                  field_suffix(image)) == 0;
}

/* Adds the features of an image that is unchanged since it was read: the image, the features that
 * described the image, and the sample's key.
 *
 * The sample may also have ordinary fields called image/height or image/width. A decoder would take
 * them for the size of the image, so the function then adds the true height and width. */
static void add_own_image(struct features *all, const struct example_source *s)
{
    static const char *const derived[] = { "image/format", "image/height", "image/width" };
    const struct sheaf_field *image = s->sorted[s->image];

    add_kept(all, s->features[s->image]->name, s->features[s->image]);
    if (taken_out(s, "image/filename") != NULL || !names_itself(s))
        add_filename(all, s->sample->key, image);
    else
        add_key(all, s->sample);
    all->takes_sizes = taken_out(s, "image/format") != NULL;
    all->takes_format = loses_format(s);
    for (size_t i = 0; i < COUNT_OF(derived); i++) {
        const struct kept_feature *f = taken_out(s, derived[i]);

        if (f != NULL)
            add_kept(all, f->name, f);
    }
    /* If the sample has a field called image/height or image/width, the decoder would use this
     * field as the size of a JPEG. So the true size is added, unless the loop over `derived` has
     * already added it. */
    if (all->takes_sizes && is_jpeg(image) && taken_out(s, "image/height") == NULL &&
        (own_field(s, "image/height") != NULL || own_field(s, "image/width") != NULL))
        add_sizes(all, image);
}

static void add_image(struct features *all, const struct example_source *s)
{
    const struct sheaf_field *image = s->sorted[s->image];
    const char *format = format_of_image(image);

    add_content(all, "image/encoded", image);
    add_filename(all, s->sample->key, image);
    add_bytes(all, "image/format", format, strlen(format));
    all->takes_sizes = true;
    if (is_jpeg(image))
        add_sizes(all, image);
}

/* ---- The rest ---------------------------------------------------------------------------- */

/* Adds the labels as one feature. If all labels are integers, the feature is a list of integers.
 * Otherwise it is a list of 32-bit floats. Returns SHEAF_ERR_LIMIT if such a float does not
 * represent a label exactly. */
static int example_encode_add_labels(struct features *all, const struct example_source *s,
                                     struct sheaf_error *err)
{
    const struct sheaf_sample *sample = s->sample;
    const struct kept_feature *f = taken_out(s, "image/class/label");
    enum kind kind = KIND_INTS;
    size_t i;

    if (f != NULL && says_labels(f, sample)) {
        add_kept(all, f->name, f);
        return SHEAF_OK;
    }
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

static bool example_encode_has_name(const struct features *all, struct text name)
{
    for (size_t i = 0; i < all->count; i++)
        if (example_encode_compare_names(&all->list[i], name.data, name.size) == 0)
            return true;
    return false;
}

/* A kept feature is a feature of the Example that was read. Returns true if `f` cannot be written
 * under its old name, because another feature already has this name, or because a decoder would not
 * return a feature with this name as a field. */
static bool is_taken(const struct features *all, const struct kept_feature *f)
{
    return example_encode_has_name(all, f->name)
           || (all->takes_sizes && (is_named(f, "image/height") || is_named(f, "image/width")))
           || (all->takes_format && is_named(f, "image/format"));
}

static void example_encode_add_field(struct features *all, const struct sheaf_field *field,
                                     const struct kept_feature *f)
{
    const char *suffix = field_suffix(field);

    if (f == NULL)
        add_content(all, suffix, field);
    else if (f->is_renamed || is_taken(all, f))
        add_kept(all, (struct text){ suffix, strlen(suffix) }, f);
    else
        add_kept(all, f->name, f);
}

static int find_source(const struct sheaf_sample *sample, const struct kept_features *kept,
                       struct example_source *s, struct sheaf_error *err)
{
    const int code = sample_check(sample, s->sorted, err);

    if (code != SHEAF_OK)
        return code;
    s->sample = sample;
    s->kept = kept;
    s->count = sample->field_count;
    for (size_t i = 0; i < s->count; i++)
        s->features[i] = find_feature(kept, s->sorted[i]);
    s->image = example_encode_find_image(s);
    return SHEAF_OK;
}

static int collect_features(const struct sheaf_sample *sample, const struct encode_context *context,
                            struct features *all, struct sheaf_error *err)
{
    const char *class_name;
    struct example_source s;
    int code = find_source(sample, context->kept, &s, err);

    all->count = 0;
    all->takes_sizes = all->takes_format = false;
    if (code != SHEAF_OK)
        return code;
    if (s.image == s.count)
        add_key(all, sample);
    else if (is_own_image(s.features[s.image]))
        add_own_image(all, &s);
    else
        add_image(all, &s);
    class_name = sample_class(sample, context->classes, context->class_count,
                              context->label_base);
    if (class_name != NULL)
        add_bytes(all, "image/class/text", class_name, strlen(class_name));
    code = example_encode_add_labels(all, &s, err);
    for (size_t i = 0; i < s.count && code == SHEAF_OK; i++)
        if (i != s.image)
            example_encode_add_field(all, s.sorted[i], s.features[i]);
    return code;
}

static uint8_t *example_encode_put_values(uint8_t *p, const struct feature *f)
{
    const double *values = f->data;
    size_t i;

    if (f->kind == KIND_BYTES || f->kind == KIND_KEPT) {
        if (f->size != 0 && p != f->data)
            memcpy(p, f->data, f->size);
        return p + f->size;
    }
    for (i = 0; i < f->count; i++) {
        if (f->kind == KIND_INTS) {
            p = example_encode_put_varint(p, (uint64_t)(int64_t)values[i]);
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
    if (f->kind != KIND_KEPT) {
        p = put_delimiter(p, f->kind, delimited(f->packed));
        p = put_delimiter(p, 1, f->packed);
    }
    return example_encode_put_values(p, f);
}

/* Adds up the sizes, in bytes, of all entries of the Features message. Sets *total to the sum.
 * Returns SHEAF_ERR_LIMIT if the message would be larger than protobuf allows. */
static int add_entries(const struct features *all, const char *key, uint64_t *total,
                       struct sheaf_error *err)
{
    size_t i;

    /* The sum cannot overflow: before each addition, both the sum and the size of the next
     * feature's value are at most MESSAGE_LIMIT. */
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

/* Returns the number of bytes that put_feature writes before the value of the feature `f`. */
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

/* Returns whether example_copy must write this sample. Such a sample has a single field that holds
 * a whole foreign record. The decoder could not make fields of the record's features, because they
 * are too many, have odd names, or are sequences. */
static bool is_copied(const struct sheaf_sample *s, const struct kept_features *kept)
{
    return kept != NULL && kept->count == 0 && s->field_count == 1 && s->label_count == 0 &&
           s->class_name == NULL && strcmp(s->fields[0].name, "data") == 0 &&
           strcmp(field_suffix(&s->fields[0]), "data") == 0 &&
           s->fields[0].size <= MESSAGE_LIMIT / 2 &&
           example_can_be_copied(s->fields[0].data, s->fields[0].size);
}

static int example_encode_copy_record(const struct sheaf_sample *sample, size_t spare,
                                      struct buf *out, struct sheaf_error *err)
{
    const struct sheaf_field *sorted[FIELD_LIMIT];
    const struct sheaf_field *field = &sample->fields[0];
    int code = sample_check(sample, sorted, err);

    if (code == SHEAF_OK)
        code = buf_reserve(out, field->size + strlen(sample->key) + COPY_SPARE + spare, err);
    return code == SHEAF_OK ? example_copy(field, sample->key, out, err) : code;
}

int example_encode(const struct sheaf_sample *sample, const struct encode_context *context,
                   size_t spare, struct buf *out, struct sheaf_error *err)
{
    struct features all;
    uint64_t total;
    uint8_t *p;
    int code;

    if (is_copied(sample, context->kept))
        return example_encode_copy_record(sample, spare, out, err);
    code = collect_features(sample, context, &all, err);

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
