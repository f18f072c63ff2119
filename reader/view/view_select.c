/* SPDX-License-Identifier: MIT
 *
 * Evaluates the conditions of a view (a mix of data sets), to find the chosen samples of a source.
 * Labels and classes are read from the index. view_keys.c evaluates conditions on keys, and
 * view_columns.c evaluates conditions on columns.
 *
 * Conditions on keys or columns can only be evaluated by reading samples or records. So their
 * result is stored in a file in the directory of the view (chosen_file.h), and need not be computed
 * again. */
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/error.h"
#include "reader/dataset/labels.h"
#include "reader/view/view_columns.h"
#include "reader/view/view_keys.h"
#include "reader/view/view_numbers.h"
#include "reader/view/view_select.h"

/* ---- Labels and classes ---------------------------------------------------------------------- */

/* Sets the error for a class that does not occur in the data set. The message contains the first
 * classes of the data set. */
static int set_unknown_class(const struct manifest *m, const char *name, struct sheaf_error *err)
{
    char known[300] = "";
    size_t n = 0, at = 0;

    if (m->class_count == 0)
        return err_set(err, SHEAF_ERR_ARGUMENT,
                       "the classes have no names here: choose by \"labels\"");
    while (n < m->class_count && at + strlen(m->classes[n]) + 4 < sizeof(known)) {
        at += (size_t)snprintf(known + at, sizeof(known) - at, "%s\"%s\"", n == 0 ? "" : ", ",
                               m->classes[n]);
        n++;
    }
    return err_set(err, SHEAF_ERR_ARGUMENT, "there is no class \"%s\"; the %zu classes are %s%s",
                   name, m->class_count, known, n < m->class_count ? ", ..." : "");
}

/* Marks the labels (plus 1) of the requested classes. */
static int mark_classes(const struct choice *c, uint8_t *marks, struct sheaf_error *err)
{
    const struct manifest *m = &c->dataset->manifest;

    for (size_t i = 0; i < c->where->class_count; i++) {
        size_t n = 0;

        while (n < m->class_count && strcmp(m->classes[n], c->where->classes[i]) != 0)
            n++;
        if (n == m->class_count)
            return set_unknown_class(m, c->where->classes[i], err);
        marks[n + (size_t)m->label_base + 1] = 1;
    }
    return SHEAF_OK;
}

static bool view_select_is_wanted(const struct view_where *w, uint32_t label)
{
    for (size_t i = 0; i < w->label_count; i++)
        if (label >= w->labels[i].first && label <= w->labels[i].last)
            return true;
    return w->label_count == 0;
}

static void choose_labels(struct choice *c, const uint32_t *labels, const uint8_t *marks,
                          size_t mark_count)
{
    const struct view_where *w = c->where;

    for (uint64_t i = 0; i < c->total; i++) {
        const uint32_t label = labels[i];

        if ((w->labels != NULL && (label == 0 || !view_select_is_wanted(w, label - 1)))
            || (w->classes != NULL && (label >= mark_count || !marks[label])))
            choice_leave_out(c, i);
    }
}

static int select_labels(struct choice *c, struct sheaf_error *err)
{
    const size_t marks_size = c->dataset->manifest.class_count
                              + (size_t)c->dataset->manifest.label_base + 2;
    uint32_t *labels = calloc(c->total + 1, sizeof(labels[0]));
    uint8_t *marks = calloc(marks_size, 1);
    int code = labels == NULL || marks == NULL ? err_memory(err, c->total * sizeof(labels[0]))
                                               : mark_classes(c, marks, err);

    if (code == SHEAF_OK)
        code = labels_read(c->dataset, labels, err);
    if (code == SHEAF_END)
        code = err_set(err, SHEAF_ERR_UNSUPPORTED, "its index has no labels: they are vectors, "
                       "fractions, or were not looked at; pack or convert it");
    if (code == SHEAF_OK)
        choose_labels(c, labels, marks, marks_size);
    free(labels);
    free(marks);
    return code;
}

/* ---- Numbers ------------------------------------------------------------------------------- */

static int select_numbers(struct choice *c, const char *directory, struct sheaf_error *err)
{
    char *path = view_keys_path(directory, c->where->numbers);
    const int code = path == NULL ? err_memory(err, strlen(c->where->numbers))
                                  : view_numbers_load(c->dataset, path, c->bits, err);

    free(path);
    return code;
}

/* ---- Keys and columns ------------------------------------------------------------------------ */

static bool reads(const struct view_where *w)
{
    return w->keys != NULL || w->not_keys != NULL || w->key_glob != NULL || w->columns != NULL;
}

static int select_read(struct choice *c, const struct view_keys *keys,
                       const struct view_keys_how *how, struct sheaf_error *err)
{
    const struct view_where *w = c->where;
    int code = view_columns_select(c, how, err);

    if (code == SHEAF_OK && (w->keys != NULL || w->not_keys != NULL || w->key_glob != NULL))
        code = view_keys_select(c, keys, how, err);
    return code;
}

