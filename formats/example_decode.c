/* SPDX-License-Identifier: MIT
 *
 * Decodes a tf.train.Example (the payload of a TFRecord) into a sample, in three steps:
 *
 * 1. Find and check the features. If the payload is not a valid Example down to its last byte, it
 * becomes one opaque field.
 * 2. Take out the features that state the key, the image and the labels.
 * 3. Make fields of the other features; lists become text.
 *
 * The features image/format, image/height and image/width do not become fields if the image itself
 * shows the same facts. To find out, height and width are compared with the image. If our packer
 * wrote the Example, they are not compared, because our packer writes only the right values. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <strings.h>

#include "base/error.h"
#include "formats/example.h"
#include "formats/example_copied.h"
#include "formats/example_wire.h"
#include "formats/image_kind.h"
#include "formats/jpeg.h"
#include "formats/label.h"
#include "formats/name.h"
#include "formats/sample.h"

/* The data of a parsed feature: nothing, a single byte string, a list of byte strings, a list of
 * floats, or a list of integers. */
enum form { FORM_EMPTY, FORM_VALUE, FORM_VALUES, FORM_FLOATS, FORM_INTS };

static struct wire_numbers numbers_of(const struct slice *s)
{
    const struct wire list = { s->data, s->data + s->size };

    return (struct wire_numbers){ .list = list, .packed = { list.p, list.p },
                                  .floats = s->form == FORM_FLOATS };
}

/* ---- Finding the features ----------------------------------------------------------------- */

static bool parse_bytes_list(struct wire list, struct slice *s)
{
    struct wire value = list;
    size_t count = 0;
    uint8_t tag;

    s->data = list.p;
    s->size = wire_left(&list);
    while (wire_tag(&list, &tag)) {
        if (tag != TAG_DELIMITED_1 || !wire_delimited(&list, &value))
            return false;
        count++;
    }
    s->form = count == 0 ? FORM_EMPTY : count == 1 ? FORM_VALUE : FORM_VALUES;
    if (count == 1) {
        s->data = value.p;
        s->size = wire_left(&value);
    }
    return true;
}

static bool parse_numbers(struct wire list, enum form form, struct slice *s)
{
    struct wire_numbers numbers;
    uint64_t value;

    s->form = form;
    s->data = list.p;
    s->size = wire_left(&list);
    for (numbers = numbers_of(s); wire_number(&numbers, &value); )
        ;
    return !numbers.bad;
}

/* Parses a Feature message of a tf.train.Example into `s`. The message holds one list of byte
 * strings, floats or integers, or nothing. Returns false if the message is malformed. */
static bool parse_feature(struct wire feature, struct slice *s)
{
    struct wire list;
    uint8_t tag;

    s->form = FORM_EMPTY;
    s->data = feature.p;
    if (!wire_tag(&feature, &tag))
        return true;
    if (!wire_delimited(&feature, &list) || wire_left(&feature) != 0)
        return false;
    switch (tag) {
    case TAG_DELIMITED_1: return parse_bytes_list(list, s);
    case TAG_DELIMITED_2: return parse_numbers(list, FORM_FLOATS, s);
    case TAG_DELIMITED_3: return parse_numbers(list, FORM_INTS, s);
    default:              return false;
    }
}

/* Parses an entry of an Example's map of features into `s`. The entry must have one name and one
 * Feature, in any order. Otherwise returns false. */
static bool example_decode_parse_entry(struct wire entry, struct slice *s)
{
    struct wire name = { NULL, NULL }, feature = { NULL, NULL }, content;
    uint8_t tag;

    while (wire_tag(&entry, &tag)) {
        struct wire *part = tag == TAG_DELIMITED_1 ? &name : tag == TAG_DELIMITED_2 ? &feature
                                                                                   : NULL;

        if (part == NULL || part->p != NULL || !wire_delimited(&entry, &content))
            return false;
        *part = content;
    }
    if (name.p == NULL || feature.p == NULL || name.p == name.end ||
        wire_left(&name) > KEY_LIMIT || !name_is_text((const char *)name.p, wire_left(&name)))
        return false;
    s->suffix = (const char *)name.p;
    s->suffix_size = wire_left(&name);
    return parse_feature(feature, s);
}

static bool parse_features(struct wire features, size_t most, struct decode_scratch *scratch)
{
    struct wire entry;
    uint8_t tag;

    while (wire_tag(&features, &tag)) {
        struct slice slice = { .size = 0 };

        if (tag != TAG_DELIMITED_1 || !wire_delimited(&features, &entry) ||
            sample_slice_count(scratch) == most || !example_decode_parse_entry(entry, &slice))
            return false;
        buf_put(&scratch->slices, &slice, sizeof(slice));
    }
    return true;
}

