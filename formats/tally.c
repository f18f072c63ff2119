/* SPDX-License-Identifier: MIT
 *
 * Counts fields and merges the counts; see tally.h. */
#include "formats/tally.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"

/* ---- Sizes ----------------------------------------------------------------------------------- */

static struct tally_size *sizes_of(const struct tally_field *f)
{
    return (struct tally_size *)(void *)f->sizes.data;
}

static size_t size_count(const struct tally_field *f)
{
    return f->sizes.size / sizeof(struct tally_size);
}

/* Returns the width of the range of sizes that are counted together with `size`. Two sizes are
 * counted together if they have the same number of digits and the same two leading digits: 4600 to
 * 4699 is a range of width 100. */
static uint64_t step_of(uint64_t size)
{
    uint64_t step = 1;

    while (size / step >= 100)
        step *= 10;
    return step;
}

static int add_size(struct tally_field *f, uint64_t floor, uint64_t count, struct sheaf_error *err)
{
    size_t low = 0, high = size_count(f);
    struct tally_size *sizes;
    int code;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (sizes_of(f)[middle].floor < floor)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < size_count(f) && sizes_of(f)[low].floor == floor) {
        sizes_of(f)[low].count += count;
        return SHEAF_OK;
    }
    f->sizes.limit = SIZE_MAX / 4;
    code = buf_reserve(&f->sizes, sizeof(*sizes), err);
    if (code != SHEAF_OK)
        return code;
    sizes = sizes_of(f) + low;
    memmove(sizes + 1, sizes, (size_count(f) - low) * sizeof(*sizes));
    *sizes = (struct tally_size){ floor, count };
    f->sizes.size += sizeof(*sizes);
    return SHEAF_OK;
}

/* Estimates the median size of a field. If the number of samples is even, this is the lower one of
 * the two middle sizes. The estimate assumes that the sizes within one counted range are spread
 * evenly. */
uint64_t tally_median(const struct tally_field *f)
{
    uint64_t before = (f->samples - (f->samples != 0)) / 2;
    size_t i = 0;
    uint64_t low, step;

    while (i + 1 < size_count(f) && before >= sizes_of(f)[i].count)
        before -= sizes_of(f)[i++].count;
    if (i == size_count(f))
        return 0;
    low = sizes_of(f)[i].floor;
    step = step_of(low);
    low += (uint64_t)((double)step * ((double)before + 0.5) / (double)sizes_of(f)[i].count);
    return MIN(MAX(low, f->least), f->most);
}

void tally_decades(const struct tally_field *f, uint64_t decades[SHEAF_SURVEY_DECADES])
{
    memset(decades, 0, SHEAF_SURVEY_DECADES * sizeof(decades[0]));
    for (size_t i = 0; i < size_count(f); i++) {
        size_t at = 0;

        for (uint64_t end = 1000; at + 1 < SHEAF_SURVEY_DECADES && sizes_of(f)[i].floor >= end;
             end *= 10)
            at++;
        decades[at] += sizes_of(f)[i].count;
    }
}

/* ---- Fields ---------------------------------------------------------------------------------- */

static void free_field(struct tally_field *f)
{
    free(f->name);
    free(f->lacking);
    buf_free(&f->sizes);
}

static void drop_fields(struct tally *t)
{
    for (size_t i = 0; i < t->count; i++)
        free_field(&t->fields[i]);
    free(t->fields);
    t->fields = NULL;
    t->count = 0;
}

void tally_clear(struct tally *t)
{
    drop_fields(t);
    free(t->first);
    *t = (struct tally){ .samples = 0 };
}

static bool is_utf8(const char *text)
{
    const uint8_t *p = (const uint8_t *)text;
    size_t left = strlen(text), step = 1;

    for (; left != 0 && step != 0; p += step, left -= step)
        step = utf8_sequence(p, left);
    return left == 0;
}

/* Copies a sample's key. Sets *copy to NULL ("unknown") if the key is NULL, or if it is not UTF-8
 * and so cannot be stored in a manifest. */
static int copy_key(char **copy, const char *key, struct sheaf_error *err)
{
    *copy = key != NULL && is_utf8(key) ? strdup(key) : NULL;
    return *copy == NULL && key != NULL && is_utf8(key) ? err_memory(err, strlen(key)) : SHEAF_OK;
}

/* Returns the index of the field called `name` and sets *found. If there is no such field, returns
 * the index at which it would be inserted. `guess` is a likely index, which is tried first. */
