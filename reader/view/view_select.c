/* SPDX-License-Identifier: MIT
 *
 * The conditions of a view, evaluated: which samples of a source are chosen.  Labels and classes
 * come from the index; keys are nowhere but in the samples, so that all of them are read where
 * keys are asked about. */
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/error.h"
#include "reader/view/labels.h"
#include "reader/view/view_numbers.h"
#include "reader/view/view_select.h"
#include "store/store.h"

#define KEYS_BYTES_MOST ((size_t)4 << 30)       /* of a file of keys */
#define BATCH           256u

/* The chosen ones so far: a bit for each sample. */
struct choice {
    const struct sheaf_dataset *dataset;
    const struct view_where *where;
    uint64_t total;
    uint64_t *bits;
};

static bool is_chosen(const struct choice *c, uint64_t number)
{
    return (c->bits[number / 64] >> (number % 64) & 1) != 0;
}

static void leave_out(struct choice *c, uint64_t number)
{
    c->bits[number / 64] &= ~((uint64_t)1 << (number % 64));
}

/* ---- Labels and classes ---------------------------------------------------------------------- */

/* Marks the labels (+ 1) of the classes that are asked for. */
static int mark_classes(const struct choice *c, uint8_t *marks, struct sheaf_error *err)
{
    const struct manifest *m = &c->dataset->manifest;

    for (size_t i = 0; i < c->where->class_count; i++) {
        size_t n = 0;

        while (n < m->class_count && strcmp(m->classes[n], c->where->classes[i]) != 0)
            n++;
        if (n == m->class_count)
            return err_set(err, SHEAF_ERR_ARGUMENT, m->class_count == 0
                           ? "the classes have no names here: choose by \"labels\""
                           : "there is no class \"%s\"", c->where->classes[i]);
        marks[n + (size_t)m->label_base + 1] = 1;
    }
    return SHEAF_OK;
}

