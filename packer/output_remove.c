/* SPDX-License-Identifier: MIT
 *
 * Taking away what is being replaced, under the run's own claim.
 *
 * First what a data set consists of is noted, then its manifest is taken away, without which there
 * is no data set, then the rest.  A run that was stopped in between is finished by the next one
 * that has the claim.  Only what a manifest or an entry of a journal says to be a run's own is
 * ever removed.
 *
 * Where nobody can be kept out by a lock, a manifest is not removed but replaced by a document that
 * says who is at work: so whoever had the place before, and does not know yet that it was taken,
 * does not find the manifest's name free. */
#include "packer/output_remove.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/interop_index.h"
#include "formats/json_load.h"
#include "store/store.h"

/* What is being replaced: the manifest of the data set whose files are on their way out. */
#define REPLACED_NAME "replaced.json"

/* ---- Manifests ------------------------------------------------------------------------------- */

static int get(const char *directory, const char *name, char **text, size_t *size,
               struct sheaf_error *err)
{
    char *url = store_join(directory, name);
    const int code = url == NULL ? err_memory(err, strlen(directory))
                                 : store_get(url, MANIFEST_LIMIT, text, size, err);

    free(url);
    return code;
}

static int read_manifest(const char *directory, const char *name, struct manifest *m,
                         struct sheaf_error *err)
{
    char *text = NULL;
    size_t size = 0;
    int code = get(directory, name, &text, &size, err);

    if (code == SHEAF_OK) {
        code = manifest_parse(text, size, m, err);
        if (code != SHEAF_OK)
            err_prefix(err, "%s/%s: ", directory, name);
    }
    free(text);
    return code;
}

int output_read_manifest(const char *directory, struct manifest *m, struct sheaf_error *err)
{
    return read_manifest(directory, MANIFEST_NAME, m, err);
}

int output_read_replaced(const char *directory, struct manifest *m, struct sheaf_error *err)
{
    return read_manifest(directory, STORE_PARTIAL "/" REPLACED_NAME, m, err);
}

int output_look_manifest(const char *directory, struct manifest_look *look,
                         struct sheaf_error *err)
{
    char *url = store_join(directory, MANIFEST_NAME), *text = NULL;
    size_t size = 0;
    int code = url == NULL ? err_memory(err, strlen(directory))
                           : store_see(url, &look->seen, err);

    look->is_dataset = false;
    look->run[0] = '\0';
    if (code == SHEAF_OK && look->seen.is_there) {
        code = store_get(url, MANIFEST_LIMIT, &text, &size, err);
        look->is_dataset = code == SHEAF_OK && !manifest_is_unfinished(text, size, look->run);
    }
    if (code == SHEAF_ERR_NOT_FOUND) {
        look->seen.is_there = false;
        code = SHEAF_OK;
    }
    free(text);
    free(url);
    return code;
}

/* The text was written out of what had been parsed. */
int output_option(const struct manifest *m, const char *name, char **value,
                  struct sheaf_error *err)
{
    const char *all = m->options_json == NULL ? "{}" : m->options_json, *text;
    json_error_t found;
    json_t *options;
    int code = json_load_text(all, strlen(all), 0, &options, &found, err);

    text = json_string_value(json_object_get(options, name));
    *value = text == NULL ? NULL : strdup(text);
    if (text != NULL && *value == NULL)
        code = err_memory(err, strlen(text));
    json_decref(options);
    return code == SHEAF_ERR_CORRUPT ? err_set(err, code, "options of a manifest: %s", found.text)
                                     : code;
}

int output_is_of_plan(const struct output *o, const struct manifest *m, bool *is,
                      struct sheaf_error *err)
{
    char *hash;
    const int code = output_option(m, "plan", &hash, err);

    *is = code == SHEAF_OK && hash != NULL && strcmp(hash, o->plan_hash) == 0;
    free(hash);
    return code;
}


/* ---- One file -------------------------------------------------------------------------------- */

int output_put_over(const struct output *o, const char *directory, const char *name,
                    const void *data, size_t size, struct sheaf_error *err)
{
    char *url = store_join(directory, name);
    struct store_seen seen, now;
    int code = url == NULL ? err_memory(err, strlen(name)) : store_see(url, &seen, err);

    if (code == SHEAF_OK)
        code = journal_check(&o->journal, err);
    if (code == SHEAF_OK)
        code = store_put_over(url, data, size, &seen, &now, err);
    free(url);
    return code;
}