/* Finds the samples of a source that satisfy the conditions on keys and columns. If the file in the
 * view's directory (chosen_file.h) contains these samples, takes them from the file. Otherwise
 * evaluates the conditions. The file identifies a source by the fingerprint in its manifest. So it
 * is not used for foreign shards, which have no manifest. */
static int find_or_select(struct choice *c, const struct view_keys *keys,
                          const struct view_keys_how *how, struct sheaf_error *err)
{
    const uint64_t words = (c->total + 63) / 64;
    const char *fingerprint = c->dataset->manifest.fingerprint;
    const uint64_t id = XXH3_64bits_withSeed(c->where->text, strlen(c->where->text),
                                             XXH3_64bits(fingerprint, strlen(fingerprint)));
    uint64_t *known = c->dataset->has_manifest ? chosen_file_find(how->file, id, c->total) : NULL;
    int code = SHEAF_OK;

    if (known == NULL)
        code = select_read(c, keys, how, err);
    for (uint64_t i = 0; known != NULL && i < words; i++)
        c->bits[i] &= known[i];
    free(known);
    return code == SHEAF_OK && c->dataset->has_manifest
           ? chosen_file_add(how->file, id, c->total, c->bits, err) : code;
}

/* Evaluates the conditions on keys and columns. Sets where->text to a text that identifies the
 * content of the key files and of the columns. */
static int select_by_reading(struct choice *c, struct view_where *where,
                             const struct view_keys_how *how, struct sheaf_error *err)
{
    struct view_keys *keys = NULL;
    char **columns = NULL;
    int code = view_keys_open(where, how, &keys, err);

    if (code == SHEAF_OK)
        code = view_columns_identify(c, &columns, err);
    if (code == SHEAF_OK)
        code = view_where_text(where, view_keys_text(keys, false), view_keys_text(keys, true),
                               columns, err);
    if (code == SHEAF_OK)
        code = find_or_select(c, keys, how, err);
    view_columns_forget(where, columns);
    view_keys_free(keys);
    return code;
}

/* ---- Ranges, of those that are left ---------------------------------------------------------- */

static void select_range(struct choice *c)
{
    const struct view_where *w = c->where;
    uint64_t rank = 0, kept = 0;

    for (uint64_t i = 0; i < c->total; i++) {
        if (!choice_has(c, i))
            continue;
        if (w->has_range && (rank < w->range_first || rank >= w->range_end))
            choice_leave_out(c, i);
        else if (w->every != 0 && kept++ % w->every != w->every_at)
            choice_leave_out(c, i);
        rank++;
    }
}

static int evaluate(struct choice *c, struct view_where *where, const struct view_keys_how *how,
                    struct sheaf_error *err)
{
    int code = SHEAF_OK;

    if (where->numbers != NULL)
        code = select_numbers(c, how->directory, err);
    if (code == SHEAF_OK && (where->classes != NULL || where->labels != NULL))
        code = select_labels(c, err);
    if (code == SHEAF_OK && reads(where))
        code = select_by_reading(c, where, how, err);
    if (code == SHEAF_OK)
        select_range(c);
    return code;
}

static int select_some(const struct sheaf_dataset *d, struct view_where *where,
                       const struct view_keys_how *how, struct selection *selection,
                       struct sheaf_error *err)
{
    struct choice c = { .dataset = d, .where = where, .total = dataset_samples(d) };
    int code;

    if (c.total > SELECTION_TOTAL_MOST)
        return selection_all(selection, c.total, err);
    c.bits = malloc((c.total / 64 + 1) * sizeof(c.bits[0]));
    if (c.bits == NULL)
        return err_memory(err, c.total / 8);
    memset(c.bits, 0xff, (c.total / 64 + 1) * sizeof(c.bits[0]));
    code = evaluate(&c, where, how, err);
    if (code == SHEAF_OK)
        code = selection_of_bits(selection, c.total, c.bits, err);
    free(c.bits);
    return code;
}

int view_select(const struct sheaf_dataset *d, struct view_where *where,
                const struct view_keys_how *how, struct selection *selection,
                struct sheaf_error *err)
{
    int code = where->text[0] == '\0' ? selection_all(selection, dataset_samples(d), err)
                                      : select_some(d, where, how, selection, err);

    if (code == SHEAF_OK && selection->count == 0) {
        selection_free(selection);
        /* The error message shows where->text. In memory, this text names a key file by the hash of
         * its content. So the text is made again for the message, with the paths of the key files.
         */
        code = view_where_text(where, where->keys, where->not_keys, NULL, err);
        if (code == SHEAF_OK)
            code = view_where_none(where, err);
    }
    if (code == SHEAF_OK || err == NULL || strncmp(err->message, d->url, strlen(d->url)) == 0)
        return code;
    return err_prefix(err, "%s: ", d->url);
}
