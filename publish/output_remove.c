/* SPDX-License-Identifier: MIT
 *
 * Removes a data set that is being replaced. The run must have claimed the destination (see
 * journal.h). There are three steps:
 * 1. Store a copy of the manifest, because the manifest lists the files of the data set.
 * 2. Remove the manifest, so that the data set no longer exists.
 * 3. Remove the files of the data set.
 *
 * If the run is killed before the end, the next run that claims the destination continues. Only
 * files that a manifest or a journal entry (the facts about a finished shard) names are removed.
 *
 * An earlier run may still work at the destination, although its claim (the file that says which
 * run packs here) was replaced. A store with stages (store/stage.h) stops such a run. In a store
 * without stages, the earlier run could publish its own manifest if the destination had no
 * manifest. Therefore, in such a store, step 2 replaces the manifest by a stand-in: a file that
 * names the present run. */
#include "publish/output_remove.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/interop_index.h"
#include "formats/manifest_growth.h"
#include "publish/destination.h"
#include "publish/several.h"
#include "publish/strays.h"
#include "store/over.h"
#include "store/store.h"

/* ---- One file -------------------------------------------------------------------------------- */

/* Looks at the file that will be replaced. *url is its URL, which the caller frees. */
static int see_replaced(const char *directory, const char *name, output_stays_fn *stays,
                        char **url, struct store_seen *seen, struct sheaf_error *err)
{
    int code;

    *url = store_join(directory, name);
    code = *url == NULL ? err_memory(err, strlen(name)) : store_see(*url, seen, err);
    return code == SHEAF_OK && stays != NULL ? stays(*url, seen, err) : code;
}

int output_put_over(const struct output *o, const char *directory, const char *name,
                    const void *data, size_t size, output_stays_fn *stays, struct sheaf_error *err)
{
    char *url;
    struct store_seen seen, now;
    int code = see_replaced(directory, name, stays, &url, &seen, err);

    if (code == SHEAF_OK)
        code = journal_check(&o->journal, err);
    if (code == SHEAF_OK)
        code = journal_put_file(&o->journal, url, data, size, NULL, &seen, &now, err);
    free(url);
    return code;
}

int output_write(const char *url, output_content_fn *content, void *context,
                 struct store_writer **writer, struct sheaf_error *err)
{
    int code = store_create(url, writer, err);

    if (code == SHEAF_OK)
        code = content(context, *writer, err);
    if (code != SHEAF_OK) {
        store_abort(*writer);
        *writer = NULL;
    }
    return code;
}

int output_write_over(const struct output *o, const char *directory, const char *name,
                      output_content_fn *content, void *context, output_stays_fn *stays,
                      struct sheaf_error *err)
{
    char *url;
    struct store_writer *writer = NULL;
    struct store_seen seen, now;
    int code = see_replaced(directory, name, stays, &url, &seen, err);

    if (code == SHEAF_OK)
        code = output_write(url, content, context, &writer, err);
    if (code == SHEAF_OK)
        code = journal_check(&o->journal, err);
    if (code == SHEAF_OK)
        code = journal_commit(&o->journal, writer, &seen, &now, err);
    else
        store_abort(writer);
    free(url);
    return code;
}

int output_remove(const struct output *o, const char *directory, const char *name,
                  struct sheaf_error *err)
{
    return journal_remove_in(&o->journal, directory, name, err);
}

/* ---- Data sets by their manifests ------------------------------------------------------------ */

/* A directory that is being cleared. */
struct output_clearing {
    const struct output *output;
    const char *directory;
    struct several several;
};

static int output_remove_file(void *context, const char *name, const struct store_seen *listed,
                              struct sheaf_error *err)
{
    const struct output_clearing *c = context;

    (void)listed;
    return output_remove(c->output, c->directory, name, err);
}

static int remove_put(void *context, const char *name, const void *data, size_t size,
                      struct sheaf_error *err)
{
    struct output_clearing *c = context;

    (void)data;
    (void)size;
    return several_add(&c->several, name, NULL, err);
}

