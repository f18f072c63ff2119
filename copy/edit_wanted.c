/* SPDX-License-Identifier: MIT
 *
 * Reads the lists of an edit: keys to delete, keys or paths with labels, and a source of files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/utf8.h"
#include "copy/edit.h"
#include "formats/codec.h"
#include "formats/name.h"
#include "packer/source/lines.h"
#include "packer/source/list.h"
#include "store/store.h"

#define WANTED_FIRST 64u

/* ---- Keys ------------------------------------------------------------------------------------ */

static int edit_wanted_add(struct edit *e, const char *key, size_t size, const char *where,
                           struct edit_wanted **added, struct sheaf_error *err)
{
    struct edit_wanted *w = e->wanted;

    if (e->wanted_count == 0 || (e->wanted_count >= WANTED_FIRST &&
                                 (e->wanted_count & (e->wanted_count - 1)) == 0)) {
        w = reallocarray(w, MAX(2 * e->wanted_count, (size_t)WANTED_FIRST), sizeof(*w));
        if (w == NULL)
            return err_memory(err, e->wanted_count * sizeof(*w));
        e->wanted = w;
    }
    w += e->wanted_count;
    *w = (struct edit_wanted){ .key = strndup(key, size), .where = where };
    if (w->key == NULL)
        return err_memory(err, size);
    e->wanted_count++;
    *added = w;
    return SHEAF_OK;
}

/* Sets the key that a path has. */
static int edit_wanted_take_path(const struct edit *e, struct edit_wanted *w,
                                 struct sheaf_error *err)
{
    struct naming naming = { .last_dot = e->last_dot, .renames = e->last_dot };
    const char *suffix, *named = w->key;
    size_t size;
    bool climbs;
    int code = SHEAF_OK;

    (void)name_clean(w->key, strlen(w->key), &climbs);
    if (name_problem(w->key) != NULL || !name_split(w->key, &size, &suffix))
        return SHEAF_OK;
    if (e->last_dot)
        code = naming_apply(&naming, w->key, &named, err);
    if (code == SHEAF_OK && name_split(named, &size, &suffix)) {
        w->other = strndup(named, size);
        code = w->other == NULL ? err_memory(err, size) : SHEAF_OK;
    }
    naming_close(&naming);
    return code;
}

/* ---- Keys to delete -------------------------------------------------------------------------- */

static int read_deleted(struct edit *e, struct sheaf_error *err)
{
    const char *url = e->options.delete_keys, *line;
    struct lines lines = { .parser = NULL };
    uint64_t number;
    size_t size;
    int code = lines_open(&lines, url, NULL, err);

    while (code == SHEAF_OK &&
           (code = lines_next(&lines, &line, &size, &number, err)) == SHEAF_OK) {
        struct edit_wanted *w;

        if (size != 0 && line[size - 1] == '\r')
            size--;
        if (size == 0)
            continue;
        if (memchr(line, '\0', size) != NULL)
            code = err_set(err, SHEAF_ERR_ARGUMENT, "%s: line %llu: a NUL byte, which no key has",
                           url, (unsigned long long)number);
        if (code == SHEAF_OK)
            code = edit_wanted_add(e, line, size, url, &w, err);
        if (code == SHEAF_OK) {
            w->is_deleted = true;
            w->line = number;
            hash_add(&e->sum, w->key, strlen(w->key) + 1);
        }
    }
    lines_close(&lines);
    return code == SHEAF_END ? SHEAF_OK : code;
}

/* ---- Labels ---------------------------------------------------------------------------------- */

static enum list_kind edit_wanted_kind_of(const char *url)
{
    static const struct { const char *suffix; enum list_kind kind; } kinds[] = {
        { ".jsonl", LIST_JSONL }, { ".ndjson", LIST_JSONL }, { ".lst", LIST_LST },
    };
    const size_t size = codec_stem(url);

    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        const size_t suffix = strlen(kinds[i].suffix);

