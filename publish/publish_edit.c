/* SPDX-License-Identifier: MIT
 *
 * Publishes an edited data set: its index files and tables of keys under new names, and then the
 * manifest, which replaces the old manifest.
 *
 * The index sections of unchanged shards are copied. In the tables of keys, by which samples are
 * found, deleted samples are left out, and the other samples get their new numbers. Index files for
 * other programs are written last. They must not be written earlier, because they name the new
 * shards. If the run fails before the manifest is written, the new shards are removed again. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/index.h"
#include "formats/key_table.h"
#include "formats/manifest_edit.h"
#include "formats/manifest_growth.h"
#include "publish/destination.h"
#include "publish/entries.h"
#include "publish/output_remove.h"
#include "publish/publish.h"
#include "publish/publish_index.h"
#include "publish/strays.h"
#include "store/store.h"

struct editing {
    struct output *output;
    const struct publish_edit *edit;
    const struct manifest *before;      /* output->grows */
    struct manifest after;
    struct entries *entries;            /* of the shards that were written again */
    size_t next;                        /* of edit->shards: the next entry */
    size_t part;                        /* whose index is written, */
    struct store_object *index;         /* and its index before */
    uint64_t part_offset;               /* where that begins in the sequence of all sections */
    struct store_object *keys;          /* table of keys of the part before */
};

static uint64_t samples_of_part(const struct manifest *m, size_t part)
{
    uint64_t samples = 0;

    for (size_t i = manifest_part_first(m, part); i < manifest_part_first(m, part + 1); i++)
        samples += m->shards[i].samples;
    return samples;
}

static int publish_edit_open_part(const struct editing *e, const char *first,
                                  struct store_object **object, struct sheaf_error *err)
{
    char name[GROWN_NAME_BYTES], *url;
    int code;

    manifest_part_name(first, e->part, e->before->edit_count, name);
    url = store_join(e->output->dest, name);
    code = url == NULL ? err_memory(err, strlen(name)) : store_open(url, object, err);
    free(url);
    return code;
}

/* ---- Sections -------------------------------------------------------------------------------- */

static int put_section(struct editing *e, struct manifest_shard *s, const uint8_t *section,
                       size_t size, struct store_writer *writer, struct sheaf_error *err)
{
    const int code = publish_count_classes(&e->after, section, size, s->samples, err);

    s->index_offset = e->after.index_bytes;
    s->index_bytes = size;
    index_sum(section, size, s->index_xxh3);
    e->after.index_bytes += size;
    return code == SHEAF_OK ? store_write(writer, section, size, err) : code;
}

/* Copies the section of an unchanged shard. */
static int copy_section(struct editing *e, size_t shard, struct store_writer *writer,
                        struct sheaf_error *err)
{
    struct manifest_shard *s = &e->after.shards[shard];
    const size_t size = (size_t)s->index_bytes;
    char expected[INDEX_SUM_BYTES], found[INDEX_SUM_BYTES];
    uint8_t *section = malloc(size + 1);
    int code = section == NULL ? err_memory(err, size)
             : store_read(e->index, e->before->shards[shard].index_offset - e->part_offset, section,
                          size, err);

    snprintf(expected, sizeof(expected), "%s", s->index_xxh3);
    if (code == SHEAF_OK)
        index_sum(section, size, found);
    if (code == SHEAF_OK && expected[0] != '\0' && strcmp(found, expected) != 0)
        code = err_set(err, SHEAF_ERR_CORRUPT, "%s: the section of shard %zu is not the one that "
                       "the manifest names", e->index->url, shard);
    if (code == SHEAF_OK)
        code = put_section(e, s, section, size, writer, err);
    free(section);
    return code;
}

/* Adds to the new manifest a shard that this edit has written. Also writes the shard's section of
 * the index to `writer`. The facts about the shard come from its journal entry, in which they were
 * stored. */
static int publish_edit_take_entry(struct editing *e, size_t shard, struct store_writer *writer,
                                   struct sheaf_error *err)
{
    struct manifest_shard *s = &e->after.shards[shard];
    const struct journal_entry *entry;
    int code = entries_next(e->entries, &entry, err);
    char *name;

    if (code != SHEAF_OK)
        return code < 0 ? code
             : err_set(err, SHEAF_ERR_CHANGED, "%s: the entry of shard %zu vanished",
                       e->output->journal.directory, shard);
    name = strdup(entry->facts.name);
    if (name == NULL)
        return err_memory(err, strlen(entry->facts.name));
    free(s->name);
    s->name = name;
    s->bytes = entry->facts.bytes;
    s->raw_bytes = entry->facts.raw_bytes;
    s->samples = entry->facts.samples;
    s->largest = entry->facts.largest;
    s->names_bytes = entry->facts.names_bytes;
    s->payload_bytes = e->edit->payloads[e->next++];
    memcpy(s->xxh3, entry->facts.xxh3, sizeof(s->xxh3));
    return put_section(e, s, entry->section.data, entry->section.size, writer, err);
}

