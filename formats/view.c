/* SPDX-License-Identifier: MIT
 *
 * Parses and writes the JSON document that describes a view (samples chosen from data sets, and how
 * they are mixed); see view.h. */
#include "formats/view.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/glob.h"
#include "base/json.h"
#include "formats/column_record.h"
#include "formats/content.h"

#define VERSION 1

static bool view_ends_with(const char *text, const char *end)
{
    const size_t size = strlen(text), end_size = strlen(end);

    return size >= end_size && strcmp(text + size - end_size, end) == 0;
}

bool view_is_name(const char *url)
{
    return view_ends_with(url, ".view") || (view_ends_with(url, ".json")
                                          && !view_ends_with(url, "/" MANIFEST_NAME)
                                          && strcmp(url, MANIFEST_NAME) != 0);
}

bool view_begins(const void *text, size_t size)
{
    const char *at = text, *const end = at + size;
    static const char name[] = "\"sheaf_view\"";

    while (at < end && strchr(" \t\r\n", *at) != NULL && *at != '\0')
        at++;
    if (at == end || *at++ != '{')
        return false;
    while (at < end && strchr(" \t\r\n", *at) != NULL && *at != '\0')
        at++;
    return (size_t)(end - at) >= sizeof(name) - 1 && memcmp(at, name, sizeof(name) - 1) == 0;
}

/* ---- Values --------------------------------------------------------------------------------- */

/* Sets an error about the unknown name `name` in the document of a view. The message lists the
 * names that are allowed at this place. */
static int view_refuse_name(const char *const *known, const char *where, const char *name,
                            struct sheaf_error *err)
{
    char list[160] = "";

    for (size_t i = 0; known[i] != NULL; i++) {
        const size_t size = strlen(list);

        snprintf(list + size, sizeof(list) - size, "%s\"%s\"", i == 0 ? "" : ", ", known[i]);
    }
    return err_set(err, SHEAF_ERR_ARGUMENT, "%s has the unknown name \"%.100s\": expected one of "
                   "%s", where, name, list);
}

/* Refuses unknown names. `known` ends with NULL. */
static int view_check_names(json_t *object, const char *const *known, const char *where,
                            struct sheaf_error *err)
{
    const char *name;
    json_t *value;

    if (!json_is_object(object))
        return err_set(err, SHEAF_ERR_ARGUMENT, "%s is not an object", where);
    json_object_foreach(object, name, value) {
        size_t i = 0;

        while (known[i] != NULL && strcmp(known[i], name) != 0)
            i++;
        if (known[i] == NULL)
            return view_refuse_name(known, where, name, err);
    }
    return SHEAF_OK;
}

static int view_take_number(const json_t *value, const char *name, uint64_t least, uint64_t most,
                            uint64_t *number, struct sheaf_error *err)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0
        || (uint64_t)json_integer_value(value) < least
        || (uint64_t)json_integer_value(value) > most)
        return err_set(err, SHEAF_ERR_ARGUMENT, "\"%s\" is not a whole number of %" PRIu64 " to %"
                       PRIu64, name, least, most);
    *number = (uint64_t)json_integer_value(value);
    return SHEAF_OK;
}

/* A pair [a, b] of whole numbers. */
static int take_pair(const json_t *value, const char *name, uint64_t pair[2],
                     struct sheaf_error *err)
{
    int code = SHEAF_OK;

    if (!json_is_array(value) || json_array_size(value) != 2)
        return err_set(err, SHEAF_ERR_ARGUMENT, "\"%s\" is not a pair of numbers", name);
    for (size_t i = 0; i < 2 && code == SHEAF_OK; i++)
        code = view_take_number(json_array_get(value, i), name, 0, INT64_MAX, &pair[i], err);
    return code;
}

/* Sets *text to a copy of a JSON string, which must not be empty. *text stays NULL if `value` is
 * NULL. */
static int view_take_string(const json_t *value, const char *name, char **text,
                            struct sheaf_error *err)
{
    if (value == NULL)
        return SHEAF_OK;
    if (!json_is_string(value) || json_string_length(value) == 0
        || strlen(json_string_value(value)) != json_string_length(value))
        return err_set(err, SHEAF_ERR_ARGUMENT, "\"%s\" is not a name", name);
    *text = strdup(json_string_value(value));
    return *text != NULL ? SHEAF_OK : err_memory(err, json_string_length(value));
}

/* Takes a list of at least one name. */
static int view_take_names(const json_t *value, const char *name, char ***names, size_t *count,
                           struct sheaf_error *err)
{
    const size_t size = json_array_size(value);
    int code = SHEAF_OK;