        if (size > suffix && strncasecmp(url + size - suffix, kinds[i].suffix, suffix) == 0)
            return kinds[i].kind;
    }
    return LIST_CSV;
}

static int edit_wanted_take_label(struct edit *e, struct scan *scan, const struct list_entry *entry,
                                  uint32_t label, uint64_t line, struct sheaf_error *err)
{
    const char *url = e->options.labels;
    struct edit_wanted *w;
    int code;

    if (label == LABEL_NONE)
        return err_set(err, SHEAF_ERR_ARGUMENT, "%s: line %llu: \"%.200s\" has no label", url,
                       (unsigned long long)line, entry->path);
    (void)scan;
    code = edit_wanted_add(e, entry->path, entry->path_size, url, &w, err);
    if (code != SHEAF_OK)
        return code;
    w->has_label = true;
    w->line = line;
    w->label = label;
    hash_add(&e->sum, w->key, strlen(w->key) + 1);
    hash_add(&e->sum, entry->class_name == NULL ? "" : entry->class_name,
             entry->class_name == NULL ? 0 : entry->class_size);
    hash_add(&e->sum, entry->labels, entry->label_count * sizeof(entry->labels[0]));
    return edit_wanted_take_path(e, w, err);
}

static int edit_wanted_take_line(struct edit *e, struct scan *scan, struct list_parser *parser,
                                 const char *line, size_t size, uint64_t number,
                                 struct sheaf_error *err)
{
    struct list_entry entry;
    struct sheaf_error found;
    uint32_t label;
    int code = list_parse(parser, line, size, &entry, &found);

    if (code == SHEAF_END)
        return SHEAF_OK;
    if (code == SHEAF_ERR_CORRUPT || code == SHEAF_ERR_UNSUPPORTED)
        code = SHEAF_ERR_ARGUMENT;
    if (code != SHEAF_OK)
        return err_set(err, code, "%s: line %llu: %s", e->options.labels,
                       (unsigned long long)number, found.message);
    code = scan_line(scan, e->options.labels, number, code, &found, &entry, &label, err);
    if (code == SHEAF_END)      /* the scan has noted why */
        return problems_verdict(&e->problems, err);
    return code == SHEAF_OK ? edit_wanted_take_label(e, scan, &entry, label, number, err) : code;
}

static int edit_wanted_read_labels(struct edit *e, struct sheaf_error *err)
{
    struct scan scan = { .catalog = &e->labels, .problems = &e->problems, .watch = &e->watch };
    struct lines lines = { .parser = NULL };
    struct list_parser parser;
    const char *line;
    uint64_t number;
    size_t size;
    int code;

    list_parser_init(&parser, edit_wanted_kind_of(e->options.labels));
    parser.by_key = true;
    code = lines_open(&lines, e->options.labels, &parser, err);
    while (code == SHEAF_OK && (code = lines_next(&lines, &line, &size, &number, err)) == SHEAF_OK)
        code = edit_wanted_take_line(e, &scan, &parser, line, size, number, err);
    lines_close(&lines);
    list_parser_free(&parser);
    scan_end(&scan);
    return code == SHEAF_END ? SHEAF_OK : code;
}

/* ---- Files ----------------------------------------------------------------------------------- */

static int compare_files(const void *x, const void *y)
{
    const struct catalog_file *a = x, *b = y;
    const size_t size = MIN(a->key_size, b->key_size);
    const int order = memcmp(a->path, b->path, size);

    if (order != 0)
        return order;
    return a->key_size != b->key_size ? (a->key_size > b->key_size) - (a->key_size < b->key_size)
                                      : strcmp(a->path, b->path);
}

static bool has_key_of(const struct catalog_file *a, const struct catalog_file *b)
{
    return a->key_size == b->key_size && memcmp(a->path, b->path, a->key_size) == 0;
}

