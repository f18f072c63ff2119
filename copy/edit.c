/* SPDX-License-Identifier: MIT
 *
 * sheaf_edit: deletes samples, gives them other labels, and replaces files of samples. */
#include "copy/edit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/sized.h"
#include "base/workers.h"
#include "copy/in_place.h"
#include "formats/manifest_edit.h"
#include "publish/destination.h"
#include "publish/output_remove.h"
#include "publish/own_source.h"
#include "reader/dataset/column_sets.h"
#include "store/interrupt.h"
#include "store/over.h"
#include "store/scopes.h"

/* ---- Options --------------------------------------------------------------------------------- */

void sheaf_edit_options_init(struct sheaf_edit_options *options, size_t size)
{
    const struct sheaf_edit_options defaults = {
        .sizeof_options = size, .memory_bytes = (uint64_t)512 << 20,
    };

    sized_give(options, size, &defaults, sizeof(defaults));
}

static int edit_take_options(struct edit *e, const struct sheaf_edit_options *given,
                             struct sheaf_error *err)
{
    struct sheaf_edit_options *o = &e->options;
    int code;

    sheaf_edit_options_init(o, sizeof(*o));
    code = sized_take_checked(o, sizeof(*o), given, err);
    if (code != SHEAF_OK)
        return code;
    if (o->resume && o->overwrite)
        return err_because(err, err_set(err, SHEAF_ERR_ARGUMENT, "resume and overwrite exclude "
                                        "each other"), SHEAF_REASON_EXCLUSIVE);
    if (o->on_unknown != SHEAF_FAIL && o->on_unknown != SHEAF_SKIP)
        return err_set(err, SHEAF_ERR_ARGUMENT, "on_unknown is %d, expected SHEAF_FAIL or "
                       "SHEAF_SKIP", (int)o->on_unknown);
    if (o->delete_keys == NULL && o->labels == NULL && o->replace == NULL && !o->purge)
        return err_set(err, SHEAF_ERR_ARGUMENT, "nothing to edit: give keys to delete, labels, "
                       "files that replace others, or ask for a purge");
    e->watch = (struct watch){ .progress = o->progress, .context = o->context,
                               .interrupt = o->interrupt };
    e->problems.on_error = SHEAF_FAIL;
    return workers_check("jobs", o->jobs, err);
}

/* ---- The data set ---------------------------------------------------------------------------- */

static int edit_open_dataset(struct edit *e, const char *dataset, struct sheaf_error *err)
{
    char *key_end = NULL;
    int code = in_place_directory(dataset, &e->directory, err);

    if (code == SHEAF_OK)
        code = sheaf_dataset_open(&dataset, 1, &e->dataset, err);
    if (code == SHEAF_OK)
        code = in_place_check(e->dataset, e->directory, "edit", err);
    if (code == SHEAF_OK)
        code = in_place_check_packed(e->dataset, e->directory, err);
    if (code != SHEAF_OK)
        return code;
    e->manifest = &e->dataset->manifest;
    if (e->options.replace != NULL)
        code = refuse_own_source(e->directory, &e->options.replace, 1, err);
    if (code == SHEAF_OK)
        code = manifest_option(e->manifest, "key_end", &key_end, err);
    e->last_dot = key_end != NULL && strcmp(key_end, "last-dot") == 0;
    free(key_end);
    return code;
}

/* ---- The output ------------------------------------------------------------------------------ */

/* Opens the data set's directory for writing the changed shards, which get new names. `hash`
 * identifies the requested edit. */
static int edit_open_output(struct edit *e, struct in_place *place, const char *hash,
                            struct sheaf_error *err)
{
    int code = in_place_open(place, &e->output, e->directory, e->manifest, e->shard_count,
                             e->options.interrupt, err);