static size_t tally_place_of(const struct tally *t, const char *name, size_t guess, bool *found)
{
    size_t low = 0, high = t->count;

    *found = guess < t->count && strcmp(t->fields[guess].name, name) == 0;
    if (*found)
        return guess;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = strcmp(t->fields[middle].name, name);

        *found = order == 0;
        if (*found)
            return middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Inserts a field that no sample had until now. If samples were counted before, the first of them
 * becomes the first sample without the field. */
static int tally_insert_field(struct tally *t, size_t at, const char *name, struct sheaf_error *err)
{
    struct tally_field *grown;
    char *copy, *lacking = NULL;
    int code = t->samples != 0 ? copy_key(&lacking, t->first, err) : SHEAF_OK;

    if (code != SHEAF_OK)
        return code;
    copy = strdup(name);
    grown = copy == NULL ? NULL : reallocarray(t->fields, t->count + 1, sizeof(*grown));
    if (grown == NULL) {
        free(copy);
        free(lacking);
        return err_memory(err, strlen(name) + sizeof(*grown));
    }
    t->fields = grown;
    memmove(grown + at + 1, grown + at, (t->count - at) * sizeof(*grown));
    grown[at] = (struct tally_field){ .name = copy, .lacking = lacking, .least = UINT64_MAX };
    t->count++;
    return SHEAF_OK;
}

/* Finds the field called `name`, or adds it. Sets *field to NULL, without an error, if the tally
 * already has too many fields. */
static int use_field(struct tally *t, const char *name, size_t guess, struct tally_field **field,
                     struct sheaf_error *err)
{
    bool found;
    const size_t at = tally_place_of(t, name, guess, &found);
    int code = SHEAF_OK;

    *field = NULL;
    if (!found && !is_utf8(name)) {
        t->is_unknown = true;
        drop_fields(t);
        return SHEAF_OK;
    }
    if (!found && t->count == TALLY_NAMES_MOST) {
        t->has_too_many = true;
        drop_fields(t);
        return SHEAF_OK;
    }
    if (!found)
        code = tally_insert_field(t, at, name, err);
    if (code == SHEAF_OK)
        *field = &t->fields[at];
    return code;
}

/* Called after a sample that lacks some fields was counted. If a missing field occurs in all
 * earlier samples, records the sample's key as the first key without this field. */
static int note_lacking(struct tally *t, const char *key, uint64_t samples, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (size_t i = 0; i < t->count && code == SHEAF_OK; i++)
        if (t->fields[i].lacking == NULL && t->fields[i].samples < samples)
            code = copy_key(&t->fields[i].lacking, key, err);
    return code;
}

int tally_add(struct tally *t, const struct sheaf_sample *sample, struct sheaf_error *err)
{
    struct tally_field *field = NULL;
    int code = t->samples == 0 ? copy_key(&t->first, sample->key, err) : SHEAF_OK;

    for (size_t i = 0; i < sample->field_count && code == SHEAF_OK && !t->has_too_many &&
                       !t->is_unknown; i++) {
        const uint64_t size = sample->fields[i].size;

        code = use_field(t, sample->fields[i].name, i, &field, err);
        if (code != SHEAF_OK || field == NULL)
            break;
        field->samples++;
        field->bytes += size;
        field->least = MIN(field->least, size);
        field->most = MAX(field->most, size);
        code = add_size(field, size - size % step_of(size), 1, err);
    }
    t->samples++;
    return code == SHEAF_OK && sample->field_count != t->count
               ? note_lacking(t, sample->key, t->samples, err) : code;
}

/* Adds the counts of one field in a later tally, `from`, to the same field of the tally `t`. If all
 * samples of `t` have the field, the first sample without it is among the later samples, and
 * from->lacking is its key. */
static int merge_field(struct tally *t, const struct tally_field *from, size_t guess,
                       struct sheaf_error *err)
{
    struct tally_field *field;
    int code = use_field(t, from->name, guess, &field, err);

    if (code != SHEAF_OK || field == NULL)
        return code;
    if (field->samples == t->samples && from->lacking != NULL)
        code = copy_key(&field->lacking, from->lacking, err);
    field->samples += from->samples;
    field->bytes += from->bytes;
    field->least = MIN(field->least, from->least);
    field->most = MAX(field->most, from->most);
    for (size_t i = 0; i < size_count(from) && code == SHEAF_OK; i++)
        code = add_size(field, sizes_of(from)[i].floor, sizes_of(from)[i].count, err);
    return code;
}

int tally_merge(struct tally *t, const struct tally *behind, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    if (behind->samples == 0 && !behind->is_unknown)
        return SHEAF_OK;
    t->is_unknown |= behind->is_unknown;
    t->has_too_many |= behind->has_too_many;
    if (t->is_unknown || t->has_too_many)
        drop_fields(t);
    for (size_t i = 0; i < behind->count && code == SHEAF_OK && !t->is_unknown &&
                       !t->has_too_many; i++)
        code = merge_field(t, &behind->fields[i], i, err);
    if (code == SHEAF_OK && t->first == NULL && t->samples == 0)
        code = copy_key(&t->first, behind->first, err);
    /* If all samples of `t` have a field, and no sample of the later tally `behind` has it, then
     * the first sample of `behind` is the first sample without the field. */
    for (size_t i = 0; i < t->count && code == SHEAF_OK; i++) {
        bool found;

        (void)tally_place_of(behind, t->fields[i].name, i, &found);
        if (!found && t->fields[i].samples == t->samples)
            code = copy_key(&t->fields[i].lacking, behind->first, err);
    }
    t->samples += behind->samples;
    return code;
}

/* ---- Removing -------------------------------------------------------------------------------- */

static void subtract_sizes(struct tally_field *f, const struct tally_field *removed)
{
    struct tally_size *sizes = sizes_of(f);
    size_t kept = 0, r = 0;

    for (size_t i = 0; i < size_count(f); i++) {
        while (r < size_count(removed) && sizes_of(removed)[r].floor < sizes[i].floor)
            r++;
        if (r < size_count(removed) && sizes_of(removed)[r].floor == sizes[i].floor)
            sizes[i].count -= MIN(sizes[i].count, sizes_of(removed)[r].count);
        if (sizes[i].count != 0)
            sizes[kept++] = sizes[i];
    }
    f->sizes.size = kept * sizeof(*sizes);
    if (kept == 0)
        return;
    f->least = MAX(f->least, sizes[0].floor);
    f->most = MIN(f->most, sizes[kept - 1].floor + step_of(sizes[kept - 1].floor) - 1);
}

void tally_subtract(struct tally *t, const struct tally *removed)
{
    size_t kept = 0;

    t->samples -= MIN(t->samples, removed->samples);
    for (size_t i = 0; i < t->count; i++) {
        struct tally_field *f = &t->fields[i];
        bool found;
        const size_t at = tally_place_of(removed, f->name, i, &found);

        if (found) {
            f->samples -= MIN(f->samples, removed->fields[at].samples);
            f->bytes -= MIN(f->bytes, removed->fields[at].bytes);
            subtract_sizes(f, &removed->fields[at]);
        }
        if (f->samples == t->samples) {
            free(f->lacking);
            f->lacking = NULL;
        }
        if (f->samples == 0)
            free_field(f);
        else
            t->fields[kept++] = *f;
    }
    t->count = kept;
}

void tally_forget_key(struct tally *t, const char *key)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->fields[i].lacking != NULL && strcmp(t->fields[i].lacking, key) == 0) {
            free(t->fields[i].lacking);
            t->fields[i].lacking = NULL;
        }
}

