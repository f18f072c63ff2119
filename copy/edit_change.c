/* SPDX-License-Identifier: MIT
 *
 * Finds the samples that an edit changes, by their keys. Computes the numbers of samples and bytes
 * that the data set will have after the edit. Reads only samples that change. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "copy/edit.h"
#include "formats/interop_index.h"
#include "formats/key_table.h"
#include "formats/label.h"
#include "formats/manifest_edit.h"
#include "packer/plan/plan_grow.h"

#define KEYS_ONCE    256u       /* keys that are looked up at once */
#define NUMBERS_ONCE 256u       /* samples that are read at once */

static struct sheaf_read_options reading_of(const struct edit *e)
{
    struct sheaf_read_options reading;

    sheaf_read_options_init(&reading, sizeof(reading));
    reading.memory_bytes = e->options.memory_bytes;
    reading.interrupt = e->options.interrupt;
    return reading;
}

/* ---- Labels ---------------------------------------------------------------------------------- */

/* Finds the first line of the caller's list with a label that is not a class of the data set. Puts
 * the place of this line before the error message. */
static void edit_change_name_line(const struct edit *e, struct sheaf_error *err)
{
    for (size_t i = 0; i < e->wanted_count; i++) {
        const struct edit_wanted *w = &e->wanted[i];
        const struct catalog_label *l = &e->labels.labels[w->label];

        if (!w->has_label || l->class_name != NULL ||
            plan_label_is_class(l, e->manifest->label_base, e->plan.class_count))
            continue;
        err_prefix(err, "%s: line %llu: \"%.200s\": ", w->where, (unsigned long long)w->line,
                   w->key);
        return;
    }
}

/* Sets the number of each class that the caller has named as a new label. An existing class keeps
 * its number in the data set. A new class gets the next free number. */
static int edit_change_number_labels(struct edit *e, struct sheaf_error *err)
{
    const struct manifest *m = e->manifest;
    const struct plan_grow grow = {
        .classes = { .names = (const char *const *)m->classes, .count = m->class_count },
        .label_base = m->label_base, .samples = 1,
    };
    bool *used = calloc((size_t)e->labels.label_count + 1, sizeof(*used));
    uint32_t *renamed = NULL;
    int code = SHEAF_OK;

    if (used == NULL)
        return err_memory(err, e->labels.label_count);
    for (size_t i = 0; i < e->wanted_count; i++)
        if (e->wanted[i].has_label)
            used[e->wanted[i].label] = true;
    code = plan_rank_labels(&e->plan, &e->labels, used, m->label_base, &grow, NULL, &renamed, err);
    if (code == SHEAF_ERR_UNSUPPORTED && m->class_count != 0)
        edit_change_name_line(e, err);
    for (size_t i = 0; i < e->wanted_count && code == SHEAF_OK; i++)
        if (e->wanted[i].has_label)
            e->wanted[i].label = renamed[e->wanted[i].label];
    free(used);
    free(renamed);
    return code;
}

const struct plan_label *edit_label_of(const struct edit *e, const struct edit_change *c)
{
    return c->has_label ? &e->plan.labels[c->label] : NULL;
}

/* ---- Files ----------------------------------------------------------------------------------- */

const struct catalog_file *edit_file_of(const struct edit *e, const struct edit_change *c,
                                        const char *field)
{
    for (size_t i = 0; i < c->file_count; i++) {
        const struct catalog_file *f = &e->files.files[c->file + i];

        if (strcasecmp(f->path + f->key_size + 1, field) == 0)
            return f;
    }
    return NULL;
}

/* ---- Keys ------------------------------------------------------------------------------------ */

#define PLACE_BYTES 340

/* Makes a text such as "(labels.csv: line 3)". `line` is the line of the list `where`, or 0 if
 * `where` is a source of files. */
static void edit_change_place(const char *where, uint64_t line, char place[PLACE_BYTES])
{
    if (line == 0)
        snprintf(place, PLACE_BYTES, "(%.300s)", where);
    else
        snprintf(place, PLACE_BYTES, "(%.300s: line %llu)", where, (unsigned long long)line);
}