    e->setup = (struct block_setup){
        .format = e->output.format, .codec = e->output.codec, .interop = place->index,
        .interrupt = e->options.interrupt, .source = &e->source,
        .context = { .classes = e->plan.classes, .class_count = e->plan.class_count,
                     .label_base = e->manifest->label_base },
    };
    for (size_t i = 0; i < e->shard_count && code == SHEAF_OK; i++)
        place->shards[i] = e->shards[i].name;
    return code == SHEAF_OK ? in_place_begin(place, &e->output, hash, err) : code;
}

static enum output_ask edit_ask_of(const struct edit *e)
{
    return output_ask(e->options.resume, e->options.overwrite, true);
}

/* ---- Purge ----------------------------------------------------------------------------------- */

#define SEEN_AT_ONCE 64u

/* Adds the number of the given shards that still exist to e->result.purged. There may be at most
 * SEEN_AT_ONCE shards, because all requests run at the same time. */
static int count_existing(struct edit *e, char *const *names, size_t count, struct sheaf_error *err)
{
    struct store_seen seen[SEEN_AT_ONCE];
    char *urls[SEEN_AT_ONCE];
    int code = SHEAF_OK;

    for (size_t i = 0; i < count; i++) {
        urls[i] = store_join(e->directory, names[i]);
        if (urls[i] == NULL)
            code = err_memory(err, strlen(e->directory));
    }
    if (code == SHEAF_OK)
        code = store_see_all((const char *const *)urls, count, seen, err);
    for (size_t i = 0; i < count; i++) {
        e->result.purged += code == SHEAF_OK && seen[i].is_there;
        free(urls[i]);
    }
    return code;
}

/* Counts the shards that edits have replaced and that still exist. `m` names all replaced
 * shards. */
static int count_replaced(struct edit *e, const struct manifest *m, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (size_t i = 0; i < m->edit_count; i++) {
        const struct manifest_edit *edit = &m->edits[i];

        for (size_t k = 0; k < edit->shard_count && code == SHEAF_OK; k += SEEN_AT_ONCE)
            code = count_existing(e, edit->shards + k, MIN(edit->shard_count - k, SEEN_AT_ONCE),
                                  err);
    }
    return code;
}

/* Removes the files that earlier edits have replaced by new files. If an earlier run was killed
 * while it removed such files, this run removes the rest. */
static int purge(struct edit *e, struct sheaf_error *err)
{
    struct in_place place = { .prefix = NULL };
    char hash[HASH_TEXT_BYTES];
    bool finished;
    int code;

    if (e->manifest->edit_count == 0)
        return SHEAF_OK;
    code = count_replaced(e, e->manifest, err);
    if (code != SHEAF_OK)
        return code;
    e->sum = XXH3_128bits("purge", 5);
    edit_hash(e, e->manifest->fingerprint, hash);
    code = edit_open_output(e, &place, hash, err);
    if (code == SHEAF_OK && e->options.dry_run)
        code = output_look(&e->output, ASK_GROW_RESUME, err);
    else if (code == SHEAF_OK) {
        code = output_claim(&e->output, ASK_GROW_RESUME, &finished, err);
        if (code == SHEAF_OK)
            code = output_purge(&e->output, e->manifest, err);
        if (code == SHEAF_OK)
            code = output_end(&e->output, err);
    }
    output_close(&e->output);
    in_place_close(&place);
    return code;
}

/* ---- An edit that is done -------------------------------------------------------------------- */

static void count_manifest(struct edit *e, const struct manifest *m)
{
    e->result.samples = 0;
    for (size_t i = 0; i < m->shard_count; i++)
        e->result.samples += m->shards[i].samples;
    e->result.shards = m->shard_count;
}

/* Called if an earlier run has already published this edit. Removes the temporary files of the
 * earlier run, which may have been killed before it removed them. */