static bool is_next(const struct editing *e, size_t shard)
{
    return e->next < e->edit->shard_count && e->edit->shards[e->next] == shard;
}

static int write_index(void *context, struct store_writer *writer, struct sheaf_error *err)
{
    struct editing *e = context;
    const size_t end = manifest_part_first(e->before, e->part + 1);
    int code = SHEAF_OK;

    for (size_t i = manifest_part_first(e->before, e->part); i < end && code == SHEAF_OK; i++)
        code = is_next(e, i) ? publish_edit_take_entry(e, i, writer, err) : copy_section(e, i,
                                                                                         writer,
                                                                                         err);
    return code;
}

static int publish_edit_put_index(struct editing *e, struct sheaf_error *err)
{
    const size_t first = manifest_part_first(e->before, e->part);
    char name[GROWN_NAME_BYTES];
    int code = publish_edit_open_part(e, INDEX_NAME, &e->index, err);

    e->part_offset = first < e->before->shard_count ? e->before->shards[first].index_offset : 0;
    manifest_part_name(INDEX_NAME, e->part, e->output->generation, name);
    if (code == SHEAF_OK)
        code = output_write_over(e->output, e->output->dest, name, write_index, e,
                                 strays_check_table, err);
    store_close(e->index);
    e->index = NULL;
    return code;
}

static int put_indexes(struct editing *e, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    e->after.index_bytes = 0;
    for (e->part = 0; e->part <= e->before->growth_count && code == SHEAF_OK; e->part++)
        code = publish_edit_put_index(e, err);
    return code;
}

/* ---- Tables of keys -------------------------------------------------------------------------- */

/* The samples of a part. */
struct renumbering {
    uint64_t first;             /* number of the first one, before the edit */
    const uint64_t *deleted;
    size_t count;
    size_t before;              /* deleted samples of earlier parts */
};