    if (value == NULL)
        return SHEAF_OK;
    if (size == 0)
        return err_set(err, SHEAF_ERR_ARGUMENT, "\"%s\" is not a list of names", name);
    *names = calloc(size, sizeof((*names)[0]));
    if (*names == NULL)
        return err_memory(err, size * sizeof((*names)[0]));
    for (*count = 0; *count < size && code == SHEAF_OK; (*count)++)
        code = view_take_string(json_array_get(value, *count), name, &(*names)[*count], err);
    return code;
}

/* Reads the member "repeat" of a source: a number with at most 6 decimals. Stores it in
 * millionths. */
static int take_repeat(const json_t *value, uint64_t *repeat, struct sheaf_error *err)
{
    const double number = json_number_value(value);
    const double millionths = number * (double)VIEW_REPEAT_ONE;

    if (!json_is_number(value) || !(number >= 0) || millionths > (double)VIEW_REPEAT_MOST
        || fabs(millionths - nearbyint(millionths)) > 1e-3)
        return err_set(err, SHEAF_ERR_ARGUMENT, "\"repeat\" is not a number of 0 to 1000000 with "
                       "at most 6 decimals");
    *repeat = (uint64_t)nearbyint(millionths);
    return SHEAF_OK;
}

/* ---- Conditions ----------------------------------------------------------------------------- */

/* Reads a range of labels from `value`. `name` is the condition to which the value belongs. The
 * value of "labels" must be a pair [first, last]. An element of "label" is such a pair or a single
 * label. */
static int view_take_label(const json_t *value, const char *name, struct view_labels *labels,
                           struct sheaf_error *err)
{
    uint64_t pair[2] = { 0 };
    int code;

    if (json_is_array(value) || strcmp(name, "label") != 0) {
        code = take_pair(value, name, pair, err);
    } else {
        code = view_take_number(value, name, 0, INT64_MAX, &pair[0], err);
        pair[1] = pair[0];
    }
    if (code != SHEAF_OK)
        return code;
    if (pair[0] > pair[1])
        return err_set(err, SHEAF_ERR_ARGUMENT, "\"where\" has \"%s\" that no sample can be in",
                       name);
    *labels = (struct view_labels){ pair[0], pair[1] };
    return SHEAF_OK;
}

/* Reads the two conditions on labels that a source of a view may have. "labels" has one range, such
 * as [0, 9]. "label" has a list, whose elements are labels or ranges, such as [3, [10, 19]]. */
static int view_take_labels(const json_t *where, struct view_where *w, struct sheaf_error *err)
{
    const json_t *pair = json_object_get(where, "labels"), *list = json_object_get(where, "label");
    const size_t count = list != NULL ? json_array_size(list) : 1;
    int code = SHEAF_OK;

    if (pair == NULL && list == NULL)
        return SHEAF_OK;
    if (pair != NULL && list != NULL)
        return err_set(err, SHEAF_ERR_ARGUMENT, "\"where\" has both \"label\" and \"labels\"");
    if (count == 0)
        return err_set(err, SHEAF_ERR_ARGUMENT, "\"label\" is not a list of labels");
    w->labels = calloc(count, sizeof(w->labels[0]));
    if (w->labels == NULL)
        return err_memory(err, count * sizeof(w->labels[0]));
    for (; w->label_count < count && code == SHEAF_OK; w->label_count++)
        code = view_take_label(list != NULL ? json_array_get(list, w->label_count) : pair,
                               list != NULL ? "label" : "labels", &w->labels[w->label_count], err);
    return code;
}

static int take_ranges(const json_t *where, struct view_where *w, struct sheaf_error *err)
{
    const json_t *range = json_object_get(where, "range");
    const json_t *every = json_object_get(where, "every");
    uint64_t pair[2];
    int code = view_take_labels(where, w, err);

    if (code == SHEAF_OK && range != NULL
        && (code = take_pair(range, "range", pair, err)) == SHEAF_OK) {
        w->has_range = true;
        w->range_first = pair[0];
        w->range_end = pair[1];
    }
    if (code == SHEAF_OK && every != NULL
        && (code = take_pair(every, "every", pair, err)) == SHEAF_OK) {
        w->every = pair[0];
        w->every_at = pair[1];
    }
    if (code != SHEAF_OK)
        return code;
    if ((w->has_range && w->range_first >= w->range_end)
        || (every != NULL && w->every_at >= w->every))
        return err_set(err, SHEAF_ERR_ARGUMENT, "\"where\" has %s that no sample can be in",
                       every != NULL && w->every_at >= w->every ? "an \"every\""
                       : "a \"range\"");
    return SHEAF_OK;
}