static int remove_shard(struct output_clearing *c, const struct manifest *m, const char *name,
                        bool has_names, struct interop_writer *interop, struct sheaf_error *err)
{
    char *names;
    int code = interop_finish_shard(interop, name, remove_put, c, err);

    if (code == SHEAF_OK && has_names) {
        if (asprintf(&names, "%.*s.lst", (int)interop_stem(m->container, m->codec, name), name) < 0)
            return err_memory(err, strlen(name));
        code = several_add(&c->several, names, NULL, err);
        free(names);
    }
    return code == SHEAF_OK ? several_add(&c->several, name, NULL, err) : code;
}


/* Removes the copy of the replaced manifest, as the last step of a removal. Makes the removal
 * durable, so that the copy does not come back after a power failure. */
static int remove_note(const struct output *o, const char *directory, struct sheaf_error *err)
{
    char *partial = store_join(directory, STORE_PARTIAL);
    int code = partial == NULL ? err_memory(err, strlen(directory))
                               : output_remove(o, partial, REPLACED_NAME, err);

    if (code == SHEAF_OK)
        code = store_sync(partial, err);
    free(partial);
    return code;
}

static int remove_pair(struct output_clearing *c, const char *const pair[2], size_t part,
                       size_t edit, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (size_t i = 0; i < 2 && code == SHEAF_OK; i++) {
        char name[GROWN_NAME_BYTES];

        manifest_part_name(pair[i], part, edit, name);
        code = several_add(&c->several, name, NULL, err);
    }
    return code;
}

/* Removes index files and tables of keys (by which samples are found) of the parts `first` to
 * `last` of a data set. Part 0 is from the first packing, part 1 from the first append, and so on.
 * If `edit` is 0, removes the files that no edit has written. Otherwise removes the files that edit
 * number `edit` has written. The names of the files contain the number of the part and the number
 * of the edit. */
static int remove_indexes(struct output_clearing *c, size_t first, size_t last, size_t edit,
                          struct sheaf_error *err)
{
    static const char *const names[2] = { INDEX_NAME, KEYS_NAME };
    int code = SHEAF_OK;

    for (size_t part = first; part <= last && code == SHEAF_OK; part++)
        code = remove_pair(c, names, part, edit, err);
    return code;
}

static int remove_reports(struct output_clearing *c, size_t first, size_t last,
                          struct sheaf_error *err)
{
    static const char *const names[2] = { SKIPPED_NAME, CONVERTED_NAME };
    int code = SHEAF_OK;

    for (size_t part = first; part <= last && code == SHEAF_OK; part++)
        code = remove_pair(c, names, part, 0, err);
    return code;
}

/* Removes an index or a table of keys. A file of another program stays: it may have appeared under
 * this name before the failed run could write its own file. */
static int remove_table(void *context, const char *name, const struct store_seen *listed,
                        struct sheaf_error *err)
{
    const struct output_clearing *c = context;
    char *url = store_join(c->directory, name);
    bool is_stray = false;
    int code = url == NULL ? err_memory(err, strlen(name)) : strays_is_stray(url, &is_stray, err);

    free(url);
    return code == SHEAF_OK && !is_stray ? output_remove_file(context, name, listed, err) : code;
}

int output_remove_tables(const struct output *o, const char *directory, struct sheaf_error *err)
{
    struct output_clearing c = { o, directory, { .code = SHEAF_OK } };
    int code = several_open(&c.several, directory, remove_table, &c, err);

    if (code == SHEAF_OK)
        code = remove_indexes(&c, 0, 0, 0, err);
    return several_close(&c.several, code, err);
}

/* Removes the reports of part `part` that a failed run has written. */
static int remove_reports_of(const struct output *o, size_t part, struct sheaf_error *err)
{
    struct output_clearing c = { o, o->dest, { .code = SHEAF_OK } };
    int code = several_open(&c.several, o->dest, output_remove_file, &c, err);

    if (code == SHEAF_OK)
        code = remove_reports(&c, part, part, err);
    return several_close(&c.several, code, err);
}

/* Removes files of the data set that its edits have replaced by others. Readers no longer need
 * these files. */
