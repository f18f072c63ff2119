/* SPDX-License-Identifier: MIT
 *
 * Conditions on columns; see view_columns.h. */
#include "reader/view/view_columns.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/watch.h"
#include "formats/label.h"
#include "reader/dataset/column_pairs.h"

/* The state while the records of one column are read and compared with the conditions on this
 * column. */
struct column_choice {
    struct choice *choice;
    /* first condition of the view on this column; there may be more conditions on the same column
     * after it */
    const struct view_column *first;
    uint64_t *marks;            /* a bit for each sample that fulfils all conditions */
    struct watch watch;
    struct sheaf_progress progress;
};

static bool is_same_column(const struct view_column *a, const struct view_column *b)
{
    return a->name_size == b->name_size && memcmp(a->field, b->field, a->name_size) == 0;
}

/* Opens the column of a condition. */
static int view_columns_open_column(const struct sheaf_dataset *source, const struct view_column *c,
                                    struct column_set *set, struct sheaf_error *err)
{
    char *name = strndup(c->field, c->name_size);
    const int code = name == NULL ? err_memory(err, c->name_size)
                                  : column_set_open(source, name, set, err);

    free(name);
    return code;
}

/* ---- A column that does not exist ------------------------------------------------------------ */

#define NAMED_MOST 10u          /* columns that an error names */

/* The names of the columns of a data set, or of the fields of a column, for an error message. */
struct column_hints {
    const struct sheaf_dataset *source;
    struct buf text;
    size_t count;               /* columns that can be opened; or fields */
};

/* If the column `name` can be opened, counts it and adds its name to the list for the error message
 * (`context`, a struct column_hints). The list has at most NAMED_MOST names. */
static int view_columns_take_hint(void *context, const char *name, struct sheaf_error *err)
{
    struct column_hints *h = context;
    struct column_set set = { .layers = NULL };
    struct sheaf_error ignored;

    if (column_set_open(h->source, name, &set, &ignored) != SHEAF_OK)
        return SHEAF_OK;
    column_set_close(&set);
    if (h->count++ >= NAMED_MOST)
        return SHEAF_OK;
    return buf_printf(&h->text, err, "%s%s", h->count == 1 ? "" : ", ", name);
}

/* Completes the error for a column that the data set does not have: adds the names of the columns
 * that it has. */
static void view_columns_name_others(const struct sheaf_dataset *source,
                                     const struct view_column *condition, struct sheaf_error *err)
{
    struct column_hints h = { .source = source, .text = BUF_INIT(SIZE_MAX / 4) };
    char *name = strndup(condition->field, condition->name_size);
    char date[MANIFEST_DATE_BYTES] = "";
    struct sheaf_error ignored;

    err_append(err, ", which the condition on %s needs: ", condition->field);
    if (name != NULL && column_find_drop(source, name, date, &ignored) == SHEAF_OK &&
        date[0] != '\0')
        err_append(err, "add the column again, or make the view without this condition");
    else if (column_names_list(source, view_columns_take_hint, &h, &ignored) != SHEAF_OK)
        err_append(err, "make the view without this condition");    /* not every store has lists */
    else if (h.count == 0)
        err_append(err, "the data set has no columns");
    else
        err_append(err, "the data set has the column%s %.*s%s", plural(h.count),
                   (int)h.text.size, (const char *)h.text.data,
                   h.count > NAMED_MOST ? " and more" : "");
    buf_free(&h.text);
    free(name);
}

/* Returns whether a layer of the column may have values for the field of the condition. Otherwise
 * adds the names of the fields of the first layer to the list for the error message. */
static bool view_columns_has_field(const struct column_set *set, const struct view_column *c,
                                   struct column_hints *h)
{
    for (size_t i = 0; i < set->count; i++) {
        const struct tally *t = &set->layers[i].dataset->manifest.fields;
        const bool is_first = h->count == 0;

        for (size_t f = 0; !t->is_unknown && f < t->count; f++) {
            if (strcmp(t->fields[f].name, c->field + c->name_size + 1) == 0)
                return true;
            if (is_first && h->count++ < NAMED_MOST)
                (void)buf_printf(&h->text, NULL, "%s%s", h->count == 1 ? "" : ", ",
                                 t->fields[f].name);
        }
        if (t->is_unknown)
            return true;
    }
    return false;
}