/* Parses the features of a payload into slices in the scratch memory, where the caller must have
 * reserved room for `most` slices. Returns true if the payload is a valid tf.train.Example with at
 * most `most` features, and false otherwise. */
static bool parse_example(const uint8_t *data, size_t size, size_t most,
                          struct decode_scratch *scratch)
{
    struct wire example = { data, data + size }, features;
    uint8_t tag;

    if (size == 0)
        return false;
    while (wire_tag(&example, &tag)) {
        if (tag != TAG_DELIMITED_1 || !wire_delimited(&example, &features) ||
            !parse_features(features, most, scratch))
            return false;
    }
    return true;
}

/* ---- Features as they are ----------------------------------------------------------------- */

/* Stores in the scratch memory where each feature of a parsed Example begins. If the sample is
 * written as an Example again, the encoder copies the features from there unchanged. */
static int note_features(const uint8_t *data, size_t size, struct decode_scratch *scratch,
                         struct sheaf_error *err)
{
    struct slice *slice = sample_slices(scratch);
    struct wire example = { data, data + size }, features, entry, part;
    unsigned place = 0;
    uint8_t tag;
    const int code = buf_reserve(&scratch->kept, sample_slice_count(scratch) *
                                 sizeof(struct kept_feature), err);

    if (code != SHEAF_OK)
        return code;
    while (wire_tag(&example, &tag) && wire_delimited(&example, &features)) {
        for (; wire_tag(&features, &tag) && wire_delimited(&features, &entry); slice++) {
            struct kept_feature f = { .name = { slice->suffix, slice->suffix_size },
                                      .is_value = slice->form == FORM_VALUE };

            while (wire_tag(&entry, &tag) && wire_delimited(&entry, &part)) {
                if (tag == TAG_DELIMITED_2) {
                    f.data = part.p;
                    f.size = wire_left(&part);
                }
            }
            slice->place = place++;
            buf_put(&scratch->kept, &f, sizeof(f));
        }
    }
    return SHEAF_OK;
}

/* Records for each feature which field it became. */
static void link_features(struct decode_scratch *scratch)
{
    struct kept_feature *features = (struct kept_feature *)(void *)scratch->kept.data;
    const struct slice *slices = sample_slices(scratch);
    const size_t count = sample_slice_count(scratch);

    for (size_t i = 0; i < count; i++) {
        struct kept_feature *f = &features[slices[i].place];

        f->suffix = slices[i].suffix;
        f->content = slices[i].data;
        f->content_size = slices[i].size;
    }
}

/* ---- What the features of ours say -------------------------------------------------------- */

enum known { IMAGE, FILENAME, FORMAT, HEIGHT, WIDTH, LABEL, CLASS_TEXT, KEY, KNOWN_COUNT };

/* The features whose names have a fixed meaning, such as "image/encoded". A feature can be taken
 * out, which means that it does not become a field of the sample. An element is NULL if its feature
 * was taken out, or if the Example does not have the feature. */
struct known_features {
    struct slice *of[KNOWN_COUNT];
};

static struct known_features example_decode_find_known(const struct decode_scratch *scratch)
{
#define NAME(text) { text, sizeof(text) - 1 }
    static const struct text names[KNOWN_COUNT] = {
        [IMAGE] = NAME("image/encoded"), [FILENAME] = NAME("image/filename"),
        [FORMAT] = NAME("image/format"), [HEIGHT] = NAME("image/height"),
        [WIDTH] = NAME("image/width"), [LABEL] = NAME("image/class/label"),
        [CLASS_TEXT] = NAME("image/class/text"), [KEY] = NAME("__key__"),
    };
#undef NAME
    struct known_features known = { { NULL } };
    struct slice *slices = sample_slices(scratch);
    size_t i, k, count = sample_slice_count(scratch);

    for (i = 0; i < count; i++) {
        if (slices[i].suffix[0] != 'i' && slices[i].suffix[0] != '_')
            continue;
        for (k = 0; k < KNOWN_COUNT; k++) {
            if (slices[i].suffix_size == names[k].size && known.of[k] == NULL &&
                memcmp(slices[i].suffix, names[k].data, names[k].size) == 0) {
                known.of[k] = &slices[i];
                break;
            }
        }
    }
    return known;
}