static int remove_edited(struct output_clearing *c, const struct manifest *m,
                         struct interop_writer *interop, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (size_t i = 0; i < m->edit_count && code == SHEAF_OK; i++) {
        const struct manifest_edit *e = &m->edits[i];

        for (size_t k = 0; k < e->shard_count && code == SHEAF_OK; k++)
            code = remove_shard(c, m, e->shards[k], format_of(m->container)->has_names, interop,
                                err);
        if (code == SHEAF_OK)
            code = remove_indexes(c, 0, (size_t)e->grown, i, err);
    }
    return code;
}

/* Removes all files of a data set: files that the manifest names, files that edits have replaced,
 * and the index files of its parts (the first packing and each append). Also removes the files that
 * an unfinished append or edit may have written. Their names contain the number of this append or
 * edit, which is one higher than the numbers in the manifest. */
static int remove_named(const struct output *o, char *directory, const struct manifest *m,
                        struct interop_writer *interop, struct sheaf_error *err)
{
    struct output_clearing c = { o, directory, { .code = SHEAF_OK } };
    int code = several_open(&c.several, directory, output_remove_file, &c, err);

    for (size_t i = 0; i < m->shard_count && code == SHEAF_OK; i++)
        code = remove_shard(&c, m, m->shards[i].name,
                            m->shards[i].names_bytes != 0 ||    /* or the shard is empty */
                                (m->ours && format_of(m->container)->has_names), interop, err);
    if (code == SHEAF_OK)
        code = remove_edited(&c, m, interop, err);
    if (code == SHEAF_OK)
        code = interop_finish_dataset(interop, m, NULL, remove_put, &c, err);
    for (size_t edit = m->edit_count; edit <= m->edit_count + 1 && code == SHEAF_OK; edit++)
        code = remove_indexes(&c, 0, m->growth_count + 1, edit, err);
    if (code == SHEAF_OK && m->edit_count != 0)
        code = remove_indexes(&c, 0, m->growth_count + 1, 0, err);
    if (code == SHEAF_OK)
        code = remove_reports(&c, 0, m->growth_count + 1, err);
    return several_close(&c.several, code, err);
}

/* Removes the files of a replaced data set. The names of these files come from the copy of the
 * manifest (replaced.json). Also removes files of a run that was appending to the data set. Does
 * nothing if there is no copy of a manifest. */
static int remove_replaced(const struct output *o, char *directory, struct sheaf_error *err)
{
    struct interop_writer interop = { .interop = 0 };
    struct manifest m;
    char *list = NULL;
    int code = destination_read_replaced(directory, &m, err);

    if (code != SHEAF_OK)
        return code == SHEAF_ERR_NOT_FOUND ? SHEAF_OK : code;
    code = manifest_option(&m, "index", &list, err);
    if (code == SHEAF_OK)
        code = interop_open(&interop, list, m.container, m.codec, err);
    if (code == SHEAF_OK)
        code = remove_named(o, directory, &m, &interop, err);
    if (code == SHEAF_OK)
        code = remove_note(o, directory, err);
    interop_free(&interop);
    free(list);
    manifest_clear(&m);
    return code;
}

/* ---- Splits of an earlier data set ----------------------------------------------------------- */

static int remove_split(void *context, char *directory, const char *name,
                        struct sheaf_error *err)
{
    (void)name;
    return remove_replaced(*(const struct output *const *)context, directory, err);
}

/* Completes the removal of the replaced data set. This run or an earlier run has begun this
 * removal. */
static int finish_removal(const struct output *o, struct sheaf_error *err)
{
    char *dest = strdup(o->dest);
    int code = dest == NULL ? err_memory(err, strlen(o->dest)) : remove_replaced(o, dest, err);

    if (code == SHEAF_OK)
        code = destination_for_each_below(o->dest, remove_split, &o, err);
    free(dest);
    return code;
}

/* ---- Withdrawing manifests ------------------------------------------------------------------- */

static int note_replaced(const struct output *o, const char *directory,
                         const struct manifest_found *f, struct sheaf_error *err)
{
    return output_put_over(o, directory, STORE_PARTIAL "/" REPLACED_NAME, f->text, f->size, NULL,
                           err);
}

static int replace_manifest(const struct output *o, const char *url,
                            const struct store_seen *seen, struct sheaf_error *err)
{
    char text[512];
    struct store_seen now;
    int code = journal_check(&o->journal, err);

    if (code != SHEAF_OK)
        return code;
    if (o->journal.stage != NULL)
        return seen->is_there ? journal_remove_seen(&o->journal, url, seen, err) : SHEAF_OK;
    snprintf(text, sizeof(text), MANIFEST_UNFINISHED, o->journal.plan.run);
    return store_put_over(url, text, strlen(text), seen, &now, err);
}