/* Returns how many deleted samples have a number less than `number`. */
static size_t deleted_before(const uint64_t *deleted, size_t count, uint64_t number)
{
    size_t low = 0, high = count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (deleted[middle] < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint64_t number_after(const void *context, uint64_t number)
{
    const struct renumbering *r = context;
    const size_t at = deleted_before(r->deleted, r->count, r->first + number);

    return at < r->count && r->deleted[at] == r->first + number ? UINT64_MAX
                                                                : number - (at - r->before);
}

static int get_some(void *context, uint64_t offset, void *data, size_t size,
                    struct sheaf_error *err)
{
    return store_read(context, offset, data, size, err);
}

static int put_some(void *writer, const void *data, size_t size, struct sheaf_error *err)
{
    return store_write(writer, data, size, err);
}

static int write_keys(void *context, struct store_writer *writer, struct sheaf_error *err)
{
    const struct editing *e = context;
    const uint64_t before = samples_of_part(e->before, e->part);
    const uint64_t keyed = manifest_edit_keyed(e->before, e->part, before);
    struct renumbering r = { .deleted = e->edit->deleted, .count = e->edit->deleted_count };
    struct key_table from, to;
    const struct key_table_edit edit = { &from, &to, get_some, e->keys, number_after, &r };
    int code = key_table_make(&from, manifest_edit_fingerprint(e->before, e->part), before, keyed,
                              err);

    for (size_t part = 0; part < e->part; part++)
        r.first += samples_of_part(e->before, part);
    r.before = deleted_before(r.deleted, r.count, r.first);
    if (code == SHEAF_OK)
        code = key_table_make(&to, e->after.fingerprint, samples_of_part(&e->after, e->part),
                              keyed, err);
    if (code == SHEAF_OK)
        code = key_table_edit(&edit, put_some, writer, err);
    return code == SHEAF_OK ? SHEAF_OK : err_prefix(err, "%s: ", e->keys->url);
}

/* Writes the tables of keys (by which samples are found) of the edited data set. A part that had no
 * table before the edit, because an old release had packed it, gets none. */
static int publish_edit_put_keys(struct editing *e, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (e->part = 0; e->part <= e->before->growth_count && code == SHEAF_OK; e->part++) {
        char name[GROWN_NAME_BYTES];

        code = publish_edit_open_part(e, KEYS_NAME, &e->keys, err);
        if (code == SHEAF_ERR_NOT_FOUND) {
            code = SHEAF_OK;
            continue;
        }
        manifest_part_name(KEYS_NAME, e->part, e->output->generation, name);
        if (code == SHEAF_OK)
            code = output_write_over(e->output, e->output->dest, name, write_keys, e,
                                     strays_check_table, err);
        store_close(e->keys);
        e->keys = NULL;
    }
    return code;
}

/* ---- The manifest ---------------------------------------------------------------------------- */

static int name_replaced(const struct editing *e, struct manifest_edit *edit,
                         struct sheaf_error *err)
{
    const struct publish_edit *p = e->edit;

    edit->shards = calloc(p->shard_count + 1, sizeof(edit->shards[0]));
    if (edit->shards == NULL)
        return err_memory(err, p->shard_count * sizeof(edit->shards[0]));
    for (; edit->shard_count < p->shard_count; edit->shard_count++) {
        edit->shards[edit->shard_count] = strdup(e->before->shards[p->shards[edit->shard_count]]
                                                     .name);
        if (edit->shards[edit->shard_count] == NULL)
            return err_memory(err, SHARD_NAME_BYTES);
    }
    return SHEAF_OK;
}

/* Adds to the manifest a record of this edit. When the function is called, the manifest must still
 * describe the data set as it was before the edit. */
static int add_edit(struct editing *e, struct sheaf_error *err)
{
    struct manifest *m = &e->after;
    struct manifest_edit *all = reallocarray(m->edits, m->edit_count + 1, sizeof(*all)), *edit;

    if (all == NULL)
        return err_memory(err, (m->edit_count + 1) * sizeof(*all));
    m->edits = all;
    edit = &all[m->edit_count];
    *edit = (struct manifest_edit){
        .grown = m->growth_count, .deleted = e->edit->deleted_count,
        .relabelled = e->edit->relabelled, .replaced = e->edit->replaced,
        .keyed = calloc(m->growth_count + 1, sizeof(edit->keyed[0])),
    };
    for (size_t part = 0; part <= m->growth_count && edit->keyed != NULL; part++) {
        const uint64_t samples = samples_of_part(m, part);

        edit->keyed[part] = manifest_edit_keyed(m, part, samples);
        edit->samples += samples;
    }
    m->edit_count++;
    memcpy(edit->fingerprint, m->fingerprint, sizeof(edit->fingerprint));
    snprintf(edit->plan, sizeof(edit->plan), "%s", e->edit->plan);
    return edit->keyed == NULL ? err_memory(err, m->growth_count * sizeof(edit->keyed[0]))
                               : name_replaced(e, edit, err);
}

/* Replaces the list of classes in the manifest, and sets the number of samples of each class to 0,
 * so that the caller can count again. If the manifest has classes without these numbers, the
 * numbers are unknown, and stay unknown. */
static int set_classes(struct manifest *m, const struct publish_edit *edit,
                       struct sheaf_error *err)
{
    const bool counts = m->class_samples != NULL || (m->class_count == 0 && m->edit_count == 0);
    char **classes = reallocarray(m->classes, edit->class_count + 1, sizeof(*classes));

    m->classes = classes != NULL ? classes : m->classes;
    free(m->class_samples);
    m->class_samples = counts && edit->class_count != 0
                           ? calloc(edit->class_count, sizeof(m->class_samples[0])) : NULL;
    if (classes == NULL || (counts && edit->class_count != 0 && m->class_samples == NULL))
        return err_memory(err, edit->class_count * sizeof(*classes));
    return publish_classes(m, edit->classes, edit->class_count, err);
}

static int publish_edit_start_manifest(struct editing *e, const struct manifest_found *there,
                                       struct sheaf_error *err)
{
    int code = manifest_parse(there->text, there->size, &e->after, err);

    if (code == SHEAF_OK)
        code = set_classes(&e->after, e->edit, err);
    if (code != SHEAF_OK)
        return code;
    tally_clear(&e->after.fields);
    e->after.fields = *e->edit->fields;
    *e->edit->fields = (struct tally){ .samples = 0 };
    return add_edit(e, err);
}

/* ---- The whole ------------------------------------------------------------------------------- */

static int shard_of_edit(const void *context, uint64_t number, struct entries_shard *shard,
                         struct sheaf_error *err)
{
    (void)context, (void)err;
    *shard = (struct entries_shard){ 0, number };
    return SHEAF_OK;
}

int publish_edited(struct output *o, const struct publish_edit *edit, struct sheaf_error *err)
{
    struct editing e = { .output = o, .edit = edit, .before = o->grows };
    struct buf text = BUF_INIT(MANIFEST_LIMIT);
    struct manifest_found there;
    int code = publish_grown_find(o, &there, err);

    if (code == SHEAF_OK)
        code = publish_edit_start_manifest(&e, &there, err);
    if (code == SHEAF_OK)
        code = entries_open(o, edit->shard_count, shard_of_edit, NULL, &e.entries, err);
    if (code == SHEAF_OK)
        code = strays_check_tables(o, err);
    o->has_written = code == SHEAF_OK;
    if (code == SHEAF_OK)
        code = put_indexes(&e, err);
    if (code == SHEAF_OK)
        code = manifest_write(&e.after, &text, err);
    if (code == SHEAF_OK)
        code = publish_edit_put_keys(&e, err);
    if (code == SHEAF_OK)
        code = publish_grown_put(o, &there, &text, err);
    if (code == SHEAF_OK)
        code = publish_grown_interop(o, err);
    entries_close(e.entries);
    manifest_clear(&e.after);
    manifest_found_free(&there);
    buf_free(&text);
    return code;
}