static int edit_finish_done(struct edit *e, const char *hash, struct sheaf_error *err)
{
    const struct manifest_edit *last = &e->manifest->edits[e->manifest->edit_count - 1];
    struct in_place place = { .prefix = NULL };
    int code = SHEAF_OK;

    e->result.is_done = true;
    e->result.deleted = last->deleted;
    e->result.relabelled = last->relabelled;
    e->result.replaced = last->replaced;
    e->result.shards_kept = last->shard_count;
    count_manifest(e, e->manifest);
    if (e->options.dry_run)
        return SHEAF_OK;
    code = edit_open_output(e, &place, hash, err);
    if (code == SHEAF_OK)
        code = output_grown(&e->output, err);
    output_close(&e->output);
    in_place_close(&place);
    return code == SHEAF_OK && e->options.purge ? purge(e, err) : code;
}

/* Sets *is_done to whether the last change of the data set was already the requested edit. Sets
 * `hash` to the hash of the edit. */
static void edit_find_done(const struct edit *e, char hash[HASH_TEXT_BYTES], bool *is_done)
{
    const struct manifest *m = e->manifest;
    const struct manifest_edit *last = m->edit_count == 0 ? NULL : &m->edits[m->edit_count - 1];

    *is_done = false;
    if (!manifest_edit_is_last(m))
        return;
    edit_hash(e, last->fingerprint, hash);
    *is_done = strcmp(hash, last->plan) == 0;
}

/* ---- Columns --------------------------------------------------------------------------------- */

/* The names of the data set's columns that can be read. */
struct edit_columns {
    const struct sheaf_dataset *dataset;
    size_t count;
    struct buf names;           /* as text, separated by commas */
};

static int edit_take_column(void *context, const char *name, struct sheaf_error *err)
{
    struct edit_columns *c = context;
    struct column_set set;
    const int found = column_set_open(c->dataset, name, &set, NULL);

    column_set_close(&set);
    return found != SHEAF_OK ? SHEAF_OK
                             : buf_printf(&c->names, err, "%s%s", c->count++ == 0 ? "" : ", ",
                                          name);
}

/* Tells the caller which columns can no longer be read, because they belong to the data set before
 * the edit. */
static void edit_tell_columns(const struct edit *e)
{
    struct edit_columns c = { .dataset = e->dataset, .names = BUF_INIT(1 << 20) };
    struct sheaf_error note = { .code = SHEAF_OK };

    if (e->options.note == NULL)
        return;
    (void)column_names_list(e->dataset, edit_take_column, &c, NULL);
    if (c.count != 0) {
        snprintf(note.message, sizeof(note.message), "the column%s %.*s belong%s to the data set "
                 "before this edit, and %s be read: drop %s and add %s again", plural(c.count),
                 (int)MIN(c.names.size, (size_t)600), (const char *)c.names.data,
                 c.count == 1 ? "s" : "", e->options.dry_run ? "could then not" : "can no longer",
                 c.count == 1 ? "it" : "them", c.count == 1 ? "it" : "them");
        e->options.note(e->options.context, "", &note);
    }
    buf_free(&c.names);
}

/* ---- The edit -------------------------------------------------------------------------------- */

static int edit_publish(struct edit *e, struct sheaf_error *err)
{
    size_t *shards = calloc(e->shard_count + 1, sizeof(*shards));
    struct publish_edit p = {
        .plan = e->output.plan_hash, .shards = shards, .shard_count = e->shard_count,
        .payloads = e->payloads, .deleted = e->deleted, .deleted_count = e->deleted_count,
        .relabelled = e->relabelled, .replaced = e->replaced, .classes = e->plan.classes,
        .class_count = e->plan.class_count, .fields = &e->fields,
    };
    struct manifest now = { .shards = NULL };
    int code;

    if (shards == NULL)
        return err_memory(err, e->shard_count * sizeof(*shards));
    for (size_t i = 0; i < e->shard_count; i++)
        shards[i] = e->shards[i].shard;
    code = publish_edited(&e->output, &p, err);
    free(shards);
    if (code == SHEAF_OK && e->options.purge) {
        code = destination_read_manifest(e->directory, &now, err);
        if (code == SHEAF_OK)
            code = count_replaced(e, &now, err);
        if (code == SHEAF_OK)
            code = output_purge(&e->output, &now, err);
        manifest_clear(&now);
    }
    return code == SHEAF_OK ? output_end(&e->output, err) : code;
}