/* Returns whether a run of this plan has written the manifest, so that it may be removed. Also
 * returns true if the manifest cannot be parsed. Such a manifest was written by a run of this plan
 * and damaged later, because the destination had no manifest of another data set when this run
 * claimed it. */
static bool output_remove_is_own(const struct manifest_found *f)
{
    return f->kind == MANIFEST_OF_PLAN ||
           (f->kind == MANIFEST_UNREADABLE && f->fault.code == SHEAF_ERR_CORRUPT);
}

static int withdraw_found(const struct output *o, const char *directory,
                          const struct manifest_found *f, bool keep_own, struct sheaf_error *err)
{
    const bool own = keep_own && output_remove_is_own(f);
    char *url;
    int code = SHEAF_OK;

    if (keep_own && !own && f->kind == MANIFEST_UNREADABLE)
        return err_set(err, f->fault.code, "%s", f->fault.message);
    if (manifest_found_is_dataset(f) && !own)
        code = note_replaced(o, directory, f, err);
    if (code != SHEAF_OK)
        return code;
    url = store_join(directory, MANIFEST_NAME);
    code = url == NULL ? err_memory(err, strlen(directory))
                       : replace_manifest(o, url, &f->seen, err);
    free(url);
    return code;
}

#define WITHDRAW_TRIES 5    /* each previous holder of the destination can interfere once */

static int output_remove_withdraw(const struct output *o, const char *directory, bool keep_own,
                                  struct sheaf_error *err)
{
    int code = SHEAF_ERR_CHANGED;

    for (int i = 0; i < WITHDRAW_TRIES && code == SHEAF_ERR_CHANGED; i++) {
        struct manifest_found f;

        code = destination_manifest(o, directory, &f, err);
        if (code == SHEAF_OK)
            code = withdraw_found(o, directory, &f, keep_own, err);
        manifest_found_free(&f);
    }
    return code;
}

static bool is_of_run(const struct output *o, const char *name)
{
    for (uint32_t i = 0; i < o->split_count; i++)
        if (strcmp(o->journal.plan.splits[i], name) == 0)
            return true;
    return false;
}

/* Removes the manifest of a replaced data set from a directory in which this run makes no new data
 * set. There are two such directories: the directory of a split that this run does not have; and
 * the destination itself, if this run has splits and the old data set had no splits. */
static int withdraw_other(const struct output *o, const char *directory,
                          const struct manifest_found *f, struct sheaf_error *err)
{
    const int code = manifest_found_is_dataset(f) ? note_replaced(o, directory, f, err) : SHEAF_OK;

    return code == SHEAF_OK ? output_remove(o, directory, MANIFEST_NAME, err) : code;
}

static int withdraw_split(void *context, char *directory, const char *name,
                          struct sheaf_error *err)
{
    const struct output *o = *(const struct output *const *)context;
    struct manifest_found f;
    bool is;
    int code = destination_split(o, directory, name, &f, &is, err);

    if (code == SHEAF_OK && is && !is_of_run(o, name))
        code = withdraw_other(o, directory, &f, err);
    manifest_found_free(&f);
    return code;
}

static int withdraw_whole(const struct output *o, struct sheaf_error *err)
{
    struct manifest_found f;
    int code;

    if (is_of_run(o, ""))
        return SHEAF_OK;
    code = destination_manifest(o, o->dest, &f, err);
    if (code == SHEAF_OK && f.kind != MANIFEST_NONE)
        code = withdraw_other(o, o->dest, &f, err);
    manifest_found_free(&f);
    return code;
}

/* ---- Shards by the journal ------------------------------------------------------------------- */

struct entries_removal {
    const struct output *output;
    bool own;                   /* entries of the run's plan, or of others */
    struct several several;
};

/* Removes the files that a journal entry (the stored facts about a shard) lists: the files beside
 * the shard, and then the shard itself. The caller has found the shard's name in the entry's file
 * name. */