/* ---- Comparing ------------------------------------------------------------------------------- */

static bool is_same_key(const char *a, const char *b)
{
    return a == NULL || b == NULL || strcmp(a, b) == 0;
}

static const char *field_difference(const struct tally_field *a, const struct tally_field *b,
                                    bool limits)
{
    if (a->samples != b->samples)
        return "samples";
    if (a->bytes != b->bytes)
        return "bytes";
    if (a->least != b->least && !(limits && a->least > b->least))
        return "least";
    if (a->most != b->most && !(limits && a->most < b->most))
        return "most";
    if (a->sizes.size != b->sizes.size ||
        memcmp(a->sizes.data, b->sizes.data, a->sizes.size) != 0)
        return "sizes";
    return is_same_key(a->lacking, b->lacking) ? NULL : "lacking";
}

const char *tally_difference(const struct tally *a, const struct tally *b, bool limits,
                             const char **name)
{
    const char *found = NULL;
    size_t i = 0;

    *name = "";
    if (a->is_unknown || b->is_unknown)
        return NULL;
    if (limits && b->has_too_many && !a->has_too_many)
        /* `b` was counted before an edit deleted samples. The remaining samples, which `a` counts,
         * may have fewer field names. So the counts do not contradict each other. */
        return NULL;
    if (a->has_too_many != b->has_too_many || a->count != b->count)
        return "names";
    for (; i < a->count && found == NULL; i++) {
        *name = a->fields[i].name;
        found = strcmp(a->fields[i].name, b->fields[i].name) != 0
                    ? "names" : field_difference(&a->fields[i], &b->fields[i], limits);
    }
    return found;
}