/* Reports and counts a key or file that belongs to no sample. `line` is the line of the list
 * `where`, or 0 if `where` is a source of files. */
static void edit_change_unknown(struct edit *e, const char *what, const char *where, uint64_t line,
                                const char *kind)
{
    struct sheaf_error found;
    char place[PLACE_BYTES];

    edit_change_place(where, line, place);
    err_set(&found, SHEAF_ERR_NOT_FOUND, "%s %s", kind, place);
    if (e->result.unknown++ == 0)
        snprintf(e->unknown, sizeof(e->unknown), "%.150s %s", what, place);
    if (e->options.report != NULL)
        e->options.report(e->options.context, what, &found);
}

/* Reports an entry of the lists whose key no sample has. For files, the first file is named. */
static void edit_change_unknown_key(struct edit *e, const struct edit_wanted *w)
{
    edit_change_unknown(e, w->file_count == 0 ? w->key : catalog_shown(&e->files.files[w->file]),
                        w->where, w->line, "no sample has this key");
}

static int add_change(struct edit *e, uint64_t number, size_t wanted, struct sheaf_error *err)
{
    const struct edit_wanted *w = &e->wanted[wanted];
    struct edit_change *changes = e->changes;

    if ((e->change_count & (e->change_count - 1)) == 0) {
        changes = reallocarray(changes, MAX(2 * e->change_count, (size_t)1), sizeof(*changes));
        if (changes == NULL)
            return err_memory(err, e->change_count * sizeof(*changes));
        e->changes = changes;
    }
    changes[e->change_count++] = (struct edit_change){
        .number = number, .wanted = wanted, .is_deleted = w->is_deleted,
        .has_label = w->has_label, .label = w->label, .file = w->file,
        .file_count = w->file_count,
    };
    return SHEAF_OK;
}

/* Looks up several keys in the data set at once. Sets found[] for each key that a sample has. */
static int edit_change_find_some(struct edit *e, const char *const *keys, const size_t *wanted,
                                 size_t count, bool *found, struct sheaf_error *err)
{
    const struct sheaf_read_options reading = reading_of(e);
    const struct sheaf_sample *samples;
    struct sheaf_kept *kept;
    const size_t *firsts;
    int code = sheaf_dataset_find(e->dataset, keys, count, &reading, &samples, &firsts, &kept,
                                  err);

    if (code == SHEAF_ERR_LIMIT && count > 1) {
        const size_t half = count / 2;

        code = edit_change_find_some(e, keys, wanted, half, found, err);
        return code != SHEAF_OK ? code : edit_change_find_some(e, keys + half, wanted + half,
                                                               count - half, found, err);
    }
    if (code != SHEAF_OK)
        return code;
    for (size_t i = 0; i < count && code == SHEAF_OK; i++) {
        found[wanted[i]] = firsts[i] < firsts[i + 1];
        for (size_t s = firsts[i]; s < firsts[i + 1] && code == SHEAF_OK; s++)
            code = add_change(e, samples[s].number, wanted[i], err);
    }
    sheaf_kept_free(kept);
    return code;
}

/* Looks up all keys of the caller's lists that were not found yet. If `others` is set, the texts in
 * the lists are paths, such as "cat/1.jpg", and the function looks up the key in the path
 * ("cat/1"). */
static int edit_change_find_keys(struct edit *e, bool others, bool *found, struct sheaf_error *err)
{
    struct sheaf_progress progress = { .stage = "find", .total_count = e->wanted_count };
    const char *keys[KEYS_ONCE];
    size_t wanted[KEYS_ONCE], count = 0;
    int code = SHEAF_OK;

    for (size_t i = 0; i < e->wanted_count && code == SHEAF_OK; i++) {
        const char *key = others ? e->wanted[i].other : e->wanted[i].key;

        if (!found[i] && key != NULL) {
            keys[count] = key;
            wanted[count++] = i;
        }
        if (count < KEYS_ONCE && i + 1 < e->wanted_count)
            continue;
        code = watch_check(&e->watch, err);
        if (code == SHEAF_OK && count != 0)
            code = edit_change_find_some(e, keys, wanted, count, found, err);
        count = 0;
        progress.done_count = i + 1;
        watch_show(&e->watch, &progress);
    }
    return code;
}

