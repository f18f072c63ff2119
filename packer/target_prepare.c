/* SPDX-License-Identifier: MIT
 *
 * What may be in DEST before a run, and what becomes of it.
 *
 *                          nothing    data set          unfinished run      files of that name
 *     (neither option)     begin      refuse            refuse              refuse
 *     resume               begin      of this plan:     of this plan:       refuse
 *                                     done; else        go on; else
 *                                     refuse            refuse
 *     overwrite            begin      remove, begin     remove, begin       refuse
 *
 * The splits of one data set are that data set, also where the run has none, or others.  Only what
 * a manifest or a journal says to be a data set's own is ever removed. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/manifest.h"
#include "formats/peers.h"
#include "packer/own_source.h"
#include "packer/target.h"
#include "store/store.h"

static int remove_file(const char *directory, const char *name, struct sheaf_error *err)
{
    char *url = store_join(directory, name);
    int code = url == NULL ? err_memory(err, strlen(name)) : store_remove(url, err);

    free(url);
    return code;
}

/* ---- Files by their names -------------------------------------------------------------------- */

struct sweep {
    const char *directory, *prefix;
    bool only_look;
    struct sheaf_error *err;
};

static bool is_named(const char *name, const char *prefix)
{
    const size_t size = strlen(prefix);
    size_t digits;

    if (strncmp(name, prefix, size) != 0 || name[size] != '-')
        return false;
    digits = strspn(name + size + 1, "0123456789");
    return digits >= 6 && name[size + 1 + digits] == '.';
}

static int sweep_one(void *context, const struct store_entry *entry)
{
    const struct sweep *s = context;

    if (!is_named(entry->name, s->prefix))
        return SHEAF_OK;
    if (s->only_look)
        return err_set(s->err, SHEAF_ERR_EXISTS,
                       "%s/%s: is there already, and belongs to no data set", s->directory,
                       entry->name);
    return remove_file(s->directory, entry->name, s->err);
}

int target_sweep(const char *directory, const char *prefix, bool only_look,
                 struct sheaf_error *err)
{
    struct sweep sweep = { directory, prefix, only_look, err };
    const int code = store_list(directory, sweep_one, &sweep, err);

    return code == SHEAF_ERR_NOT_FOUND ? SHEAF_OK : code;
}

/* ---- Data sets by their manifests ------------------------------------------------------------ */

/* What is being replaced: the manifest of the data set whose files are on their way out. */
#define REPLACED_NAME STORE_PARTIAL "/replaced.json"

static int read_manifest(const char *directory, const char *name, struct manifest *m,
                         struct sheaf_error *err)
{
    char *url = store_join(directory, name), *text = NULL;
    size_t size = 0;
    int code = url == NULL ? err_memory(err, strlen(directory))
                           : store_get(url, MANIFEST_LIMIT, &text, &size, err);

    if (code == SHEAF_OK) {
        code = manifest_parse(text, size, m, err);
        if (code != SHEAF_OK)
            err_prefix(err, "%s: ", url);
    }
    free(text);
    free(url);
    return code;
}

int target_read_manifest(const char *directory, struct manifest *m, struct sheaf_error *err)
{
    return read_manifest(directory, MANIFEST_NAME, m, err);
}

static bool has_manifest(const char *directory)
{
    char *url = store_join(directory, MANIFEST_NAME);
    uint64_t bytes;
    const bool has = url == NULL || store_size(url, &bytes, NULL) == SHEAF_OK;

    free(url);
    return has;
}

/* A string among the options that a manifest keeps, in memory of its own; or NULL. */
static char *option_of(const struct manifest *m, const char *name)
{
    json_t *options = m->options_json == NULL ? NULL : json_loads(m->options_json, 0, NULL);
    const char *text = json_string_value(json_object_get(options, name));
    char *copy = text == NULL ? NULL : strdup(text);

    json_decref(options);
    return copy;
}

static int refuse_dataset(const char *directory, struct sheaf_error *err)
{
    return err_set(err, SHEAF_ERR_EXISTS, "%s: holds a data set already", directory);
}

static int remove_put(void *context, const char *name, const void *data, size_t size,
                      struct sheaf_error *err)
{
    (void)data;
    (void)size;
    return remove_file(context, name, err);
}

static int remove_shard(char *directory, const struct manifest *m, size_t i,
                        struct peers_writer *peers, struct sheaf_error *err)
{
    const char *name = m->shards[i].name;
    char *names;
    int code = peers_finish_shard(peers, name, remove_put, directory, err);