/* ---- As JSON, in a manifest and in the journal (FORMATS.md) ---------------------------------- */

int tally_numbers_of_tree(const json_t *tree, uint64_t *numbers, struct sheaf_error *err)
{
    for (size_t i = 0; i < json_array_size(tree); i++) {
        const json_t *number = json_array_get(tree, i);

        if (!json_is_integer(number) || json_integer_value(number) < 0)
            return err_set(err, SHEAF_ERR_CORRUPT, "value %zu is not a number of at least 0", i);
        numbers[i] = (uint64_t)json_integer_value(number);
    }
    return SHEAF_OK;
}

static json_t *tree_of_field(const void *fields, size_t i, json_error_t *error)
{
    const struct tally_field *f = (const struct tally_field *)fields + i;
    /* The counts of sizes become one flat array of numbers: `floor`, `count`, `floor`, `count`, and
     * so on. `floor` is the lower end of a range of sizes, and `count` is the number of samples in
     * the range. */
    json_t *sizes = json_make_array(f->sizes.size / sizeof(uint64_t), json_make_number,
                                    f->sizes.data, error);
    json_t *tree = sizes == NULL ? NULL
                 : json_pack_ex(error, 0, "{s:s, s:I, s:I, s:I, s:I, s:o}", "name", f->name,
                                "samples", (json_int_t)f->samples, "bytes", (json_int_t)f->bytes,
                                "least", (json_int_t)f->least, "most", (json_int_t)f->most,
                                "sizes", sizes);

    if (tree != NULL && f->lacking != NULL &&
        json_object_set_new(tree, "lacking", json_string(f->lacking)) != 0) {
        json_decref(tree);
        return NULL;
    }
    return tree;
}

json_t *tally_tree(const struct tally *t)
{
    return t->has_too_many ? json_null()
                           : json_make_array(t->count, tree_of_field, t->fields, NULL);
}

int tally_write(const struct tally *t, struct buf *out, struct sheaf_error *err)
{
    json_t *fields, *all = NULL;
    char *text = NULL;
    int code = SHEAF_OK;

    if (t->is_unknown)
        return SHEAF_OK;
    fields = tally_tree(t);
    if (fields != NULL)
        all = json_pack("{s:I, s:s?, s:o}", "samples", (json_int_t)t->samples, "first", t->first,
                        "fields", fields);
    if (all != NULL)
        text = json_dump_text(all, JSON_COMPACT);
    code = text == NULL ? err_memory(err, t->count * sizeof(t->fields[0]))
                        : buf_append(out, text, strlen(text), err);
    free(text);
    json_decref(all);
    return code;
}

static int tally_corrupt(struct sheaf_error *err, const char *what)
{
    return err_set(err, SHEAF_ERR_CORRUPT, "\"fields\": %s", what);
}

/* Returns the number in the member `key` of a JSON object. Returns -1 if the member is missing or
 * not an integer. */
static json_int_t tally_number_of(const json_t *tree, const char *key)
{
    const json_t *value = json_object_get(tree, key);

    return json_is_integer(value) ? json_integer_value(value) : -1;
}

/* Reads the counts of a field's sizes from an array of pairs. Each pair has the lower end of a
 * range of sizes (`floor`) and the number of samples whose field has a size in this range. The
 * lower ends must ascend. The counts must add up to the number of samples that have the field. */