static int edit_change_find_all(struct edit *e, struct sheaf_error *err)
{
    bool *found = calloc(e->wanted_count + 1, sizeof(*found));
    int code = found == NULL ? err_memory(err, e->wanted_count) : edit_change_find_keys(e, false,
                                                                                        found, err);

    if (code == SHEAF_OK)
        code = edit_change_find_keys(e, true, found, err);
    for (size_t i = 0; i < e->wanted_count && code == SHEAF_OK; i++)
        if (!found[i])
            edit_change_unknown_key(e, &e->wanted[i]);
    free(found);
    return code;
}

/* ---- Changes --------------------------------------------------------------------------------- */

static int edit_change_by_number(const void *x, const void *y)
{
    const struct edit_change *a = x, *b = y;

    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return (a->wanted > b->wanted) - (a->wanted < b->wanted);
}

/* Returns the error for a change that contradicts an earlier change of the same sample. */
static int refuse_both(const struct edit *e, const struct edit_change *c, const char *what,
                       struct sheaf_error *err)
{
    const struct edit_wanted *w = &e->wanted[c->wanted];
    char place[PLACE_BYTES];

    edit_change_place(w->where, w->line, place);
    return err_set(err, SHEAF_ERR_ARGUMENT, "the sample \"%.300s\" %s %s", w->key, what, place);
}

/* Combines two changes of the same sample into one. Returns an error if they contradict each
 * other. */
static int merge_change(const struct edit *e, struct edit_change *to,
                        const struct edit_change *from, struct sheaf_error *err)
{
    if ((to->is_deleted || from->is_deleted) && !(to->is_deleted && from->is_deleted))
        return refuse_both(e, from, "is to be deleted, and also changed", err);
    if (to->has_label && from->has_label && to->label != from->label)
        return refuse_both(e, from, "is to get two different labels", err);
    if (from->has_label) {
        to->has_label = true;
        to->label = from->label;
    }
    if (from->file_count != 0) {
        to->file = from->file;
        to->file_count = from->file_count;
    }
    return SHEAF_OK;
}

/* Sorts the changes by sample number, and combines all changes of a sample into one. */
static int merge_changes(struct edit *e, struct sheaf_error *err)
{
    size_t kept = 0;
    int code = SHEAF_OK;

    if (e->change_count > 1)
        qsort(e->changes, e->change_count, sizeof(e->changes[0]), edit_change_by_number);
    for (size_t i = 0; i < e->change_count && code == SHEAF_OK; i++)
        if (kept != 0 && e->changes[kept - 1].number == e->changes[i].number)
            code = merge_change(e, &e->changes[kept - 1], &e->changes[i], err);
        else
            e->changes[kept++] = e->changes[i];
    e->change_count = kept;
    return code;
}

/* ---- Counts ---------------------------------------------------------------------------------- */

struct counting {
    struct edit *edit;
    struct tally removed, added;
    struct buf fields;          /* struct sheaf_field[] of a changed sample */
    /* content of a file that is compared with a field */
    struct buf content;
};

static bool is_same_label(const struct sheaf_sample *s, const struct plan_label *l)
{
    return s->label_count == l->value_count &&
           memcmp(s->labels, l->values, l->value_count * sizeof(l->values[0])) == 0;
}

/* Sets *size to the number of bytes that the field will have when the sample has its new labels.
 * The size changes only if the field is `cls` and contains the labels as text. */
static int cls_size(const struct sheaf_field *f, const struct plan_label *l, size_t *size,
                    struct sheaf_error *err)
{
    struct buf text = BUF_INIT(SIZE_MAX / 4);
    double number;
    int code;

    *size = f->size;
    if (l == NULL || strcmp(f->name, "cls") != 0 || label_parse(f->data, f->size, &number, 1) <= 0)
        return SHEAF_OK;
    code = label_print(&text, l->values, l->value_count, err);
    *size = text.size;
    buf_free(&text);
    return code;
}