int output_remove(const struct output *o, const char *directory, const char *name,
                  struct sheaf_error *err)
{
    char *url = store_join(directory, name);
    struct store_seen seen;
    int code = url == NULL ? err_memory(err, strlen(name)) : store_see(url, &seen, err);

    if (code == SHEAF_OK && seen.is_there)
        code = journal_check(&o->journal, err);
    if (code == SHEAF_OK && seen.is_there)
        code = store_remove_over(url, &seen, err);
    free(url);
    return code;
}

/* ---- Data sets by their manifests ------------------------------------------------------------ */

/* A directory that is cleared. */
struct clearing {
    const struct output *output;
    char *directory;
};

static int remove_put(void *context, const char *name, const void *data, size_t size,
                      struct sheaf_error *err)
{
    const struct clearing *c = context;

    (void)data;
    (void)size;
    return output_remove(c->output, c->directory, name, err);
}

static int remove_shard(struct clearing *c, const struct manifest *m, size_t i,
                        struct interop_writer *interop, struct sheaf_error *err)
{
    const char *name = m->shards[i].name;
    char *names;
    int code = interop_finish_shard(interop, name, remove_put, c, err);

    if (code == SHEAF_OK && (m->shards[i].names_bytes != 0 ||   /* or the shard is empty */
                             (m->ours && format_of(m->container)->has_names))) {
        if (asprintf(&names, "%.*s.lst", (int)interop_stem(m->container, m->codec, name), name) < 0)
            return err_memory(err, strlen(name));
        code = output_remove(c->output, c->directory, names, err);
        free(names);
    }
    return code == SHEAF_OK ? output_remove(c->output, c->directory, name, err) : code;
}


/* The note goes last, and does not come back. */
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

/* Removes the files of a data set that is being replaced, as the note says; nothing without one. */
static int remove_replaced(const struct output *o, char *directory, struct sheaf_error *err)
{
    struct clearing c = { o, directory };
    struct interop_writer interop = { .interop = 0 };
    struct manifest m;
    char *list = NULL;
    int code = output_read_replaced(directory, &m, err);

    if (code != SHEAF_OK)
        return code == SHEAF_ERR_NOT_FOUND ? SHEAF_OK : code;
    code = output_option(&m, "index", &list, err);
    if (code == SHEAF_OK)
        code = interop_open(&interop, list, m.container, m.codec, err);
    for (size_t i = 0; i < m.shard_count && code == SHEAF_OK; i++)
        code = remove_shard(&c, &m, i, &interop, err);
    if (code == SHEAF_OK)
        code = interop_finish_dataset(&interop, &m, NULL, remove_put, &c, err);
    if (code == SHEAF_OK)
        code = output_remove(o, directory, INDEX_NAME, err);
    if (code == SHEAF_OK)
        code = output_remove(o, directory, SKIPPED_NAME, err);
    if (code == SHEAF_OK)
        code = remove_note(o, directory, err);
    interop_free(&interop);
    free(list);
    manifest_clear(&m);
    return code;
}

/* ---- Splits of an earlier data set ----------------------------------------------------------- */

struct below {
    const char *dest;
    output_below_fn *each;
    void *context;
    struct sheaf_error *err;
};

static int visit_below(void *context, const struct store_entry *entry)
{
    const struct below *b = context;
    char *directory = store_join(b->dest, entry->name);
    const int code = directory == NULL ? err_memory(b->err, strlen(entry->name))
                                       : b->each(b->context, directory, entry->name, b->err);

    free(directory);
    return code;
}

int output_for_each_below(const char *dest, output_below_fn *each, void *context,
                          struct sheaf_error *err)
{
    struct below below = { dest, each, context, err };
    const int code = store_list_directories(dest, visit_below, &below, err);

    return code == SHEAF_ERR_NOT_FOUND || code == SHEAF_ERR_UNSUPPORTED ? SHEAF_OK : code;
}

/* Whether it holds a data set that is the split of this name of the one in the directory above. */
int output_is_split(const char *directory, const char *name, bool *is, struct sheaf_error *err)
{
    struct manifest m;
    char *split;
    int code = output_read_manifest(directory, &m, err);

    *is = false;
    if (code != SHEAF_OK)       /* what cannot be parsed says nothing */
        return code == SHEAF_ERR_NOT_FOUND || code == SHEAF_ERR_CORRUPT ? SHEAF_OK : code;
    code = output_option(&m, "split_name", &split, err);
    *is = split != NULL && strcmp(split, name) == 0;
    free(split);
    manifest_clear(&m);
    return code;
}

