/* SPDX-License-Identifier: MIT
 *
 * Implements the rules for samples that hold in every container; see sample.h. Once the scratch
 * memory has grown to its usual size, these functions allocate nothing per sample, so that reading
 * is fast. */
#include "formats/sample.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/image_kind.h"
#include "formats/label.h"
#include "formats/name.h"

#define SCRATCH_LIMIT (SIZE_MAX / 4)

/* ---- Encoding ----------------------------------------------------------------------------- */

/* Checks that the path "KEY.SUFFIX" can be packed, and that a reader which splits the path finds
 * the same key and suffix. */
static int sample_check_path(const char *key, const char *suffix, struct sheaf_error *err)
{
    const size_t key_size = strnlen(key, KEY_LIMIT + 1);
    const size_t suffix_size = strnlen(suffix, KEY_LIMIT + 1);
    char path[KEY_LIMIT + 1];
    const char *problem, *split_suffix;
    size_t split;

    if (key_size + 1 + suffix_size > KEY_LIMIT)
        return err_set(err, SHEAF_ERR_ARGUMENT, "key and suffix have %zu bytes, the limit is %d: "
                       "%.60s...", key_size + 1 + suffix_size, KEY_LIMIT, key);
    memcpy(path, key, key_size);
    path[key_size] = '.';
    memcpy(path + key_size + 1, suffix, suffix_size + 1);
    problem = name_problem(path);
    if (problem != NULL)
        return err_because(err, err_set(err, SHEAF_ERR_ARGUMENT, "%.400s: %s", path, problem),
                           SHEAF_REASON_ODD_FIELDS);
    if (!name_split(path, &split, &split_suffix) || split != key_size)
        return err_set(err, SHEAF_ERR_ARGUMENT, "%.400s: the key has a dot in its base name, so "
                       "it would be read back as %.*s", path, (int)MIN(split, 400), path);
    return SHEAF_OK;
}

/* Returns whether `name` is `suffix` in lower case. The name of each field must be its suffix in
 * lower case. */
static bool is_lower_of(const char *name, const char *suffix)
{
    for (; *suffix != '\0'; name++, suffix++) {
        const char lower = *suffix >= 'A' && *suffix <= 'Z' ? *suffix + ('a' - 'A') : *suffix;

        if (*name != lower)
            return false;
    }
    return *name == '\0';
}

/* Inserts a field into `sorted`, an array of `count` fields in byte order of their suffixes.
 * Returns an error if the array already has a field with the same name. */
static int sample_insert_field(const struct sheaf_sample *sample, const struct sheaf_field *field,
                               const struct sheaf_field **sorted, size_t count,
                               struct sheaf_error *err)
{
    size_t i;

    if (!is_lower_of(field->name, field_suffix(field)))
        return err_set(err, SHEAF_ERR_ARGUMENT, "%.400s: the field's name \"%.100s\" is not its "
                       "suffix \"%.100s\" in lower case", sample->key, field->name,
                       field_suffix(field));
    for (i = 0; i < count; i++) {
        if (strcmp(sorted[i]->name, field->name) == 0)
            return err_set(err, SHEAF_ERR_ARGUMENT, "%.400s: two fields are named \"%.100s\"",
                           sample->key, field->name);
    }
    for (i = count; i > 0 && strcmp(field_suffix(sorted[i - 1]), field_suffix(field)) > 0; i--)
        sorted[i] = sorted[i - 1];
    sorted[i] = field;
    return SHEAF_OK;
}

static int check_labels(const struct sheaf_sample *sample, struct sheaf_error *err)
{
    size_t i;

    if (sample->label_count > LABEL_LIMIT)
        return err_set(err, SHEAF_ERR_ARGUMENT, "%.400s: %zu labels, the limit is %d", sample->key,
                       sample->label_count, LABEL_LIMIT);
    for (i = 0; i < sample->label_count; i++) {
        if (!label_is_exact(sample->labels[i]))
            return err_set(err, SHEAF_ERR_ARGUMENT, "%.400s: the label %.17g is neither an integer "
                           "up to 2^53 nor a 32-bit float", sample->key, sample->labels[i]);
    }
    return SHEAF_OK;
}

int sample_check(const struct sheaf_sample *sample, const struct sheaf_field *sorted[FIELD_LIMIT],
                 struct sheaf_error *err)
{
    size_t i;
    int code;

    if (sample->field_count > FIELD_LIMIT)
        return err_set(err, SHEAF_ERR_ARGUMENT, "%.400s: %zu fields, the limit is %d", sample->key,
                       sample->field_count, FIELD_LIMIT);
    if (sample->field_count == 0) {
        code = sample_check_path(sample->key, "none", err);
        if (code != SHEAF_OK)
            return code;
    }
    for (i = 0; i < sample->field_count; i++) {
        code = sample_check_path(sample->key, field_suffix(&sample->fields[i]), err);
        if (code == SHEAF_OK)
            code = sample_insert_field(sample, &sample->fields[i], sorted, i, err);
        if (code != SHEAF_OK)
            return code;
    }
    return check_labels(sample, err);
}