/* Sets the error for a field that the column of the condition does not have. */
static int view_columns_no_field(const struct view_column *c, const struct column_hints *h,
                                 struct sheaf_error *err)
{
    err_set(err, SHEAF_ERR_NOT_FOUND, "the column %.*s has no field %s, which the condition on %s "
            "needs: ", (int)c->name_size, c->field, c->field + c->name_size + 1, c->field);
    if (h->count == 0)
        err_append(err, "the column has no values");
    else
        err_append(err, "it has the field%s %.*s%s", plural(h->count), (int)h->text.size,
                   (const char *)h->text.data, h->count > NAMED_MOST ? " and more" : "");
    return SHEAF_ERR_NOT_FOUND;
}

/* ---- Identity -------------------------------------------------------------------------------- */

static int view_columns_do_identify(const struct choice *c, const struct view_column *condition,
                                    struct buf *text, struct sheaf_error *err)
{
    struct column_hints h = { .text = BUF_INIT(SIZE_MAX / 4) };
    bool has_field = false;
    int code = SHEAF_OK;

    for (size_t s = 0; s < dataset_source_count(c->dataset) && code == SHEAF_OK; s++) {
        struct column_set set = { .layers = NULL };

        code = view_columns_open_column(dataset_source_at(c->dataset, s), condition, &set, err);
        if (code == SHEAF_ERR_NOT_FOUND && err != NULL)
            view_columns_name_others(dataset_source_at(c->dataset, s), condition, err);
        for (size_t i = 0; i < set.count && code == SHEAF_OK; i++)
            code = buf_printf(text, err, "%s%s", text->size == 0 ? "" : ",",
                              set.layers[i].dataset->manifest.fingerprint);
        has_field = has_field || code != SHEAF_OK || view_columns_has_field(&set, condition, &h);
        column_set_close(&set);
    }
    if (code == SHEAF_OK && !has_field)
        code = view_columns_no_field(condition, &h, err);
    buf_free(&h.text);
    return code;
}

int view_columns_identify(const struct choice *c, char ***texts, struct sheaf_error *err)
{
    const struct view_where *w = c->where;
    int code = SHEAF_OK;

    *texts = calloc(w->column_count + 1, sizeof((*texts)[0]));
    if (*texts == NULL)
        return err_memory(err, w->column_count * sizeof((*texts)[0]));
    for (size_t i = 0; i < w->column_count && code == SHEAF_OK; i++) {
        struct buf text = BUF_INIT(SIZE_MAX / 4);

        code = view_columns_do_identify(c, &w->columns[i], &text, err);
        (*texts)[i] = code == SHEAF_OK ? strndup((const char *)text.data, text.size) : NULL;
        if (code == SHEAF_OK && (*texts)[i] == NULL)
            code = err_memory(err, text.size);
        buf_free(&text);
    }
    return code;
}