/* Checks that the sample has a field for each file that replaces a field. Reports and ignores a
 * file without such a field. */
static int check_files(struct edit *e, struct edit_change *c, const struct sheaf_sample *s)
{
    size_t kept = 0;

    for (size_t i = 0; i < c->file_count; i++) {
        const struct catalog_file *f = &e->files.files[c->file + i];
        bool has = false;

        for (size_t k = 0; k < s->field_count; k++)
            has |= strcasecmp(s->fields[k].name, f->path + f->key_size + 1) == 0;
        kept += has;
        if (!has)
            edit_change_unknown(e, catalog_shown(f), e->options.replace, 0,
                                "its sample has no such field");
    }
    if (kept == 0)
        c->file_count = 0;
    return SHEAF_OK;
}

/* Compares files of the caller with the fields of the sample that they shall replace. Sets *differs
 * to whether at least one file differs from its field. Reads a file only if it has the same size as
 * its field. */
static int compare_files_of(struct counting *n, const struct edit_change *c,
                            const struct sheaf_sample *s, bool *differs, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    *differs = false;
    for (size_t i = 0; i < s->field_count && code == SHEAF_OK && !*differs; i++) {
        const struct sheaf_field *field = &s->fields[i];
        const struct catalog_file *f = edit_file_of(n->edit, c, field->name);

        if (f == NULL || f->bytes != field->size) {
            *differs = f != NULL;
            continue;
        }
        n->content.size = 0;
        n->content.limit = SIZE_MAX / 4;
        code = buf_reserve(&n->content, field->size + 1, err);
        if (code == SHEAF_OK) {
            code = source_read(&n->edit->source, f, n->content.data, err);
            if (code != SHEAF_OK)
                err_prefix(err, "%s: ", catalog_shown(f));
        }
        *differs = code == SHEAF_OK && field->size != 0 &&
                   memcmp(n->content.data, field->data, field->size) != 0;
    }
    return code;
}

/* Adds a changed sample to the counts that the data set will have after the edit. The counts depend
 * on the sizes of the sample's files, but not on their content. */
static int count_added(struct counting *n, const struct edit_change *c,
                       const struct sheaf_sample *s, uint64_t *payload, struct sheaf_error *err)
{
    struct sheaf_sample after = *s;
    struct sheaf_field *fields;
    int code;

    n->fields.size = 0;
    n->fields.limit = SIZE_MAX / 4;
    code = buf_reserve(&n->fields, (s->field_count + 1) * sizeof(*fields), err);
    fields = (struct sheaf_field *)(void *)n->fields.data;
    for (size_t i = 0; i < s->field_count && code == SHEAF_OK; i++) {
        const struct catalog_file *f = edit_file_of(n->edit, c, s->fields[i].name);

        fields[i] = s->fields[i];
        if (f != NULL)
            fields[i].size = f->bytes;
        else
            code = cls_size(&s->fields[i], edit_label_of(n->edit, c), &fields[i].size, err);
        *payload += fields[i].size;
    }
    after.fields = fields;
    return code == SHEAF_OK ? tally_add(&n->added, &after, err) : code;
}

static int count_one(struct counting *n, struct edit_change *c, const struct sheaf_sample *s,
                     uint64_t *payload, struct sheaf_error *err)
{
    struct edit *e = n->edit;
    bool differs;
    int code = check_files(e, c, s);

    if (code == SHEAF_OK)
        code = compare_files_of(n, c, s, &differs, err);
    if (code != SHEAF_OK)
        return code;
    if (c->has_label && !c->is_deleted && is_same_label(s, edit_label_of(e, c)))
        c->has_label = false;
    /* If no file differs from its field, the files are dropped. But if the label changes, the files
     * are kept, because a file `cls` may contradict the new label. Writing the sample then returns
     * an error. */
    if (!differs && !c->has_label)
        c->file_count = 0;
    if (!c->is_deleted && !c->has_label && c->file_count == 0)
        return SHEAF_OK;        /* nothing changes */
    code = tally_add(&n->removed, s, err);
    for (size_t i = 0; i < s->field_count; i++)
        *payload -= s->fields[i].size;
    e->relabelled += c->has_label;
    e->replaced += differs;
    if (c->is_deleted) {
        tally_forget_key(&e->fields, s->key);
        e->deleted[e->deleted_count++] = c->number;
    } else if (code == SHEAF_OK)
        code = count_added(n, c, s, payload, err);
    return code;
}