static bool sample_ends_in(const char *name, const char *end)
{
    const size_t size = strlen(name), end_size = strlen(end);

    return size >= end_size && strcmp(name + size - end_size, end) == 0;
}

size_t sample_image(const struct sheaf_field *const *sorted, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++) {
        if (strcmp(sorted[i]->name, "jpg") == 0 || strcmp(sorted[i]->name, "jpeg") == 0)
            return i;
    }
    for (i = 0; i < count; i++) {
        if (sample_ends_in(sorted[i]->name, ".jpg") || sample_ends_in(sorted[i]->name, ".jpeg"))
            return i;
    }
    return count;
}

static const char *sample_class_of(const double *labels, size_t count, const char *const *classes,
                                   size_t class_count, int label_base)
{
    double number;

    if (classes == NULL || count != 1 || !label_is_integer(labels[0]))
        return NULL;
    number = labels[0] - label_base;
    return number >= 0 && number < (double)class_count ? classes[(size_t)number] : NULL;
}

const char *sample_class(const struct sheaf_sample *sample, const char *const *classes,
                         size_t class_count, int label_base)
{
    if (sample->class_name != NULL)
        return sample->class_name;
    return sample_class_of(sample->labels, sample->label_count, classes, class_count, label_base);
}

/* ---- Decoding ----------------------------------------------------------------------------- */

void sample_begin(struct decode_scratch *scratch)
{
    scratch->text.size = scratch->joined.size = scratch->slices.size = 0;
    scratch->fields.size = scratch->labels.size = scratch->kept.size = 0;
    scratch->text.limit = scratch->joined.limit = scratch->slices.limit = SCRATCH_LIMIT;
    scratch->fields.limit = scratch->labels.limit = scratch->kept.limit = SCRATCH_LIMIT;
}

int sample_add(struct decode_scratch *scratch, const struct slice *slice,
               struct sheaf_error *err)
{
    if (sample_slice_count(scratch) == FIELD_LIMIT)
        return err_set(err, SHEAF_ERR_LIMIT, "the sample has more than %d fields", FIELD_LIMIT);
    return buf_append(&scratch->slices, slice, sizeof(*slice), err);
}

int sample_add_label(struct decode_scratch *scratch, double label, struct sheaf_error *err)
{
    if (scratch->labels.size == LABEL_LIMIT * sizeof(label))
        return err_set(err, SHEAF_ERR_LIMIT, "the sample has more than %d labels", LABEL_LIMIT);
    return buf_append(&scratch->labels, &label, sizeof(label), err);
}

/* Appends a copy of a text and a NUL to `out`, and returns the copy. The caller must have reserved
 * the room. */
static char *sample_put_text(struct buf *out, const char *data, size_t size)
{
    char *copy = (char *)out->data + out->size;

    buf_put(out, data, size);
    buf_put(out, "", 1);
    return copy;
}

/* Copies a field's suffix, and its name in lower case, into the scratch memory `text`. The pointers
 * of `slice` and `field` then point to these copies. */
static void sample_name_field(struct buf *text, struct slice *slice, struct sheaf_field *field)
{
    char *suffix = sample_put_text(text, slice->suffix, slice->suffix_size), *name, *slash;

    for (slash = strchr(suffix, '/'); slash != NULL; slash = strchr(slash, '/'))
        *slash = '.';
    name = sample_put_text(text, suffix, slice->suffix_size);
    if (!name_lower(name)) {
        text->size -= slice->suffix_size + 1;
        name = suffix;
    }
    field->suffix = slice->suffix = suffix;
    field->name = name;
    field->data = slice->data;
    field->size = slice->size;
}

/* Reserves room for all text that sample_finish() writes, because the sample points to this text
 * and it must not move. */
static int reserve_text(struct decode_scratch *scratch, size_t more, struct sheaf_error *err)
{
    const struct slice *slices = sample_slices(scratch);
    const size_t count = sample_slice_count(scratch);
    size_t i;

    for (i = 0; i < count; i++)
        more += 2 * (slices[i].suffix_size + 1);
    return buf_reserve(&scratch->text, more, err);
}

/* Makes the sample's fields and sorts them by their suffixes. An insertion sort is fast here,
 * because the fields are usually sorted already. */
static int order_fields(struct decode_scratch *scratch, struct sheaf_error *err)
{
    struct slice *slices = sample_slices(scratch);
    const size_t count = sample_slice_count(scratch);
    struct sheaf_field *fields, field;
    size_t i, j;
    int code = buf_reserve(&scratch->fields, count * sizeof(field), err);

    if (code != SHEAF_OK)
        return code;
    fields = (struct sheaf_field *)(void *)scratch->fields.data;
    for (i = 0; i < count; i++) {
        sample_name_field(&scratch->text, &slices[i], &field);
        for (j = 0; j < i; j++) {
            if (strcmp(fields[j].name, field.name) == 0)
                return err_set(err, SHEAF_ERR_CORRUPT, "the sample has two fields named "
                               "\"%.200s\"", field.name);
        }
        for (j = i; j > 0 && strcmp(fields[j - 1].suffix, field.suffix) > 0; j--)
            fields[j] = fields[j - 1];
        fields[j] = field;
    }
    scratch->fields.size = count * sizeof(field);
    return SHEAF_OK;
}