/* Groups the files by their keys. */
static int group_files(struct edit *e, struct sheaf_error *err)
{
    struct catalog *c = &e->files;
    struct edit_wanted *w = NULL;
    int code = SHEAF_OK;

    if (c->file_count > 1)
        qsort(c->files, c->file_count, sizeof(c->files[0]), compare_files);
    for (size_t i = 0; i < c->file_count && code == SHEAF_OK; i++) {
        const struct catalog_file *f = &c->files[i];
        const uint64_t stamp = f->origin == CATALOG_OBJECT ? f->object->stamp
                             : f->origin == CATALOG_BELOW ? f->stamp : 0;

        hash_add(&e->sum, f->path, strlen(f->path) + 1);
        hash_add(&e->sum, &f->bytes, sizeof(f->bytes));
        hash_add(&e->sum, &stamp, sizeof(stamp));
        if (i == 0 || !has_key_of(f, f - 1)) {
            code = edit_wanted_add(e, f->path, f->key_size, e->options.replace, &w, err);
            if (code == SHEAF_OK)
                w->file = i;
        }
        if (code == SHEAF_OK)
            w->file_count++;
    }
    return code;
}

static int edit_wanted_read_files(struct edit *e, struct sheaf_error *err)
{
    struct naming naming = { .last_dot = e->last_dot, .renames = e->last_dot };
    struct scan scan = { .catalog = &e->files, .problems = &e->problems, .watch = &e->watch,
                         .naming = &naming };
    int code = source_open(e->options.replace, NULL, &e->source, err);

    e->has_source = code == SHEAF_OK;
    if (code == SHEAF_OK)
        code = source_scan(&e->source, &scan, err);
    if (code == SHEAF_OK)
        code = problems_verdict(&e->problems, err);
    scan_end(&scan);
    naming_close(&naming);
    /* In an object store, a misspelt name looks like an empty directory. */
    if (code == SHEAF_OK && e->files.file_count == 0)
        code = err_set(err, SHEAF_ERR_NOT_FOUND, "%s: there are no files to put in place: check "
                       "the name", e->options.replace);
    return code == SHEAF_OK ? group_files(e, err) : code;
}

/* ---- All ------------------------------------------------------------------------------------- */

/* Reads one list, if the caller has given it. Tells the caller if the list is empty, because the
 * list may be the wrong one. */
static int edit_wanted_read(struct edit *e, const char *url, const char *what,
                            int (*read)(struct edit *e, struct sheaf_error *err),
                            struct sheaf_error *err)
{
    const size_t before = e->wanted_count;
    const int code = url == NULL ? SHEAF_OK : read(e, err);
    struct sheaf_error note;

    if (code == SHEAF_OK && url != NULL && e->wanted_count == before && e->options.note != NULL) {
        err_set(&note, SHEAF_OK, "%s: is empty: there are no %s", url, what);
        e->options.note(e->options.context, url, &note);
    }
    return code;
}

int edit_read_lists(struct edit *e, struct sheaf_error *err)
{
    const struct sheaf_edit_options *o = &e->options;
    int code;

    e->sum = XXH3_128bits("", 0);
    code = edit_wanted_read(e, o->delete_keys, "keys to delete", read_deleted, err);
    hash_add(&e->sum, "labels", 6);
    if (code == SHEAF_OK)
        code = edit_wanted_read(e, o->labels, "labels to correct", edit_wanted_read_labels, err);
    hash_add(&e->sum, "files", 5);
    if (code == SHEAF_OK && o->replace != NULL)
        code = edit_wanted_read_files(e, err);
    return code;
}

void edit_hash(const struct edit *e, const char *fingerprint, char text[HASH_TEXT_BYTES])
{
    XXH128_hash_t sum = e->sum;

    hash_add(&sum, fingerprint, strlen(fingerprint));
    hash_text(sum, text);
}

void edit_lists_free(struct edit *e)
{
    for (size_t i = 0; i < e->wanted_count; i++) {
        free(e->wanted[i].key);
        free(e->wanted[i].other);
    }
    free(e->wanted);
    if (e->has_source)
        source_close(&e->source);
    catalog_free(&e->labels);
    catalog_free(&e->files);
}