/* Marks a feature that does not become a field. */
static void take_out(struct slice *s)
{
    s->suffix = NULL;
}

static bool is_value(const struct slice *s)
{
    return s != NULL && s->form == FORM_VALUE;
}

/* Copies a value as a NUL-terminated path. */
static bool copy_path(const struct slice *s, const char *end, char path[KEY_LIMIT + 1])
{
    const size_t end_size = strlen(end);

    if (!is_value(s) || s->size > KEY_LIMIT - end_size ||
        memchr(s->data, '\0', s->size) != NULL)
        return false;
    memcpy(path, s->data, s->size);
    memcpy(path + s->size, end, end_size + 1);
    return name_problem(path) == NULL;
}

/* Makes the sample's key from the feature image/filename or, without a valid one, from __key__.
 * Returns false if neither gives a valid key. */
static bool find_key(struct known_features *known, char path[KEY_LIMIT + 1], struct text *key)
{
    struct slice *image = known->of[IMAGE];
    const char *suffix;

    *key = (struct text){ path, 0 };
    if (is_value(image) && copy_path(known->of[FILENAME], "", path) &&
        name_split(path, &key->size, &suffix)) {
        image->suffix = suffix;
        image->suffix_size = strlen(suffix);
        take_out(known->of[FILENAME]);
        return true;
    }
    if (!copy_path(known->of[KEY], ".none", path) || !name_split(path, &key->size, &suffix) ||
        key->size != known->of[KEY]->size)
        return false;
    take_out(known->of[KEY]);
    return true;
}

const char *example_image_suffix(const struct text *format, const void *data, size_t size,
                                 char name[16])
{
    const char *sniffed = sniff_suffix(data, size);
    size_t i = 0;

    if (format != NULL && format->size < 16) {
        for (; i < format->size && isalnum((unsigned char)format->data[i]) != 0; i++)
            name[i] = format->data[i];
    }
    name[i] = '\0';
    name_lower(name);
    if (i != 0 && i == format->size)
        return strcmp(name, "jpeg") == 0 ? "jpg" : name;
    return sniffed != NULL ? sniffed : "data";
}

static void name_image(struct slice *image, const struct slice *format, char name[16])
{
    const struct text value = is_value(format)
        ? (struct text){ (const char *)format->data, format->size } : (struct text){ NULL, 0 };

    image->suffix = example_image_suffix(is_value(format) ? &value : NULL, image->data,
                                         image->size, name);
    image->suffix_size = strlen(image->suffix);
}

/* Returns whether a feature holds just this one integer. */
static bool example_decode_says(const struct slice *s, uint64_t expected)
{
    struct wire_numbers numbers;
    uint64_t value, second;

    if (s == NULL || s->form != FORM_INTS)
        return false;
    numbers = numbers_of(s);
    return wire_number(&numbers, &value) && value == expected && !wire_number(&numbers, &second);
}

static bool is_jpeg_name(const char *suffix, size_t size)
{
    return (size >= 3 && strncasecmp(suffix + size - 3, "jpg", 3) == 0) ||
           (size >= 4 && strncasecmp(suffix + size - 4, "jpeg", 4) == 0);
}

const char *example_image_format(const char *suffix, size_t size)
{
    if (is_jpeg_name(suffix, size))
        return image_kinds[IMAGE_JPEG].format;
    for (enum image_kind i = IMAGE_JPEG; i < IMAGE_KINDS; i++)
        if (size == strlen(image_kinds[i].suffixes[0]) &&
            strncasecmp(suffix, image_kinds[i].suffixes[0], size) == 0)
            return image_kinds[i].format;
    return NULL;
}

/* Takes out the features image/format, image/height and image/width if they only repeat facts that
 * the image itself shows. They then do not become fields.
 *
 * All three features stay if the image is not a JPEG and the Example has a height or width. Our
 * encoder writes no size for such an image, so the size would be lost. */
static void drop_derived(struct known_features *known, bool ours)
{
    const struct slice *image = known->of[IMAGE];
    struct slice *format = known->of[FORMAT];
    const char *usual = is_value(format) ? example_image_format(image->suffix, image->suffix_size)
                                         : NULL;
    const bool has_size = known->of[HEIGHT] != NULL || known->of[WIDTH] != NULL;
    struct jpeg_info info;

    if (usual == NULL || format->size != strlen(usual) ||
        memcmp(format->data, usual, format->size) != 0 ||
        (has_size && !is_jpeg_name(image->suffix, image->suffix_size)))
        return;
    take_out(format);
    if (known->of[HEIGHT] == NULL || known->of[WIDTH] == NULL)
        return;
    if (ours || (jpeg_size(image->data, image->size, &info) &&
                 example_decode_says(known->of[HEIGHT], info.height)
                 && example_decode_says(known->of[WIDTH], info.width))) {
        take_out(known->of[HEIGHT]);
        take_out(known->of[WIDTH]);
    }
}