/* Adds the effects of some changes to the counts that the data set will have. The changes are those
 * from `first` up to, but not including, `end`. All of them must change samples of one shard. */
static int count_some(struct counting *n, size_t first, size_t end, uint64_t *payload,
                      struct sheaf_error *err)
{
    struct edit *e = n->edit;
    struct sheaf_read_options reading = reading_of(e);
    const struct sheaf_sample *samples;
    uint64_t numbers[NUMBERS_ONCE];
    struct sheaf_kept *kept;
    int code;

    /* A quarter of the memory is left for the content of a file that is compared with a field. */
    if (e->has_source)
        reading.memory_bytes -= reading.memory_bytes / 4;
    for (size_t i = first; i < end; i++)
        numbers[i - first] = e->changes[i].number;
    code = sheaf_dataset_read(e->dataset, numbers, end - first, &reading, &samples, &kept, err);
    if (code == SHEAF_ERR_LIMIT && end - first > 1) {
        const size_t middle = first + (end - first) / 2;

        code = count_some(n, first, middle, payload, err);
        return code == SHEAF_OK ? count_some(n, middle, end, payload, err) : code;
    }
    if (code != SHEAF_OK)
        return code;
    for (size_t i = first; i < end && code == SHEAF_OK; i++)
        code = count_one(n, &e->changes[i], &samples[i - first], payload, err);
    sheaf_kept_free(kept);
    return code;
}

/* Leaves out changes that change nothing. Returns their number. */
static size_t drop_idle(struct edit_change *changes, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++)
        if (changes[i].is_deleted || changes[i].has_label || changes[i].file_count != 0)
            changes[kept++] = changes[i];
    return count - kept;
}

/* ---- Shards ---------------------------------------------------------------------------------- */

static int name_shard(const struct edit *e, struct edit_shard *s, struct sheaf_error *err)
{
    const struct manifest *m = e->manifest;
    const char *name = m->shards[s->shard].name;
    char text[SHARD_NAME_BYTES];
    int code = manifest_edit_name(name, interop_stem(m->container, m->codec, name),
                                  m->edit_count + 1, text, sizeof(text), err);

    s->name = code == SHEAF_OK ? strdup(text) : NULL;
    return code == SHEAF_OK && s->name == NULL ? err_memory(err, sizeof(text)) : code;
}

/* Handles the changes of one shard: the changes from `first` up to, but not including, `end`. Drops
 * the changes that have no effect. Moves the rest to index *kept of the array, and adds their
 * number to *kept. If there is a rest, adds `shard` to the list of shards that are written
 * again. */
static int edit_change_add_shard(struct counting *n, size_t shard, size_t first, size_t end,
                                 size_t *kept, struct sheaf_error *err)
{
    struct edit *e = n->edit;
    struct edit_shard *s = &e->shards[e->shard_count];
    uint64_t payload = e->manifest->shards[shard].payload_bytes;
    int code = SHEAF_OK;

    for (size_t i = first; i < end && code == SHEAF_OK; i += NUMBERS_ONCE)
        code = count_some(n, i, MIN(i + NUMBERS_ONCE, end), &payload, err);
    if (code != SHEAF_OK)
        return code;
    end -= drop_idle(e->changes + first, end - first);
    memmove(e->changes + *kept, e->changes + first, (end - first) * sizeof(e->changes[0]));
    *s = (struct edit_shard){ .shard = shard, .change = *kept, .end = *kept + (end - first) };
    *kept = s->end;
    if (s->change == s->end)
        return SHEAF_OK;
    s->source = XXH3_64bits(&e->sum, sizeof(e->sum));
    e->payloads[e->shard_count++] = payload;
    return name_shard(e, s, err);
}