static int take_glob(json_t *value, char **glob, struct sheaf_error *err)
{
    const int code = view_take_string(value, "key_glob", glob, err);
    const char *problem = code != SHEAF_OK || *glob == NULL ? NULL
                                                            : glob_problem(*glob, strlen(*glob));

    return problem == NULL ? code : err_set(err, SHEAF_ERR_ARGUMENT, "invalid \"key_glob\" "
                                            "\"%.200s\": %s", *glob, problem);
}

static const char *const compare_signs[] = {
    [VIEW_LESS] = "<", [VIEW_LESS_EQUAL] = "<=", [VIEW_MORE] = ">", [VIEW_MORE_EQUAL] = ">=",
    [VIEW_EQUAL] = "==", [VIEW_NOT_EQUAL] = "!=",
};

/* Finds the column's name in NAME.EXT. */
static int split_field(struct view_column *c, struct sheaf_error *err)
{
    const char *dot = strchr(c->field, '.');
    char name[COLUMN_NAME_MOST + 1] = "";

    c->name_size = dot == NULL ? strlen(c->field) : (size_t)(dot - c->field);
    if (c->name_size < sizeof(name))
        memcpy(name, c->field, c->name_size);
    if (dot == NULL || dot[1] == '\0' || column_check_name(name, NULL) != SHEAF_OK)
        return err_set(err, SHEAF_ERR_ARGUMENT, "\"columns\" has \"%.120s\", expected the name of "
                       "a column, a dot and a field, such as \"quality.score\"", c->field);
    return SHEAF_OK;
}

/* Takes ["NAME.EXT", ">", 0.3]. */
static int take_column(const json_t *value, struct view_column *c, struct sheaf_error *err)
{
    const char *sign = json_string_value(json_array_get(value, 1));
    const json_t *number = json_array_get(value, 2);
    size_t compare = 0;
    int code;

    if (json_array_size(value) != 3 || sign == NULL || !json_is_number(number))
        return err_set(err, SHEAF_ERR_ARGUMENT, "a condition of \"columns\" is not a list of a "
                       "field, a comparison and a number, such as [\"quality.score\", \">\", "
                       "0.3]");
    while (compare < COUNT_OF(compare_signs) && strcmp(compare_signs[compare], sign) != 0)
        compare++;
    if (compare == COUNT_OF(compare_signs))
        return err_set(err, SHEAF_ERR_ARGUMENT, "\"columns\" has the comparison \"%.20s\", "
                       "expected <, <=, >, >=, == or !=", sign);
    c->compare = (enum view_compare)compare;
    c->number = json_number_value(number);
    code = view_take_string(json_array_get(value, 0), "columns", &c->field, err);
    return code == SHEAF_OK ? split_field(c, err) : code;
}

static int take_columns(const json_t *list, struct view_where *w, struct sheaf_error *err)
{
    const size_t count = json_array_size(list);
    int code = SHEAF_OK;

    if (list == NULL)
        return SHEAF_OK;
    if (count == 0)
        return err_set(err, SHEAF_ERR_ARGUMENT, "\"columns\" is not a list of conditions");
    w->columns = calloc(count, sizeof(w->columns[0]));
    if (w->columns == NULL)
        return err_memory(err, count * sizeof(w->columns[0]));
    for (; w->column_count < count && code == SHEAF_OK; w->column_count++)
        code = take_column(json_array_get(list, w->column_count), &w->columns[w->column_count],
                           err);
    return code;
}

static int take_where(json_t *where, struct view_where *w, struct sheaf_error *err)
{
    static const char *const known[] = { "classes", "label", "labels", "keys", "not_keys",
                                         "key_glob", "columns", "numbers", "range", "every", NULL };
    int code = SHEAF_OK;

    if (where != NULL) {
        code = view_check_names(where, known, "\"where\"", err);
        if (code == SHEAF_OK)
            code = view_take_names(json_object_get(where, "classes"), "classes", &w->classes,
                                   &w->class_count, err);
        if (code == SHEAF_OK)
            code = view_take_string(json_object_get(where, "keys"), "keys", &w->keys, err);
        if (code == SHEAF_OK)
            code = view_take_string(json_object_get(where, "not_keys"), "not_keys", &w->not_keys,
                                    err);
        if (code == SHEAF_OK)
            code = take_glob(json_object_get(where, "key_glob"), &w->key_glob, err);
        if (code == SHEAF_OK)
            code = take_columns(json_object_get(where, "columns"), w, err);
        if (code == SHEAF_OK)
            code = view_take_string(json_object_get(where, "numbers"), "numbers", &w->numbers, err);
        if (code == SHEAF_OK)
            code = take_ranges(where, w, err);
    }
    if (code != SHEAF_OK)
        return code;
    w->text = where == NULL || json_object_size(where) == 0
              ? strdup("") : json_dump_text(where, JSON_COMPACT | JSON_SORT_KEYS);
    return w->text != NULL ? SHEAF_OK : err_memory(err, 1);
}