/* Returns whether an integer is too large for a label. A label is a double and must represent the
 * integer exactly. */
static bool is_wide(int64_t value)
{
    return value > (int64_t)1 << 53 || value < -((int64_t)1 << 53);
}

/* Takes the values in a list of numbers as the sample's labels if every value can be a label.
 * Otherwise the list becomes a field. */
static int example_decode_take_labels(struct slice *s, struct decode_scratch *scratch,
                                      struct sheaf_error *err)
{
    struct wire_numbers numbers;
    uint64_t bits;

    if (s == NULL || (s->form != FORM_INTS && s->form != FORM_FLOATS))
        return SHEAF_OK;
    for (numbers = numbers_of(s); wire_number(&numbers, &bits); ) {
        const double label = wire_double(&numbers, bits);
        int code;

        if (!label_is_exact(label) || (!numbers.floats && is_wide((int64_t)bits))) {
            scratch->labels.size = 0;
            return SHEAF_OK;
        }
        if (scratch->labels.size == LABEL_LIMIT * sizeof(label)) {
            scratch->labels.size = 0;
            return SHEAF_OK;
        }
        code = sample_add_label(scratch, label, err);
        if (code != SHEAF_OK)
            return code;
    }
    take_out(s);
    return SHEAF_OK;
}

static struct text take_class_name(struct slice *s)
{
    if (!is_value(s) || !name_is_text((const char *)s->data, s->size))
        return (struct text){ NULL, 0 };
    take_out(s);
    return (struct text){ (const char *)s->data, s->size };
}

/* ---- What remains ------------------------------------------------------------------------- */

static void drop_taken(struct decode_scratch *scratch)
{
    struct slice *slices = sample_slices(scratch);
    size_t i, kept = 0, count = sample_slice_count(scratch);

    for (i = 0; i < count; i++) {
        if (slices[i].suffix != NULL)
            slices[kept++] = slices[i];
    }
    scratch->slices.size = kept * sizeof(*slices);
}

static int example_decode_print_number(uint64_t bits, bool is_float, struct buf *out,
                                       struct sheaf_error *err)
{
    double number;

    if (!is_float)
        return buf_printf(out, err, "%" PRId64, (int64_t)bits);
    number = (double)float_of((uint32_t)bits);
    if (isfinite(number))
        return label_print(out, &number, 1, err);
    return buf_printf(out, err, isnan(number) ? "nan" : number > 0 ? "inf" : "-inf");
}

static int print_numbers(const struct slice *s, struct buf *out, struct sheaf_error *err)
{
    const size_t start = out->size;
    struct wire_numbers numbers = numbers_of(s);
    uint64_t bits;
    int code = SHEAF_OK;

    while (code == SHEAF_OK && wire_number(&numbers, &bits)) {
        if (out->size != start)
            code = buf_append(out, " ", 1, err);
        if (code == SHEAF_OK)
            code = example_decode_print_number(bits, numbers.floats, out, err);
    }
    return code;
}

static int join_values(const struct slice *s, struct buf *out, struct sheaf_error *err)
{
    struct wire list = { s->data, s->data + s->size }, value;
    uint8_t tag;
    bool first = true;
    int code = SHEAF_OK;

    while (code == SHEAF_OK && wire_tag(&list, &tag) && wire_delimited(&list, &value)) {
        code = buf_append(out, "\n", !first, err);
        if (code == SHEAF_OK)
            code = buf_append(out, value.p, wire_left(&value), err);
        first = false;
    }
    return code;
}

/* Turns lists of numbers into text, which becomes the content of fields. A number with its
 * separator takes at most five times the bytes that it has in the list. The room for all lists is
 * reserved at once, because fields will point to the text and the text must not move. */