static int remove_entry_shard(const struct output *o, const char *directory,
                              const struct journal_entry *entry, struct sheaf_error *err)
{
    const char *at = (const char *)entry->sides.data, *end = at + entry->sides.size;
    char name[SHARD_NAME_BYTES], hash[HASH_TEXT_BYTES];
    uint64_t bytes;
    int code = SHEAF_OK;

    while (code == SHEAF_OK && at < end && journal_take_side(&at, end, name, &bytes, hash))
        code = strchr(name, '/') == NULL ? output_remove(o, directory, name, err) : SHEAF_OK;
    return code == SHEAF_OK ? output_remove(o, directory, entry->facts.name, err) : code;
}

/* Returns whether the manifest of the data set already contains the appended shard `shard`, which
 * must then stay. This is possible if the run was killed after it had published the new
 * manifest. */
static bool is_published(const struct output *o, const char *shard)
{
    for (size_t i = 0; o->grows != NULL && i < o->grows->shard_count; i++)
        if (strcmp(o->grows->shards[i].name, shard) == 0)
            return true;
    return false;
}

static int remove_known(const struct output *o, const char *name,
                        const struct journal_entry *entry, struct sheaf_error *err)
{
    const char *found = strstr(name, entry->facts.name);
    const size_t before = found == NULL ? 0 : (size_t)(found - name);
    char *split = strndup(name, before == 0 ? 0 : before - 1), *directory = NULL;
    struct store_seen own = { .is_there = false };
    int code = split == NULL ? err_memory(err, before) : SHEAF_OK;

    if (code == SHEAF_OK && found != NULL && strchr(entry->facts.name, '/') == NULL) {
        directory = before == 0 ? strdup(o->dest) : store_join(o->dest, split);
        code = directory == NULL ? err_memory(err, strlen(o->dest)) : SHEAF_OK;
        if (code == SHEAF_OK && !journal_is_own(&o->journal, name))
            code = journal_see(&o->journal, split, entry->facts.name, &own, err);
        if (code == SHEAF_OK && !own.is_there && !is_published(o, entry->facts.name))
            code = remove_entry_shard(o, directory, entry, err);
    }
    free(directory);
    free(split);
    return code;
}

static int remove_entry(void *context, const char *name, const struct store_seen *listed,
                        struct sheaf_error *err)
{
    const struct entries_removal *r = context;
    struct journal_entry entry = { .facts = { .bytes = 0 } };
    int code = journal_get_named(&r->output->journal, name, &entry, err);

    (void)listed;
    if (code == SHEAF_OK)
        code = remove_known(r->output, name, &entry, err);
    journal_entry_free(&entry);
    return code == SHEAF_OK || code == SHEAF_END ? journal_remove(&r->output->journal, name, err)
                                                 : code;
}

static int output_remove_find_entry(void *context, const char *name, struct sheaf_error *err)
{
    struct entries_removal *r = context;
    const char *suffix = strrchr(name, '.');

    if (suffix == NULL || strcmp(suffix, ".done") != 0 ||
        journal_is_own(&r->output->journal, name) != r->own)
        return SHEAF_OK;
    return several_add(&r->several, name, NULL, err);
}

static int remove_entries(const struct output *o, bool own, struct sheaf_error *err)
{
    struct entries_removal removal = { o, own, { .code = SHEAF_OK } };
    int code = several_open(&removal.several, o->dest, remove_entry, &removal, err);

    if (code == SHEAF_OK)
        code = journal_list(o->dest, output_remove_find_entry, &removal, err);
    return several_close(&removal.several, code, err);
}

/* ---- The whole ------------------------------------------------------------------------------- */

int output_clear(const struct output *o, bool keep_own, struct sheaf_error *err)
{
    int code = withdraw_whole(o, err);

    for (uint32_t i = 0; i < o->split_count && code == SHEAF_OK; i++)
        code = output_remove_withdraw(o, o->directories[i], keep_own, err);
    if (code == SHEAF_OK)
        code = destination_for_each_below(o->dest, withdraw_split, &o, err);
    if (code == SHEAF_OK)
        code = finish_removal(o, err);
    if (code == SHEAF_OK)
        code = remove_entries(o, false, err);
    if (code == SHEAF_OK && !keep_own)
        code = remove_entries(o, true, err);
    return code;
}