    if (code == SHEAF_OK && (m->shards[i].names_bytes != 0 ||   /* or the shard is empty */
                             (m->ours && format_of(m->container)->has_names))) {
        if (asprintf(&names, "%.*s.lst", (int)peers_stem(m->container, m->codec, name), name) < 0)
            return err_memory(err, strlen(name));
        code = remove_file(directory, names, err);
        free(names);
    }
    return code == SHEAF_OK ? remove_file(directory, name, err) : code;
}

/* Removes the files of a data set that is being replaced, as REPLACED_NAME has it; nothing if there
 * is none.  That goes last, so that a run which was killed here is gone on with by the next. */
static int remove_replaced(char *directory, struct sheaf_error *err)
{
    struct peers_writer peers = { .peers = 0 };
    struct manifest m;
    char *list = NULL;
    int code = read_manifest(directory, REPLACED_NAME, &m, err);

    if (code != SHEAF_OK)
        return code == SHEAF_ERR_NOT_FOUND ? SHEAF_OK : code;
    list = option_of(&m, "index");
    code = peers_open(&peers, list, m.container, m.codec, err);
    if (code == SHEAF_OK)
        code = remove_file(directory, MANIFEST_NAME, err);
    for (size_t i = 0; i < m.shard_count && code == SHEAF_OK; i++)
        code = remove_shard(directory, &m, i, &peers, err);
    if (code == SHEAF_OK)
        code = peers_finish_dataset(&peers, &m, NULL, remove_put, directory, err);
    if (code == SHEAF_OK)
        code = remove_file(directory, INDEX_NAME, err);
    if (code == SHEAF_OK)
        code = remove_file(directory, SKIPPED_NAME, err);
    if (code == SHEAF_OK)
        code = remove_file(directory, REPLACED_NAME, err);
    peers_free(&peers);
    free(list);
    manifest_clear(&m);
    return code;
}

/* Notes what the data set that is to be removed consists of, if there is one. */
static int note_replaced(const char *directory, struct sheaf_error *err)
{
    char *from = store_join(directory, MANIFEST_NAME), *to = store_join(directory, REPLACED_NAME);
    char *text = NULL;
    size_t size = 0;
    int code = from == NULL || to == NULL ? err_memory(err, strlen(directory))
             : store_get(from, MANIFEST_LIMIT, &text, &size, err);

    if (code == SHEAF_OK)
        code = store_put(to, text, size, err);
    free(text);
    free(from);
    free(to);
    return code == SHEAF_ERR_NOT_FOUND ? SHEAF_OK : code;
}

/* ---- Splits of an earlier data set ----------------------------------------------------------- */

/* Called with the directories in DEST. */
typedef int below_fn(void *context, char *directory, const char *name, struct sheaf_error *err);

struct below {
    const char *dest;
    below_fn *each;
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

static int for_each_below(const char *dest, below_fn *each, void *context,
                          struct sheaf_error *err)
{
    struct below below = { dest, each, context, err };
    const int code = store_list_directories(dest, visit_below, &below, err);

    return code == SHEAF_ERR_NOT_FOUND || code == SHEAF_ERR_UNSUPPORTED ? SHEAF_OK : code;
}

/* Whether it holds a data set that is the split of this name of the one in the directory above. */
static int is_split(const char *directory, const char *name, bool *is, struct sheaf_error *err)
{
    struct manifest m;
    char *split;
    int code = target_read_manifest(directory, &m, err);

    *is = false;
    if (code != SHEAF_OK)       /* what cannot be parsed says nothing */
        return code == SHEAF_ERR_NOT_FOUND || code == SHEAF_ERR_CORRUPT ? SHEAF_OK : code;
    split = option_of(&m, "split_name");
    *is = split != NULL && strcmp(split, name) == 0;
    free(split);
    manifest_clear(&m);
    return SHEAF_OK;
}

/* Also of splits that the run has not. */
static int note_split(void *context, char *directory, const char *name, struct sheaf_error *err)
{
    bool is;
    int code = is_split(directory, name, &is, err);

    if (code != SHEAF_OK || !is)
        return code;
    *(bool *)context = true;
    return note_replaced(directory, err);
}

/* Ends with SHEAF_ERR_EXISTS at the first. */
static int refuse_split(void *context, char *directory, const char *name,
                        struct sheaf_error *err)
{
    bool is;
    int code = is_split(directory, name, &is, err);