/* ---- Sources -------------------------------------------------------------------------------- */

static int take_source(json_t *value, struct view_source *s, struct sheaf_error *err)
{
    static const char *const known[] = { "source", "weight", "repeat", "where", "fields", NULL };
    const json_t *weight, *repeat;
    int code = view_check_names(value, known, "a source", err);

    if (code != SHEAF_OK)
        return code;
    if (json_object_get(value, "source") == NULL)
        return err_set(err, SHEAF_ERR_ARGUMENT, "a source has no \"source\"");
    weight = json_object_get(value, "weight");
    repeat = json_object_get(value, "repeat");
    s->has_weight = weight != NULL;
    s->has_repeat = repeat != NULL;
    s->repeat = VIEW_REPEAT_ONE;
    code = view_take_string(json_object_get(value, "source"), "source", &s->source, err);
    if (code == SHEAF_OK && s->has_weight)
        code = view_take_number(weight, "weight", 0, INT64_MAX, &s->weight, err);
    if (code == SHEAF_OK && s->has_repeat)
        code = take_repeat(repeat, &s->repeat, err);
    if (code == SHEAF_OK)
        code = take_where(json_object_get(value, "where"), &s->where, err);
    if (code == SHEAF_OK)
        code = view_take_names(json_object_get(value, "fields"), "fields", &s->fields,
                               &s->field_count, err);
    return code;
}

static int view_take_sources(const json_t *list, struct view *v, struct sheaf_error *err)
{
    const size_t count = json_array_size(list);
    size_t weights = 0, repeats = 0;
    int code = SHEAF_OK;

    if (count == 0 || count > VIEW_SOURCES_MOST)
        return err_set(err, SHEAF_ERR_ARGUMENT, "\"sources\" is not a list of 1 to %u sources",
                       VIEW_SOURCES_MOST);
    v->sources = calloc(count, sizeof(v->sources[0]));
    if (v->sources == NULL)
        return err_memory(err, count * sizeof(v->sources[0]));
    for (; v->source_count < count && code == SHEAF_OK; v->source_count++) {
        struct view_source *s = &v->sources[v->source_count];

        code = take_source(json_array_get(list, v->source_count), s, err);
        if (code != SHEAF_OK && err != NULL)
            err_prefix(err, "source %zu: ", v->source_count + 1);
        weights += s->has_weight;
        repeats += s->has_repeat;
    }
    v->has_weights = weights != 0;
    if (code == SHEAF_OK && weights != 0 && (weights != count || repeats != 0))
        code = err_set(err, SHEAF_ERR_ARGUMENT, "%zu of %zu source%s ha%s a \"weight\": expected "
                       "one for each, and no \"repeat\" beside it", weights, count, plural(count),
                       weights == 1 ? "s" : "ve");
    return code;
}

/* ---- Stages and the whole ------------------------------------------------------------------- */

static int take_stage(json_t *value, struct view *v, struct sheaf_error *err)
{
    static const char *const known[] = { "samples", "weights", NULL };
    struct view_stage *stage = &v->stages[v->stage_count];
    const json_t *weights;
    uint64_t sum = 0;
    int code = view_check_names(value, known, "a stage", err);

    if (code != SHEAF_OK)
        return code;
    weights = json_object_get(value, "weights");
    if (json_array_size(weights) != v->source_count)
        return err_set(err, SHEAF_ERR_ARGUMENT, "\"weights\" is not a list of %zu weight%s, one "
                       "for each source", v->source_count, plural(v->source_count));
    stage->weights = calloc(v->source_count, sizeof(stage->weights[0]));
    if (stage->weights == NULL)
        return err_memory(err, v->source_count * sizeof(stage->weights[0]));
    code = view_take_number(json_object_get(value, "samples"), "samples", 1, INT64_MAX,
                            &stage->samples, err);
    for (size_t i = 0; i < v->source_count && code == SHEAF_OK; i++) {
        code = view_take_number(json_array_get(weights, i), "weights", 0, INT64_MAX,
                                &stage->weights[i], err);
        sum |= stage->weights[i];
    }
    if (code == SHEAF_OK && sum == 0)
        code = err_set(err, SHEAF_ERR_ARGUMENT, "all weights are 0");
    if (code == SHEAF_OK && v->stage_count != 0 && stage->samples <= stage[-1].samples)
        code = err_set(err, SHEAF_ERR_ARGUMENT, "\"samples\" is not more than those of the stage "
                       "before");
    return code;
}