static int edit_change_find_shards(struct counting *n, struct sheaf_error *err)
{
    struct edit *e = n->edit;
    size_t kept = 0, first = 0;
    int code = SHEAF_OK;

    e->shards = calloc(e->change_count + 1, sizeof(e->shards[0]));
    e->payloads = calloc(e->change_count + 1, sizeof(e->payloads[0]));
    e->deleted = calloc(e->change_count + 1, sizeof(e->deleted[0]));
    if (e->shards == NULL || e->payloads == NULL || e->deleted == NULL)
        return err_memory(err, e->change_count * sizeof(e->shards[0]));
    while (first < e->change_count && code == SHEAF_OK) {
        const uint32_t shard = dataset_shard_of(e->dataset, e->changes[first].number);
        size_t end = first;

        while (end < e->change_count &&
               e->changes[end].number < e->dataset->first_numbers[shard + 1])
            end++;
        code = watch_check(&e->watch, err);
        if (code == SHEAF_OK)
            code = edit_change_add_shard(n, shard, first, end, &kept, err);
        first = end;
    }
    e->change_count = kept;
    return code;
}

/* Copies to `fields` the counts of fields in the manifest. The counts are converted to JSON and
 * back, because functions for this exist already. */
static int copy_fields(const struct manifest *m, uint64_t samples, struct tally *fields,
                       struct sheaf_error *err)
{
    json_t *tree = m->fields.is_unknown ? NULL : tally_tree(&m->fields);
    int code;

    if (m->fields.is_unknown) {
        *fields = (struct tally){ .is_unknown = true };
        return SHEAF_OK;
    }
    code = tree == NULL ? err_memory(err, 1024) : tally_of_tree(tree, samples, fields, err);
    json_decref(tree);
    return code;
}

/* Changes the counts of fields. */
static int edit_change_fields(struct counting *n, struct sheaf_error *err)
{
    struct tally *fields = &n->edit->fields;

    if (fields->is_unknown)
        return SHEAF_OK;
    if (fields->has_too_many) {
        fields->samples -= n->removed.samples - n->added.samples;
        return SHEAF_OK;
    }
    tally_subtract(fields, &n->removed);
    return tally_merge(fields, &n->added, err);
}

static int refuse_unknown(const struct edit *e, struct sheaf_error *err)
{
    return err_because(err, err_set(err, SHEAF_ERR_NOT_FOUND, "%llu key%s or file%s belong%s to no "
                                    "sample of the data set, %s%s: nothing was changed",
                                    (unsigned long long)e->result.unknown,
                                    plural(e->result.unknown), plural(e->result.unknown),
                                    e->result.unknown == 1 ? "s" : "",
                                    e->result.unknown == 1 ? "" : "first ", e->unknown),
                       SHEAF_REASON_UNKNOWN_KEYS);
}

int edit_find_changes(struct edit *e, struct sheaf_error *err)
{
    struct counting n = { .edit = e };
    int code = edit_change_number_labels(e, err);

    if (code == SHEAF_OK)
        code = edit_change_find_all(e, err);
    if (code == SHEAF_OK)
        code = merge_changes(e, err);
    if (code == SHEAF_OK)
        code = copy_fields(e->manifest, dataset_samples(e->dataset), &e->fields, err);
    if (code == SHEAF_OK)
        code = edit_change_find_shards(&n, err);
    if (code == SHEAF_OK && e->result.unknown != 0 && e->options.on_unknown == SHEAF_FAIL)
        code = refuse_unknown(e, err);
    if (code == SHEAF_OK)
        code = edit_change_fields(&n, err);
    tally_clear(&n.removed);
    tally_clear(&n.added);
    buf_free(&n.fields);
    buf_free(&n.content);
    return code;
}

void edit_changes_free(struct edit *e)
{
    for (size_t i = 0; i < e->shard_count; i++)
        free(e->shards[i].name);
    free(e->changes);
    free(e->shards);
    free(e->payloads);
    free(e->deleted);
    tally_clear(&e->fields);
    plan_free(&e->plan);
}