static int remove_split(void *context, char *directory, const char *name,
                        struct sheaf_error *err)
{
    (void)name;
    return remove_replaced(*(const struct output *const *)context, directory, err);
}

/* Ends the removal that this run, or an earlier one, has begun. */
static int finish_removal(const struct output *o, struct sheaf_error *err)
{
    char *dest = strdup(o->dest);
    int code = dest == NULL ? err_memory(err, strlen(o->dest)) : remove_replaced(o, dest, err);

    if (code == SHEAF_OK)
        code = output_for_each_below(o->dest, remove_split, &o, err);
    free(dest);
    return code;
}

/* ---- Withdrawing manifests ------------------------------------------------------------------- */

static bool has_locks(const struct output *o)
{
    const struct store_ops *store = store_of(o->dest, NULL);

    return store != NULL && store->lock != NULL;
}

static int note_replaced(const struct output *o, const char *directory, struct sheaf_error *err)
{
    char *text = NULL;
    size_t size = 0;
    int code = get(directory, MANIFEST_NAME, &text, &size, err);

    if (code == SHEAF_OK)
        code = output_put_over(o, directory, STORE_PARTIAL "/" REPLACED_NAME, text, size, err);
    free(text);
    return code == SHEAF_ERR_NOT_FOUND ? SHEAF_OK : code;
}

/* Whether the data set there is of the run's own plan.  What cannot be parsed is what an earlier
 * run of this plan has put there, and the store has not kept: others' manifests were read before
 * they were claimed. */
static int is_own(const struct output *o, const char *directory, bool *is,
                  struct sheaf_error *err)
{
    struct manifest m;
    int code = output_read_manifest(directory, &m, err);

    *is = code == SHEAF_ERR_CORRUPT;
    if (code != SHEAF_OK)
        return code == SHEAF_ERR_CORRUPT ? SHEAF_OK : code;
    code = output_is_of_plan(o, &m, is, err);
    manifest_clear(&m);
    return code;
}

static int replace_manifest(const struct output *o, const char *url,
                            const struct store_seen *seen, struct sheaf_error *err)
{
    char text[512];
    struct store_seen now;
    int code = journal_check(&o->journal, err);

    if (code != SHEAF_OK)
        return code;
    if (has_locks(o))
        return seen->is_there ? store_remove_over(url, seen, err) : SHEAF_OK;
    snprintf(text, sizeof(text), MANIFEST_UNFINISHED, o->journal.plan.run);
    return store_put_over(url, text, strlen(text), seen, &now, err);
}

#define WITHDRAW_TRIES 5    /* of each at most one of those who had the place can be in the way */

static int withdraw(const struct output *o, const char *directory, bool keep_own,
                    struct sheaf_error *err)
{
    char *url = store_join(directory, MANIFEST_NAME);
    int code = SHEAF_ERR_CHANGED;

    if (url == NULL)
        return err_memory(err, strlen(directory));
    for (int i = 0; i < WITHDRAW_TRIES && code == SHEAF_ERR_CHANGED; i++) {
        struct manifest_look look;
        bool own = false;

        code = output_look_manifest(directory, &look, err);
        if (code == SHEAF_OK && look.is_dataset && keep_own)
            code = is_own(o, directory, &own, err);
        if (code == SHEAF_OK && look.is_dataset && !own)
            code = note_replaced(o, directory, err);
        if (code == SHEAF_OK)
            code = replace_manifest(o, url, &look.seen, err);
    }
    free(url);
    return code;
}

static bool is_of_run(const struct output *o, const char *name)
{
    for (uint32_t i = 0; i < o->split_count; i++)
        if (strcmp(o->journal.plan.splits[i], name) == 0)
            return true;
    return false;
}

/* Of a split that the run has not: nobody will replace what is put there. */
static int withdraw_split(void *context, char *directory, const char *name,
                          struct sheaf_error *err)
{
    const struct output *o = *(const struct output *const *)context;
    bool is;
    int code = output_is_split(directory, name, &is, err);

    if (code != SHEAF_OK || !is || is_of_run(o, name))
        return code;
    code = note_replaced(o, directory, err);
    return code == SHEAF_OK ? output_remove(o, directory, MANIFEST_NAME, err) : code;
}