static int read_sizes(const json_t *array, struct tally_field *f, struct sheaf_error *err)
{
    const size_t count = json_array_size(array);
    uint64_t sum = 0;
    json_int_t last = -1;

    f->sizes.limit = SIZE_MAX / 4;
    for (size_t i = 0; i + 1 < count; i += 2) {
        const json_int_t floor = json_integer_value(json_array_get(array, i));
        const json_int_t number = json_integer_value(json_array_get(array, i + 1));
        const struct tally_size size = { (uint64_t)floor, (uint64_t)number };
        int code;

        if (floor <= last || number <= 0 || (uint64_t)floor > f->most ||
            __builtin_add_overflow(sum, (uint64_t)number, &sum))
            return tally_corrupt(err, "\"sizes\" are not ascending, or not counts");
        last = floor;
        code = buf_append(&f->sizes, &size, sizeof(size), err);
        if (code != SHEAF_OK)
            return code;
    }
    return sum == f->samples && count % 2 == 0 ? SHEAF_OK
         : tally_corrupt(err, "\"sizes\" are not of all samples");
}

static int tally_read_field(const json_t *tree, uint64_t samples, struct tally_field *f,
                            struct sheaf_error *err)
{
    const json_t *lacking = json_object_get(tree, "lacking");
    const char *name = json_string_value(json_object_get(tree, "name"));
    const json_int_t numbers[] = { tally_number_of(tree, "samples"), tally_number_of(tree, "bytes"),
                                   tally_number_of(tree, "least"), tally_number_of(tree, "most") };

    if (name == NULL || json_object_size(tree) != 6 + (size_t)(lacking != NULL))
        return tally_corrupt(err, "not a field");
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        if (numbers[i] < 0)
            return tally_corrupt(err, "a number is missing or negative");
    if (numbers[0] == 0 || (uint64_t)numbers[0] > samples || numbers[2] > numbers[3])
        return tally_corrupt(err, "numbers that do not agree");
    if (lacking != NULL && ((uint64_t)numbers[0] == samples || !json_is_string(lacking)))
        return tally_corrupt(err, "\"lacking\" of a field that no sample lacks");
    *f = (struct tally_field){
        .name = strdup(name), .samples = (uint64_t)numbers[0], .bytes = (uint64_t)numbers[1],
        .least = (uint64_t)numbers[2], .most = (uint64_t)numbers[3],
        .lacking = lacking == NULL ? NULL : strdup(json_string_value(lacking)),
    };
    if (f->name == NULL || (f->lacking == NULL && lacking != NULL))
        return err_memory(err, strlen(name));
    return read_sizes(json_object_get(tree, "sizes"), f, err);
}

int tally_of_tree(const json_t *tree, uint64_t samples, struct tally *t, struct sheaf_error *err)
{
    const size_t count = json_array_size(tree);
    int code = SHEAF_OK;

    *t = (struct tally){ .samples = samples, .has_too_many = json_is_null(tree) };
    if (t->has_too_many)
        return SHEAF_OK;
    if (!json_is_array(tree) || count > TALLY_NAMES_MOST)
        return tally_corrupt(err, "not an array of at most 256 fields");
    t->fields = calloc(count + 1, sizeof(t->fields[0]));
    if (t->fields == NULL)
        return err_memory(err, count * sizeof(t->fields[0]));
    for (size_t i = 0; i < count && code == SHEAF_OK; i++) {
        t->count = i + 1;
        code = tally_read_field(json_array_get(tree, i), samples, &t->fields[i], err);
        if (code == SHEAF_OK && i > 0 && strcmp(t->fields[i - 1].name, t->fields[i].name) >= 0)
            code = tally_corrupt(err, "names are not in byte order");
    }
    if (code != SHEAF_OK)
        tally_clear(t);
    return code;
}

int tally_parse(const void *text, size_t size, struct tally *t, struct sheaf_error *err)
{
    json_error_t found;
    json_t *all;
    const char *first;
    int code;

    *t = (struct tally){ .is_unknown = size == 0 };
    if (size == 0)
        return SHEAF_OK;
    code = json_load_text(text, size, JSON_REJECT_DUPLICATES, &all, &found, err);
    if (code == SHEAF_ERR_CORRUPT)
        return tally_corrupt(err, found.text);
    if (code != SHEAF_OK)
        return code;
    first = json_string_value(json_object_get(all, "first"));
    code = tally_number_of(all, "samples") < 0 ? tally_corrupt(err, "samples are missing")
         : tally_of_tree(json_object_get(all, "fields"), (uint64_t)tally_number_of(all, "samples"),
                         t, err);
    if (code == SHEAF_OK && first != NULL) {
        t->first = strdup(first);
        code = t->first == NULL ? err_memory(err, strlen(first)) : SHEAF_OK;
    }
    json_decref(all);
    if (code != SHEAF_OK)
        tally_clear(t);
    return code;
}