void view_columns_forget(const struct view_where *w, char **texts)
{
    for (size_t i = 0; texts != NULL && i < w->column_count; i++)
        free(texts[i]);
    free(texts);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static bool fulfils(const struct view_column *c, double value)
{
    switch (c->compare) {
    case VIEW_LESS:       return value < c->number;
    case VIEW_LESS_EQUAL: return value <= c->number;
    case VIEW_MORE:       return value > c->number;
    case VIEW_MORE_EQUAL: return value >= c->number;
    case VIEW_EQUAL:      return value == c->number;
    case VIEW_NOT_EQUAL:  return value != c->number;
    }
    return false;
}

/* Sets *fits to whether the record fulfils the condition. */
static int view_columns_compare(const struct view_column *c, const struct sheaf_sample *record,
                                bool *fits, struct sheaf_error *err)
{
    const char *extension = c->field + c->name_size + 1;
    double value;

    *fits = false;
    for (size_t i = 0; i < record->field_count; i++) {
        const struct sheaf_field *f = &record->fields[i];

        if (strcmp(f->name, extension) != 0)
            continue;
        if (!label_number(f->data, f->size, &value))
            return err_set(err, SHEAF_ERR_ARGUMENT, "its field %s is \"%.*s\", which is not a "
                           "number", c->field, (int)MIN(f->size, 60), (const char *)f->data);
        *fits = fulfils(c, value);
        return SHEAF_OK;
    }
    return SHEAF_OK;
}

static int view_columns_take_record(void *context, const struct sheaf_sample *record,
                                    uint64_t number, const struct sheaf_error *problem,
                                    struct sheaf_error *err)
{
    struct column_choice *k = context;
    const struct view_where *w = k->choice->where;
    bool fits = true;
    int code = SHEAF_OK;

    if (problem != NULL) {
        if (err != NULL)
            *err = *problem;
        return problem->code;
    }
    for (size_t i = 0; i < w->column_count && code == SHEAF_OK && fits; i++)
        if (is_same_column(&w->columns[i], k->first))
            code = view_columns_compare(&w->columns[i], record, &fits, err);
    if (code != SHEAF_OK)
        return err == NULL ? code : err_prefix(err, "sample %" PRIu64 ": ", number);
    if (fits)
        k->marks[number / 64] |= (uint64_t)1 << (number % 64);
    k->progress.done_count++;
    watch_show(&k->watch, &k->progress);
    return SHEAF_OK;
}

static int read_source(struct column_choice *k, const struct sheaf_dataset *source,
                       const struct sheaf_reader_options *options, struct sheaf_error *err)
{
    struct column_set set = { .layers = NULL };
    int code = view_columns_open_column(source, k->first, &set, err);

    for (size_t i = 0; i < set.count && code == SHEAF_OK; i++) {
        struct column_pairs pairs = { .base = k->choice->dataset, .first = source->first_number,
                                      .layer = &set.layers[i] };

        code = column_pairs_read(&pairs, options, k->watch.interrupt, view_columns_take_record, k,
                                 err);
        column_pairs_close(&pairs);
    }
    column_set_close(&set);
    return code;
}

/* Reads the records of a column, and evaluates all conditions of the view (a mix of data sets) on
 * this column. `first` is the first of these conditions. */
static int select_column(struct choice *c, const struct view_column *first,
                         const struct view_keys_how *how, struct sheaf_error *err)
{
    const struct sheaf_read_options reading = view_keys_options(how);
    const uint64_t words = c->total / 64 + 1;
    struct column_choice k = {
        .choice = c, .first = first, .marks = calloc(words, sizeof(k.marks[0])),
        .watch = { .progress = reading.progress, .context = reading.context,
                   .interrupt = reading.interrupt },
        .progress = { .stage = "columns", .total_count = c->total },
    };
    struct sheaf_reader_options options;
    int code = k.marks == NULL ? err_memory(err, words * sizeof(k.marks[0])) : SHEAF_OK;

    sheaf_reader_options_init(&options, sizeof(options));
    options.memory_bytes = reading.memory_bytes;
    for (size_t s = 0; s < dataset_source_count(c->dataset) && code == SHEAF_OK; s++)
        code = read_source(&k, dataset_source_at(c->dataset, s), &options, err);
    for (uint64_t i = 0; i < words && code == SHEAF_OK; i++)
        c->bits[i] &= k.marks[i];
    free(k.marks);
    return code;
}

int view_columns_select(struct choice *c, const struct view_keys_how *how, struct sheaf_error *err)
{
    const struct view_where *w = c->where;
    int code = SHEAF_OK;

    for (size_t i = 0; i < w->column_count && code == SHEAF_OK; i++) {
        size_t before = 0;

        while (before < i && !is_same_column(&w->columns[before], &w->columns[i]))
            before++;
        if (before == i)        /* This is the first condition on this column. */
            code = select_column(c, &w->columns[i], how, err);
    }
    return code;
}