/* Of a data set without splits that gives way to one with them. */
static int withdraw_whole(const struct output *o, struct sheaf_error *err)
{
    struct manifest_look look;
    int code;

    if (is_of_run(o, ""))
        return SHEAF_OK;
    code = output_look_manifest(o->dest, &look, err);
    if (code != SHEAF_OK || !look.seen.is_there)
        return code;
    code = look.is_dataset ? note_replaced(o, o->dest, err) : SHEAF_OK;
    return code == SHEAF_OK ? output_remove(o, o->dest, MANIFEST_NAME, err) : code;
}

/* ---- Shards by the journal ------------------------------------------------------------------- */

struct entries_removal {
    const struct output *output;
    bool own;                   /* those of the run's plan, or those of others */
};

/* The shard that an entry is of, whose name it begins with, but for its split's; sides first. */
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
        if (code == SHEAF_OK && !own.is_there)
            code = remove_entry_shard(o, directory, entry, err);
    }
    free(directory);
    free(split);
    return code;
}

static int remove_entry(void *context, const char *name, struct sheaf_error *err)
{
    const struct entries_removal *r = context;
    struct journal_entry entry = { .facts = { .bytes = 0 } };
    const char *suffix = strrchr(name, '.');
    int code;

    if (suffix == NULL || strcmp(suffix, ".done") != 0 ||
        journal_is_own(&r->output->journal, name) != r->own)
        return SHEAF_OK;
    code = journal_get_named(&r->output->journal, name, &entry, err);
    if (code == SHEAF_OK)
        code = remove_known(r->output, name, &entry, err);
    journal_entry_free(&entry);
    return code == SHEAF_OK || code == SHEAF_END ? journal_remove(&r->output->journal, name, err)
                                                 : code;
}

static int remove_entries(const struct output *o, bool own, struct sheaf_error *err)
{
    struct entries_removal removal = { o, own };

    return journal_list(o->dest, remove_entry, &removal, err);
}

/* ---- The whole ------------------------------------------------------------------------------- */

int output_clear_place(const struct output *o, bool keep_own, struct sheaf_error *err)
{
    int code = withdraw_whole(o, err);

    for (uint32_t i = 0; i < o->split_count && code == SHEAF_OK; i++)
        code = withdraw(o, o->directories[i], keep_own, err);
    if (code == SHEAF_OK)
        code = output_for_each_below(o->dest, withdraw_split, &o, err);
    if (code == SHEAF_OK)
        code = finish_removal(o, err);
    if (code == SHEAF_OK)
        code = remove_entries(o, false, err);
    if (code == SHEAF_OK && !keep_own)
        code = remove_entries(o, true, err);
    return code;
}

static int find_shard(void *context, const struct store_entry *entry)
{
    const struct output *o = context;
    const size_t size = strlen(o->prefix);

    return strncmp(entry->name, o->prefix, size) == 0 && entry->name[size] == '-' ? SHEAF_END
                                                                                : SHEAF_OK;
}

/* Whether nothing is left that a reader could take for shards: another run, which had lost the
 * place, can have put some there late.  The claim stays with those, so that they are refused. */
static bool is_clear(const struct output *o)
{
    int code = SHEAF_OK;

    for (uint32_t i = 0; i < o->split_count && !has_locks(o) && code == SHEAF_OK; i++) {
        code = store_list(o->directories[i], find_shard, (void *)(uintptr_t)o, NULL);
        code = code == SHEAF_ERR_NOT_FOUND ? SHEAF_OK : code;
    }
    return code == SHEAF_OK;
}

void output_abandon(const struct output *o, bool keep_shards)
{
    for (uint32_t i = 0; i < o->split_count; i++)
        journal_remove_temporaries(o->directories[i], NULL);
    if (keep_shards || o->is_visible || journal_check(&o->journal, NULL) != SHEAF_OK ||
        remove_entries(o, true, NULL) != SHEAF_OK || !is_clear(o))
        return;
    for (uint32_t i = 0; i < o->split_count; i++) {
        struct manifest_look look;

        if (output_look_manifest(o->directories[i], &look, NULL) != SHEAF_OK || look.is_dataset)
            return;
        if (look.seen.is_there)
            (void)output_remove(o, o->directories[i], MANIFEST_NAME, NULL);
    }
    journal_clear(&o->journal, NULL);
}