static int take_stages(const json_t *list, struct view *v, struct sheaf_error *err)
{
    const size_t count = json_array_size(list);
    int code = SHEAF_OK;

    if (list == NULL)
        return SHEAF_OK;
    if (!json_is_array(list) || count > VIEW_STAGES_MOST || (count != 0 && !v->has_weights))
        return err_set(err, SHEAF_ERR_ARGUMENT, "\"stages\" is not a list of at most %u stages of "
                       "a view whose sources have weights", VIEW_STAGES_MOST);
    v->stages = calloc(count + 1, sizeof(v->stages[0]));
    if (v->stages == NULL)
        return err_memory(err, count * sizeof(v->stages[0]));
    for (; v->stage_count < count && code == SHEAF_OK; v->stage_count++) {
        code = take_stage(json_array_get(list, v->stage_count), v, err);
        if (code != SHEAF_OK && err != NULL)
            err_prefix(err, "stage %zu: ", v->stage_count + 1);
    }
    return code;
}

/* Reads the length of an epoch. */
static int take_length(const json_t *document, struct view *v, struct sheaf_error *err)
{
    const json_t *samples = json_object_get(document, "samples");
    const json_t *until = json_object_get(document, "until");
    const char *word = until == NULL ? "" : json_string_value(until);
    uint64_t sum = 0;

    for (size_t i = 0; i < v->source_count; i++)
        sum |= v->has_weights ? v->sources[i].weight : v->sources[i].repeat;
    if (sum == 0)
        return err_set(err, SHEAF_ERR_ARGUMENT, "all %s are 0",
                       v->has_weights ? "weights" : "repeats");
    if (v->has_weights ? (samples == NULL) == (until == NULL) : samples != NULL || until != NULL)
        return err_set(err, SHEAF_ERR_ARGUMENT, v->has_weights
                       ? "with weights an epoch has no length of its own: give \"samples\", or "
                         "\"until\": \"first\" or \"all\""
                       : "\"samples\" and \"until\" are for sources with weights: without, an "
                         "epoch is as long as its sources");
    if (samples != NULL)
        return view_take_number(samples, "samples", 1, INT64_MAX, &v->samples, err);
    if (until == NULL)
        return SHEAF_OK;
    if (word == NULL || (strcmp(word, "first") != 0 && strcmp(word, "all") != 0))
        return err_set(err, SHEAF_ERR_ARGUMENT, "\"until\" is neither \"first\" nor \"all\"");
    v->until = strcmp(word, "first") == 0 ? VIEW_FIRST : VIEW_ALL;
    return SHEAF_OK;
}

static int view_compare_classes(const void *x, const void *y)
{
    const struct view_class *a = x, *b = y;

    if (a->from != NULL && b->from != NULL)
        return strcmp(a->from, b->from);
    return (a->from_number > b->from_number) - (a->from_number < b->from_number);
}

/* Parses a label of at most 9 digits without leading zeros. Returns UINT64_MAX if the text is not
 * such a label. */
static uint64_t view_label_of(const char *text)
{
    const size_t digits = strspn(text, "0123456789");

    return digits == 0 || digits > 9 || text[digits] != '\0' || (text[0] == '0' && digits > 1)
           ? UINT64_MAX : strtoull(text, NULL, 10);
}