static int print_lists(struct decode_scratch *scratch, struct sheaf_error *err)
{
    struct slice *slices = sample_slices(scratch);
    size_t i, lists = 0, count = sample_slice_count(scratch);
    struct buf *out = &scratch->joined;
    int code;

    for (i = 0; i < count; i++)
        lists += slices[i].form >= FORM_VALUES ? slices[i].size : 0;
    if (lists == 0)
        return SHEAF_OK;
    code = buf_reserve(out, 5 * lists + 64, err);
    for (i = 0; i < count && code == SHEAF_OK; i++) {
        const size_t start = out->size;

        if (slices[i].form < FORM_VALUES)
            continue;
        code = slices[i].form == FORM_VALUES ? join_values(&slices[i], out, err)
                                             : print_numbers(&slices[i], out, err);
        slices[i].data = out->data + start;
        slices[i].size = out->size - start;
    }
    return code;
}

/* Makes a sample from a record that example_copy wrote (a copy of a foreign record with a key
 * appended). The first `own` bytes, which are the foreign record, become one opaque field. */
static int make_copied(const uint8_t *data, size_t own, struct text key,
                       const struct record *record, const struct decode_context *context,
                       struct decode_scratch *scratch, struct sheaf_sample *sample,
                       struct sheaf_error *err)
{
    int code = sample_make_opaque(data, own, record, context, scratch, sample, err);

    if (code == SHEAF_OK)
        code = buf_reserve(&scratch->text, key.size + 1, err);
    if (code != SHEAF_OK)
        return code;
    scratch->text.size = 0;
    buf_put(&scratch->text, key.data, key.size);
    buf_put(&scratch->text, "", 1);
    sample->key = (const char *)scratch->text.data;
    return SHEAF_OK;
}

int example_decode(const uint8_t *data, size_t size, const struct record *record,
                   const struct decode_context *context, struct decode_scratch *scratch,
                   struct sheaf_sample *sample, struct sheaf_error *err)
{
    /* A sample has at most FIELD_LIMIT fields. An Example of our packer may also have up to
     * OWN_FEATURES features that do not become fields. */
    const size_t most = FIELD_LIMIT + (context->ours ? OWN_FEATURES : 0);
    char path[KEY_LIMIT + 1], image_name[16];
    struct known_features known;
    struct text key, class_name;
    size_t own;
    bool has_key;
    int code;

    if (example_is_copied(data, size, &own, &key))
        return make_copied(data, own, key, record, context, scratch, sample, err);
    if (!context->ours && (size == 0 || data[0] != TAG_DELIMITED_1))
        return sample_make_opaque(data, size, record, context, scratch, sample, err);
    sample_begin(scratch);
    code = buf_reserve(&scratch->slices, most * sizeof(struct slice), err);
    if (code != SHEAF_OK)
        return code;
    if (!parse_example(data, size, most, scratch)) {
        if (context->ours)
            return err_set(err, SHEAF_ERR_CORRUPT, "the record of %zu byte%s is not a "
                           "tf.train.Example", size, plural(size));
        return sample_make_opaque(data, size, record, context, scratch, sample, err);
    }
    code = scratch->keeps ? note_features(data, size, scratch, err) : SHEAF_OK;
    if (code != SHEAF_OK)
        return code;
    known = example_decode_find_known(scratch);
    has_key = find_key(&known, path, &key);
    if (!has_key && context->ours)
        return err_set(err, SHEAF_ERR_CORRUPT, "the record's tf.train.Example has neither a valid "
                       "image/filename nor a valid __key__");
    if (!has_key)
        key = sample_made_up_key(record, context, path);
    if (is_value(known.of[IMAGE])) {
        if (known.of[FILENAME] == NULL || known.of[FILENAME]->suffix != NULL)
            name_image(known.of[IMAGE], known.of[FORMAT], image_name);
        drop_derived(&known, context->ours);
    }
    code = example_decode_take_labels(known.of[LABEL], scratch, err);
    class_name = take_class_name(known.of[CLASS_TEXT]);
    drop_taken(scratch);
    if (code == SHEAF_OK && sample_slice_count(scratch) > FIELD_LIMIT)
        code = err_set(err, SHEAF_ERR_CORRUPT, "the record has more than %d fields", FIELD_LIMIT);
    if (code == SHEAF_OK)
        code = print_lists(scratch, err);
    if (code != SHEAF_OK)
        return code;
    code = sample_finish(scratch, record, context, key, class_name, sample, err);
    /* The names of two features may be equal as names of fields, such as "A" and "a". */
    if (code == SHEAF_ERR_CORRUPT && !context->ours)
        return sample_make_opaque(data, size, record, context, scratch, sample, err);
    if (code == SHEAF_OK && scratch->keeps)
        link_features(scratch);
    return code;
}