    (void)context;
    return code == SHEAF_OK && is ? refuse_dataset(directory, err) : code;
}

static int remove_split(void *context, char *directory, const char *name,
                        struct sheaf_error *err)
{
    (void)context;
    (void)name;
    return remove_replaced(directory, err);
}

/* Ends the removal that this run, or an earlier one, has begun: takes the manifest away, without
 * which there is no data set, then the rest. */
static int finish_removal(struct target *o, struct sheaf_error *err)
{
    char *dest = strdup(o->dest);
    int code = dest == NULL ? err_memory(err, strlen(o->dest)) : remove_replaced(dest, err);

    if (code == SHEAF_OK)
        code = for_each_below(o->dest, remove_split, NULL, err);
    free(dest);
    return code;
}

/* ---- Begin, go on, or replace ---------------------------------------------------------------- */

/* Files that belong to nobody are in the way. */
static int look_for_others(const struct target *o, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (uint32_t i = 0; i < o->split_count && code == SHEAF_OK; i++)
        code = target_sweep(o->directories[i], o->prefix, true, err);
    return code;
}

static int begin(struct target *o, struct sheaf_error *err)
{
    int code = look_for_others(o, err);

    if (code == SHEAF_OK)
        code = journal_begin(&o->journal, err);
    for (uint32_t i = 0; i < o->split_count && code == SHEAF_OK; i++)
        code = store_make_directory(o->directories[i], err);
    return code;
}

/* The first directory with a data set; NULL if there is none. */
static const char *find_dataset(const struct target *o)
{
    if (has_manifest(o->dest))
        return o->dest;
    for (uint32_t i = 0; i < o->split_count; i++)
        if (has_manifest(o->directories[i]))
            return o->directories[i];
    return NULL;
}

/* That a finished data set has what its manifest says, as far as sizes tell. */
static int check_whole(const char *directory, const struct manifest *m, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (size_t i = 0; i <= m->shard_count && code == SHEAF_OK; i++) {
        const char *name = i < m->shard_count ? m->shards[i].name : INDEX_NAME;
        const uint64_t expected = i < m->shard_count ? m->shards[i].bytes : m->index_bytes;
        char *url = store_join(directory, name);
        uint64_t bytes;

        code = url == NULL ? err_memory(err, strlen(name)) : store_size(url, &bytes, err);
        if (code == SHEAF_OK && bytes != expected)
            code = err_set(err, SHEAF_ERR_CHANGED, "%s: has %llu bytes, but the manifest says "
                           "%llu", url,
                           (unsigned long long)bytes, (unsigned long long)expected);
        free(url);
    }
    return code;
}

int target_is_finished(const struct target *o, bool whole, bool *finished,
                       struct sheaf_error *err)
{
    *finished = true;
    for (uint32_t i = 0; i < o->split_count && *finished; i++) {
        struct manifest m;
        char *hash;
        int code = target_read_manifest(o->directories[i], &m, err);

        if (code != SHEAF_OK && code != SHEAF_ERR_NOT_FOUND)
            return code;
        hash = code == SHEAF_OK ? option_of(&m, "plan") : NULL;
        *finished = hash != NULL && strcmp(hash, o->plan_hash) == 0;
        free(hash);
        if (code == SHEAF_OK) {
            if (*finished && whole)
                code = check_whole(o->directories[i], &m, err);
            manifest_clear(&m);
            if (code != SHEAF_OK)
                return code;
        }
    }
    return SHEAF_OK;
}

static int go_on(struct target *o, bool *finished, struct sheaf_error *err)
{
    struct journal_plan plan;
    const char *dataset = find_dataset(o);
    int code = journal_load(&o->journal, &plan, err);

    if (code == SHEAF_OK && strcmp(plan.hash, o->journal.plan.hash) != 0)
        return err_set(err, SHEAF_ERR_CHANGED, "%s: the run that was not finished had another "
                       "plan (source or options have changed since, or it is of another "
                       "directory)",
                       o->dest);
    if (code == SHEAF_END && dataset != NULL) {
        code = target_is_finished(o, true, finished, err);
        if (code == SHEAF_OK && !*finished)
            code = err_set(err, SHEAF_ERR_EXISTS, "%s: holds a data set of another plan", dataset);
        return code;
    }
    /* What is to be replaced is noted, and by now gone: so this manifest is the run's own, and it
     * was killed when only its traces were left. */
    if (code == SHEAF_OK && dataset != NULL) {
        if (target_is_finished(o, true, finished, NULL) == SHEAF_OK && *finished)
            return journal_clear(&o->journal, err);
        *finished = false;      /* what is damaged or gone is made anew */
    }
    if (code != SHEAF_OK && code != SHEAF_END)
        return code;
    for (uint32_t i = 0; i < o->split_count; i++) {
        const int failed = journal_remove_temporaries(o->directories[i], err);

        if (failed != SHEAF_OK)
            return failed;
    }
    if (code == SHEAF_OK)
        return code;
    code = for_each_below(o->dest, refuse_split, NULL, err);
    return code == SHEAF_OK ? begin(o, err) : code;
}

/* Removes what an unfinished run has made, wherever its plan says that is. */
static int remove_run(struct target *o, struct sheaf_error *err)
{
    struct journal_plan plan;
    int code = journal_load(&o->journal, &plan, err);

    if (code == SHEAF_END || code == SHEAF_ERR_CORRUPT)
        plan = o->journal.plan;
    else if (code != SHEAF_OK)
        return code;
    code = SHEAF_OK;
    for (uint32_t i = 0; i < plan.split_count && code == SHEAF_OK; i++) {
        char *directory = plan.splits[i][0] == '\0' ? strdup(o->dest)
                                                    : store_join(o->dest, plan.splits[i]);

        if (directory == NULL)
            return err_memory(err, strlen(o->dest));
        code = target_sweep(directory, plan.prefix, false, err);
        if (code == SHEAF_OK)
            code = journal_remove_temporaries(directory, err);
        free(directory);
    }
    return code == SHEAF_OK ? journal_clear(&o->journal, err) : code;
}

/* Whether what is to be replaced can be: a manifest that cannot be read says of nothing that it is
 * the data set's. */
static int check_manifest(const char *directory, bool *any, struct sheaf_error *err)
{
    struct manifest m;
    int code;

    if (!has_manifest(directory))
        return SHEAF_OK;
    code = target_read_manifest(directory, &m, err);
    if (code == SHEAF_OK)
        manifest_clear(&m);
    *any = true;
    return code;
}

/* What is to be removed is noted, and the journal begun, before anything is removed: from then on
 * readers know that there is no data set, and another run that this one is to be gone on with. */
static int replace(struct target *o, struct sheaf_error *err)
{
    char *dest = strdup(o->dest);
    bool any = false;
    int code = dest == NULL ? err_memory(err, strlen(o->dest)) : SHEAF_OK;

    if (code == SHEAF_OK)
        code = check_manifest(dest, &any, err);
    for (uint32_t i = 0; i < o->split_count && code == SHEAF_OK; i++)
        code = check_manifest(o->directories[i], &any, err);
    if (code == SHEAF_OK && journal_has_leftovers(&o->journal))
        code = remove_run(o, err);
    if (code == SHEAF_OK)
        code = note_replaced(dest, err);
    for (uint32_t i = 0; i < o->split_count && code == SHEAF_OK; i++)
        code = note_replaced(o->directories[i], err);
    if (code == SHEAF_OK)
        code = for_each_below(o->dest, note_split, &any, err);
    if (code == SHEAF_OK && any)
        code = journal_begin(&o->journal, err);
    if (code == SHEAF_OK)
        code = finish_removal(o, err);
    free(dest);
    return code == SHEAF_OK ? begin(o, err) : code;
}

int target_look(const struct target *o, struct sheaf_error *err)
{
    const char *dataset = find_dataset(o);
    int code;

    if (dataset != NULL)
        return refuse_dataset(dataset, err);
    if (journal_has_leftovers(&o->journal))
        return err_set(err, SHEAF_ERR_EXISTS, "%s: holds what an unfinished run has left", o->dest);
    code = for_each_below(o->dest, refuse_split, NULL, err);
    return code == SHEAF_OK ? look_for_others(o, err) : code;
}

int target_prepare(struct target *o, bool resume, bool overwrite, bool *finished,
                   struct sheaf_error *err)
{
    int code;

    *finished = false;
    code = store_make_directory(o->dest, err);
    if (code == SHEAF_OK)
        code = refuse_own_source(o->dest, o->sources, o->source_count, err);
    if (code == SHEAF_OK)
        code = store_lock(o->dest, false, &o->lock, err);
    if (code != SHEAF_OK)
        return code;
    if (resume || overwrite) {
        code = finish_removal(o, err);
        if (code != SHEAF_OK)
            return code;
        return resume ? go_on(o, finished, err) : replace(o, err);
    }
    code = target_look(o, err);
    return code == SHEAF_OK ? begin(o, err) : code;
}