static int edit_claimed(struct edit *e, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    if (e->options.resume || e->options.overwrite)
        code = output_clean(&e->output, err);
    if (code == SHEAF_OK)
        code = edit_write(e, err);
    if (code == SHEAF_OK)
        code = watch_check(&e->watch, err);
    if (code == SHEAF_OK)
        code = edit_publish(e, err);
    if (e->engine_open)
        engine_close(&e->engine);
    if (code != SHEAF_OK)
        output_abandon(&e->output, e->output.continues || e->result.shards_written != 0);
    return code;
}

static void edit_count_result(struct edit *e)
{
    count_manifest(e, e->manifest);
    e->result.samples -= e->deleted_count;
    e->result.deleted = e->deleted_count;
    e->result.relabelled = e->relabelled;
    e->result.replaced = e->replaced;
    if (e->options.dry_run)
        e->result.shards_written = e->shard_count;
}

static int edit_shards(struct edit *e, const char *hash, struct sheaf_error *err)
{
    struct in_place place = { .prefix = NULL };
    bool finished;
    int code = edit_open_output(e, &place, hash, err);

    if (code == SHEAF_OK && e->options.dry_run)
        code = output_look(&e->output, edit_ask_of(e), err);
    else if (code == SHEAF_OK) {
        code = output_claim(&e->output, edit_ask_of(e), &finished, err);
        if (code == SHEAF_OK)
            code = edit_claimed(e, err);
    }
    output_close(&e->output);
    in_place_close(&place);
    return code;
}

static int edit_run(struct edit *e, struct sheaf_error *err)
{
    char hash[HASH_TEXT_BYTES];
    bool is_done;
    int code = edit_read_lists(e, err);

    if (code != SHEAF_OK)
        return code;
    edit_find_done(e, hash, &is_done);
    if (e->wanted_count != 0 && is_done)
        return edit_finish_done(e, hash, err);
    code = edit_find_changes(e, err);
    if (code != SHEAF_OK)
        return code;
    edit_hash(e, e->manifest->fingerprint, hash);
    edit_count_result(e);
    if (e->shard_count == 0)    /* nothing changes */
        return e->options.purge ? purge(e, err) : SHEAF_OK;
    code = edit_shards(e, hash, err);
    if (code == SHEAF_OK)
        edit_tell_columns(e);
    return code;
}

static void close_edit(struct edit *e)
{
    edit_changes_free(e);
    edit_lists_free(e);
    problems_free(&e->problems);
    sheaf_dataset_free(e->dataset);
    free(e->directory);
}

int sheaf_edit(const char *dataset, const struct sheaf_edit_options *options,
               struct sheaf_edit_result *result, size_t sizeof_result, struct sheaf_error *error)
{
    struct edit e = { .output.lock = -1, .source.root_fd = -1 };
    struct store_scopes scopes = { .count = 0 };
    const volatile int *before;
    struct sheaf_error own;
    int code;

    error = error != NULL ? error : &own;
    code = edit_take_options(&e, options, error);
    before = interrupt_watch(e.options.interrupt);
    if (code == SHEAF_OK)
        code = scopes_open(&scopes, dataset, NULL, e.options.s3, error);
    if (code == SHEAF_OK)
        code = edit_open_dataset(&e, dataset, error);
    if (code == SHEAF_OK)
        code = edit_run(&e, error);
    close_edit(&e);
    scopes_close(&scopes);
    interrupt_watch(before);
    if (result != NULL)
        sized_give(result, sizeof_result, &e.result, sizeof(e.result));
    return code;
}