/* Removes all files that a killed append or edit has written, except its shards. */
static int remove_change(const struct output *o, struct sheaf_error *err)
{
    const size_t next = o->grows->growth_count + 1, edits = o->grows->edit_count;
    struct output_clearing c = { o, o->dest, { .code = SHEAF_OK } };
    int code = several_open(&c.several, o->dest, remove_table, &c, err);

    if (code == SHEAF_OK)
        code = remove_indexes(&c, next, next, edits, err);
    if (code == SHEAF_OK)
        code = remove_indexes(&c, 0, next - 1, edits + 1, err);
    code = several_close(&c.several, code, err);
    return code == SHEAF_OK ? remove_reports_of(o, next, err) : code;
}

int output_remove_appended(const struct output *o, bool keep_own, struct sheaf_error *err)
{
    int code = remove_entries(o, false, err);

    if (code == SHEAF_OK && !keep_own)
        code = remove_entries(o, true, err);
    if (code == SHEAF_OK && !keep_own)
        code = remove_change(o, err);
    return code;
}

int output_purge(const struct output *o, const struct manifest *m, struct sheaf_error *err)
{
    struct output_clearing c = { o, o->dest, { .code = SHEAF_OK } };
    struct interop_writer interop = { .interop = 0 };
    char *list = NULL;
    int code = manifest_option(m, "index", &list, err);

    if (code == SHEAF_OK)
        code = interop_open(&interop, list, m->container, m->codec, err);
    if (code == SHEAF_OK) {
        code = several_open(&c.several, o->dest, output_remove_file, &c, err);
        if (code == SHEAF_OK)
            code = remove_edited(&c, m, &interop, err);
        code = several_close(&c.several, code, err);
    }
    interop_free(&interop);
    free(list);
    return code;
}

static int output_remove_find_shard(void *context, const struct store_entry *entry)
{
    const struct output *o = context;
    const size_t size = strlen(o->prefix);

    return strncmp(entry->name, o->prefix, size) == 0 && entry->name[size] == '-' ? SHEAF_END
                                                                                : SHEAF_OK;
}

/* Returns true if no file in the destination has the name of a shard. If it returns false, the
 * caller must leave the claim (the file that says which run packs here) in place, so that
 * readers refuse the directory. Such a shard may come from a run that no longer has the claim.
 *
 * In a store with stages (store/stage.h), a run without the claim cannot write files. The function
 * then returns true without looking. */
static bool is_clear(const struct output *o)
{
    int code = SHEAF_OK;

    for (uint32_t i = 0; i < o->split_count && o->journal.stage == NULL && code == SHEAF_OK; i++) {
        code = store_list(o->directories[i], output_remove_find_shard, (void *)(uintptr_t)o, NULL);
        code = code == SHEAF_ERR_NOT_FOUND ? SHEAF_OK : code;
    }
    return code == SHEAF_OK;
}

void output_abandon(const struct output *o, bool keep_shards)
{
    for (uint32_t i = 0; i < o->split_count; i++)
        journal_remove_temporaries(o->directories[i], NULL);
    if (keep_shards || o->is_visible || journal_check(&o->journal, NULL) != SHEAF_OK)
        return;
    if (remove_entries(o, true, NULL) != SHEAF_OK)
        return;
    if (o->grows != NULL) {
        if (!o->has_written || remove_change(o, NULL) == SHEAF_OK)
            (void)journal_clear(&o->journal, NULL);
        return;
    }
    if (!is_clear(o))
        return;
    for (uint32_t i = 0; i < o->split_count; i++) {
        struct manifest_found f;

        if (destination_manifest(o, o->directories[i], &f, NULL) != SHEAF_OK)
            return;
        manifest_found_free(&f);
        if (manifest_found_is_dataset(&f))
            return;
        if (f.kind == MANIFEST_OF_RUN)
            (void)output_remove(o, o->directories[i], MANIFEST_NAME, NULL);
        if (o->has_written)
            (void)output_remove_tables(o, o->directories[i], NULL);
    }
    if (o->has_written)
        (void)remove_reports_of(o, 0, NULL);
    journal_clear(&o->journal, NULL);
}