int sample_finish(struct decode_scratch *scratch, const struct record *record,
                  const struct decode_context *context, struct text key, struct text class_name,
                  struct sheaf_sample *sample, struct sheaf_error *err)
{
    int code = reserve_text(scratch, key.size + class_name.size + 2, err);

    if (code != SHEAF_OK)
        return code;
    sample->key = sample_put_text(&scratch->text, key.data, key.size);
    sample->labels = (const double *)(const void *)scratch->labels.data;
    sample->label_count = scratch->labels.size / sizeof(double);
    if (class_name.data != NULL)
        sample->class_name = sample_put_text(&scratch->text, class_name.data, class_name.size);
    else
        sample->class_name = sample_class_of(sample->labels, sample->label_count, context->classes,
                                             context->class_count, context->label_base);
    code = order_fields(scratch, err);
    if (code != SHEAF_OK)
        return code;
    sample->fields = (const struct sheaf_field *)(const void *)scratch->fields.data;
    sample->field_count = sample_slice_count(scratch);
    sample->number = record->number;
    sample->shard = record->shard;
    sample->record = record->record;
    return SHEAF_OK;
}

/* Writes a number with eight digits. The number is split into two groups of four digits, then into
 * four groups of two digits, and then into single digits. All groups are in one 64-bit word, the
 * first group in the lowest bits. So a single multiplication splits all groups at once. */
static void put_eight_digits(char *out, uint32_t number)
{
    uint64_t digits = number / 10000 | (uint64_t)(number % 10000) << 32, high;

    high = digits * 5243 >> 19 & 0x7f0000007f;              /* hundreds */
    digits = high | (digits - high * 100) << 16;
    high = digits * 103 >> 10 & 0x0f000f000f000f;           /* tens */
    digits = high | (digits - high * 10) << 8;
    store64(out, digits | 0x3030303030303030);
}

#define NUMBER_BYTES sizeof("18446744073709551615")

/* Writes a made-up key ("STEM/RECORD", the record with at least eight digits) and a NUL, and
 * returns the length of the key. snprintf with "%.*s/%08" PRIu64 gives the same result, but would
 * take most of the time for a small record. */
static size_t put_made_up_key(char *out, struct text stem, uint64_t record)
{
    char *const digits = out + stem.size + 1;

    memcpy(out, stem.data, stem.size);
    digits[-1] = '/';
    if (record > 99999999)
        return stem.size + 1 + (size_t)snprintf(digits, NUMBER_BYTES, "%" PRIu64, record);
    put_eight_digits(digits, (uint32_t)record);
    digits[8] = '\0';
    return stem.size + 1 + 8;
}

struct text sample_made_up_key(const struct record *record, const struct decode_context *context,
                               char key[KEY_LIMIT + 1])
{
    return (struct text){ key, put_made_up_key(key, context->stem, record->record) };
}

int sample_make_opaque(const uint8_t *data, size_t size, const struct record *record,
                       const struct decode_context *context, struct decode_scratch *scratch,
                       struct sheaf_sample *sample, struct sheaf_error *err)
{
    struct sheaf_field *field;
    int code;

    sample_begin(scratch);
    code = buf_reserve(&scratch->text, context->stem.size + 1 + NUMBER_BYTES, err);
    if (code == SHEAF_OK)
        code = buf_reserve(&scratch->fields, sizeof(*field), err);
    if (code != SHEAF_OK)
        return code;
    put_made_up_key((char *)scratch->text.data, context->stem, record->record);
    field = (struct sheaf_field *)(void *)scratch->fields.data;
    *field = (struct sheaf_field){ .name = "data", .suffix = "data", .data = data, .size = size };
    *sample = (struct sheaf_sample){
        .key = (const char *)scratch->text.data, .fields = field, .field_count = 1,
        .number = record->number, .shard = record->shard, .record = record->record,
    };
    return SHEAF_OK;
}

const char *sniff_suffix(const uint8_t *data, size_t size)
{
    static const char numpy[] = "\x93NUMPY";
    const enum image_kind kind = image_kind_of(data, size);

    /* The two letters "BM" at the start are not enough to recognise a BMP file. The file also
     * states its own size, which must match. */
    if (kind == IMAGE_BMP && (size < 14 || load32(data + 2) != size))
        return NULL;
    if (kind != IMAGE_UNKNOWN)
        return image_kinds[kind].suffixes[0];
    return size >= sizeof(numpy) - 1 && memcmp(data, numpy, sizeof(numpy) - 1) == 0 ? "npy" : NULL;
}

bool sample_has_cls(const struct sheaf_sample *sample)
{
    for (size_t i = 0; i < sample->field_count; i++)
        if (strcmp(sample->fields[i].name, "cls") == 0)
            return true;
    return false;
}