static void choose_labels(struct choice *c, const uint32_t *labels, const uint8_t *marks,
                          size_t mark_count)
{
    const struct view_where *w = c->where;

    for (uint64_t i = 0; i < c->total; i++) {
        const uint32_t label = labels[i];

        if ((w->has_labels && (label == 0 || label - 1 < w->label_first
                               || label - 1 > w->label_last))
            || (w->classes != NULL && (label >= mark_count || !marks[label])))
            leave_out(c, i);
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

/* ---- Keys ------------------------------------------------------------------------------------ */

/* The lines of a file. */
struct keys {
    char *text;
    char **keys;            /* sorted */
    size_t count;
    char hash[17];
};

static void keys_free(struct keys *k)
{
    free(k->text);
    free(k->keys);
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int keys_load(const char *directory, const char *name, struct keys *k,
                     struct sheaf_error *err)
{
    char *path = view_path(directory, name), *line, *rest;
    size_t size = 0, lines = 1;
    int code = path == NULL ? err_memory(err, strlen(name))
                            : store_get(path, KEYS_BYTES_MOST, &k->text, &size, err);

    free(path);
    if (code != SHEAF_OK)
        return code;
    snprintf(k->hash, sizeof(k->hash), "%016" PRIx64, (uint64_t)XXH3_64bits(k->text, size));
    for (size_t i = 0; i < size; i++)
        lines += k->text[i] == '\n';
    k->keys = calloc(lines + 1, sizeof(k->keys[0]));
    if (k->keys == NULL)
        return err_memory(err, lines * sizeof(k->keys[0]));
    rest = k->text;
    while ((line = strsep(&rest, "\n")) != NULL) {
        const size_t length = strlen(line);

        if (length != 0 && line[length - 1] == '\r')
            line[length - 1] = '\0';
        if (line[0] != '\0')
            k->keys[k->count++] = line;
    }
    qsort(k->keys, k->count, sizeof(k->keys[0]), compare_keys);
    return SHEAF_OK;
}

static bool keys_have(const struct keys *k, const char *key)
{
    return k->count != 0
           && bsearch(&key, k->keys, k->count, sizeof(k->keys[0]), compare_keys) != NULL;
}

static bool key_is_chosen(const struct view_where *w, const struct keys *keep,
                          const struct keys *bad, const char *key)
{
    return (w->keys == NULL || keys_have(keep, key))
           && (w->not_keys == NULL || !keys_have(bad, key))
           && (w->key_glob == NULL || fnmatch(w->key_glob, key, 0) == 0);
}

/* Reads all samples for their keys. */
static int read_keys(struct choice *c, const struct keys *keep, const struct keys *bad,
                     struct sheaf_error *err)
{
    struct sheaf_reader_options options;
    const struct sheaf_sample *samples;
    struct sheaf_reader *reader;
    size_t count;
    int code;

    sheaf_reader_options_init(&options, sizeof(options));
    options.no_shuffle = 1;
    code = sheaf_reader_open(c->dataset, &options, &reader, err);
    if (code != SHEAF_OK)
        return code;
    while ((code = sheaf_reader_next_batch(reader, BATCH, &samples, &count)) == SHEAF_OK)
        for (size_t i = 0; i < count; i++) {
            const uint64_t number = c->dataset->first_numbers[samples[i].shard]
                                    + samples[i].record;

            if (is_chosen(c, number) && !key_is_chosen(c->where, keep, bad, samples[i].key))
                leave_out(c, number);
        }
    if (code != SHEAF_END && err != NULL)
        *err = *sheaf_reader_error(reader);
    sheaf_reader_free(reader);
    return code == SHEAF_END ? SHEAF_OK : code;
}

static int select_keys(struct choice *c, struct view_where *where, const char *directory,
                       struct sheaf_error *err)
{
    struct keys keep = { 0 }, bad = { 0 };
    int code = SHEAF_OK;

    if (where->keys != NULL)
        code = keys_load(directory, where->keys, &keep, err);
    if (code == SHEAF_OK && where->not_keys != NULL)
        code = keys_load(directory, where->not_keys, &bad, err);
    if (code == SHEAF_OK)
        code = read_keys(c, &keep, &bad, err);
    if (code == SHEAF_OK)
        code = view_where_text(where, where->keys == NULL ? NULL : keep.hash,
                               where->not_keys == NULL ? NULL : bad.hash, err);
    keys_free(&keep);
    keys_free(&bad);
    return code;
}

static int select_numbers(struct choice *c, const char *directory, struct sheaf_error *err)
{
    char *path = view_path(directory, c->where->numbers);
    const int code = path == NULL ? err_memory(err, strlen(c->where->numbers))
                                  : view_numbers_load(c->dataset, path, c->bits, err);

    free(path);
    return code;
}

/* ---- Ranges, of those that are left ---------------------------------------------------------- */

static void select_range(struct choice *c)
{
    const struct view_where *w = c->where;
    uint64_t rank = 0, kept = 0;

    for (uint64_t i = 0; i < c->total; i++) {
        if (!is_chosen(c, i))
            continue;
        if (w->has_range && (rank < w->range_first || rank >= w->range_end))
            leave_out(c, i);
        else if (w->every != 0 && kept++ % w->every != w->every_at)
            leave_out(c, i);
        rank++;
    }
}

static int evaluate(struct choice *c, struct view_where *where, const char *directory,
                    struct sheaf_error *err)
{
    int code = SHEAF_OK;

    if (where->numbers != NULL)
        code = select_numbers(c, directory, err);
    if (code == SHEAF_OK && (where->classes != NULL || where->has_labels))
        code = select_labels(c, err);
    if (code == SHEAF_OK
        && (where->keys != NULL || where->not_keys != NULL || where->key_glob != NULL))
        code = select_keys(c, where, directory, err);
    if (code == SHEAF_OK)
        select_range(c);
    return code;
}

static int select_some(const struct sheaf_dataset *d, struct view_where *where,
                       const char *directory, struct selection *selection,
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
    code = evaluate(&c, where, directory, err);
    if (code == SHEAF_OK)
        code = selection_of_bits(selection, c.total, c.bits, err);
    free(c.bits);
    return code;
}

int view_select(const struct sheaf_dataset *d, struct view_where *where, const char *directory,
                struct selection *selection, struct sheaf_error *err)
{
    int code = where->text[0] == '\0' ? selection_all(selection, dataset_samples(d), err)
                                      : select_some(d, where, directory, selection, err);

    if (code == SHEAF_OK && selection->count == 0) {
        selection_free(selection);
        code = err_set(err, SHEAF_ERR_ARGUMENT, where->text[0] == '\0' ? "it has no sample"
                       : "no sample fulfils \"where\": %s", where->text);
    }
    return code == SHEAF_OK || err == NULL ? code : err_prefix(err, "%s: ", d->url);
}