/* {"from": "to"} or {"number": number}. */
static int take_class_map(const json_t *map, struct view *v, struct sheaf_error *err)
{
    const char *from;
    json_t *to;
    int code = SHEAF_OK;

    v->classes = calloc(json_object_size(map) + 1, sizeof(v->classes[0]));
    if (v->classes == NULL)
        return err_memory(err, json_object_size(map) * sizeof(v->classes[0]));
    json_object_foreach((json_t *)(uintptr_t)map, from, to) {
        struct view_class *c = &v->classes[v->class_count++];

        c->from_number = view_label_of(from);
        if (v->class_count == 1)
            v->by_number = json_is_integer(to);     /* the other entries must be alike */
        if (v->by_number && json_is_integer(to) && c->from_number != UINT64_MAX)
            code = view_take_number(to, "classes", 0, 999999999, &c->to_number, err);
        else if (!v->by_number && json_is_string(to) && (c->from = strdup(from)) != NULL)
            code = view_take_string(to, "classes", &c->to, err);
        else
            code = err_set(err, SHEAF_ERR_ARGUMENT, "\"classes\": \"%s\": a map is of names to "
                           "names or of numbers to numbers", from);
        if (code != SHEAF_OK)
            return code;
    }
    if (v->class_count == 0)
        return err_set(err, SHEAF_ERR_ARGUMENT, "\"classes\" is an empty map");
    qsort(v->classes, v->class_count, sizeof(v->classes[0]), view_compare_classes);
    return SHEAF_OK;
}

static int view_take_classes(const json_t *classes, struct view *v, struct sheaf_error *err)
{
    const char *word = classes == NULL ? "by-name" : json_string_value(classes);

    if (json_is_object(classes))
        return take_class_map(classes, v, err);
    if (word == NULL || (strcmp(word, "by-name") != 0 && strcmp(word, "by-number") != 0))
        return err_set(err, SHEAF_ERR_ARGUMENT, "\"classes\" is neither \"by-name\" nor "
                       "\"by-number\" nor a map");
    v->by_number = strcmp(word, "by-number") == 0;
    return SHEAF_OK;
}

static int take_document(json_t *document, struct view *v, struct sheaf_error *err)
{
    static const char *const known[] = { "sheaf_view", "samples", "until", "classes", "sources",
                                         "stages", NULL };
    const json_t *version = json_object_get(document, "sheaf_view");
    int code;

    if (json_is_integer(version) && json_integer_value(version) != VERSION)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "a view of version %" JSON_INTEGER_FORMAT
                       ", expected %d", json_integer_value(version), VERSION);
    code = view_check_names(document, known, "the view", err);
    if (code == SHEAF_OK && !json_is_integer(version))
        code = err_set(err, SHEAF_ERR_ARGUMENT, "the view has no \"sheaf_view\": %d", VERSION);
    if (code == SHEAF_OK)
        code = view_take_sources(json_object_get(document, "sources"), v, err);
    if (code == SHEAF_OK)
        code = take_stages(json_object_get(document, "stages"), v, err);
    if (code == SHEAF_OK)
        code = take_length(document, v, err);
    if (code == SHEAF_OK)
        code = view_take_classes(json_object_get(document, "classes"), v, err);
    return code;
}

int view_parse(const char *text, size_t size, struct view *view, struct sheaf_error *err)
{
    json_error_t found;
    json_t *document;
    int code;

    *view = (struct view){ 0 };
    if (size > VIEW_BYTES_MOST)
        return err_set(err, SHEAF_ERR_LIMIT, "a view of %zu bytes, expected at most %zu", size,
                       VIEW_BYTES_MOST);
    code = json_load_text(text, size, JSON_REJECT_DUPLICATES, &document, &found, err);
    if (code == SHEAF_ERR_CORRUPT && content_check(text, size, "a view", err) == SHEAF_OK)
        code = err_set(err, code, "line %d, column %d: %s", found.line, found.column, found.text);
    if (code != SHEAF_OK)
        return code;
    code = take_document(document, view, err);
    json_decref(document);
    if (code != SHEAF_OK)
        view_free(view);
    return code;
}

static void free_names(char **names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
}

void view_free(struct view *v)
{
    for (size_t i = 0; i < v->source_count; i++) {
        struct view_source *s = &v->sources[i];

        free_names(s->where.classes, s->where.class_count);
        free_names(s->fields, s->field_count);
        for (size_t k = 0; k < s->where.column_count; k++)
            free(s->where.columns[k].field);
        free(s->where.columns);
        free(s->where.labels);
        free(s->where.keys);
        free(s->where.not_keys);
        free(s->where.key_glob);
        free(s->where.numbers);
        free(s->where.text);
        free(s->source);
    }
    for (size_t i = 0; i < v->class_count; i++) {
        free(v->classes[i].from);
        free(v->classes[i].to);
    }
    for (size_t i = 0; i < v->stage_count; i++)
        free(v->stages[i].weights);
    free(v->classes);
    free(v->stages);
    free(v->sources);
    *v = (struct view){ 0 };
}
