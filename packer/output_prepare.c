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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/manifest.h"
#include "packer/output.h"
#include "packer/output_remove.h"
#include "packer/own_source.h"
#include "store/store.h"

/* ---- Files that belong to nobody ------------------------------------------------------------- */

/* The names of what does belong to somebody, a line each. */
struct sweep {
    const char *directory, *prefix, *split;
    struct buf known;
    struct sheaf_error *err;
};

/* The bytes of PREFIX-<digits>; 0 if a name is not PREFIX-<digits>.<...>. */
static size_t stem_of(const char *name, const char *prefix)
{
    const size_t size = strlen(prefix);
    size_t digits;

    if (strncmp(name, prefix, size) != 0 || name[size] != '-')
        return 0;
    digits = strspn(name + size + 1, "0123456789");
    return digits >= 6 && name[size + 1 + digits] == '.' ? size + 1 + digits : 0;
}

static int check_one(void *context, const struct store_entry *entry)
{
    const struct sweep *s = context;
    const size_t stem = stem_of(entry->name, s->prefix);
    char line[SHARD_NAME_BYTES + SPLIT_NAME_BYTES + 4];
    int size;

    if (stem == 0)
        return SHEAF_OK;
    size = snprintf(line, sizeof(line), "\n%s%s%.*s.", s->split, s->split[0] == '\0' ? "" : ".",
                    (int)stem, entry->name);
    if (s->known.size != 0 && memmem(s->known.data, s->known.size, line, (size_t)size) != NULL)
        return SHEAF_OK;
    return err_set(s->err, SHEAF_ERR_EXISTS,
                   "%s/%s: already exists, and belongs to no data set", s->directory,
                   entry->name);
}

static int know_entry(void *context, const char *name, struct sheaf_error *err)
{
    return buf_printf(&((struct sweep *)context)->known, err, "\n%s", name);
}

static int know_manifest(struct sweep *s, struct manifest *m, int code, struct sheaf_error *err)
{
    if (code != SHEAF_OK)
        return code == SHEAF_ERR_NOT_FOUND ? SHEAF_OK : code;
    for (size_t i = 0; i < m->shard_count && code == SHEAF_OK; i++)
        code = buf_printf(&s->known, err, "\n%s%s%s", s->split, s->split[0] == '\0' ? "" : ".",
                          m->shards[i].name);
    manifest_clear(m);
    return code;
}

/* What is there, and what is on its way out. */
static int know_data_sets(struct sweep *s, struct sheaf_error *err)
{
    struct manifest m;
    int code = know_manifest(s, &m, output_read_manifest(s->directory, &m, err), err);

    return code == SHEAF_OK ? know_manifest(s, &m, output_read_replaced(s->directory, &m, err), err)
                            : code;
}

/* Files of a shard's name that are no data set's, nor an unfinished run's, are in the way. */
static int look_for_others(const struct output *o, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (uint32_t i = 0; i < o->split_count && code == SHEAF_OK; i++) {
        struct sweep s = { o->directories[i], o->prefix, o->journal.plan.splits[i],
                           BUF_INIT(SIZE_MAX / 4), err };

        code = journal_list(o->dest, know_entry, &s, err);
        if (code == SHEAF_OK)
            code = know_data_sets(&s, err);
        if (code == SHEAF_OK)
            code = store_list(o->directories[i], check_one, &s, err);
        code = code == SHEAF_ERR_NOT_FOUND ? SHEAF_OK : code;
        buf_free(&s.known);
    }
    return code;
}

/* ---- Data sets ------------------------------------------------------------------------------- */

static int refuse_dataset(const char *directory, struct sheaf_error *err)
{
    return err_set(err, SHEAF_ERR_EXISTS, "%s: holds a data set already", directory);
}

/* Ends with SHEAF_ERR_EXISTS at the first. */
static int refuse_split(void *context, char *directory, const char *name,
                        struct sheaf_error *err)
{
    bool is;
    int code = output_is_split(directory, name, &is, err);

    (void)context;
    return code == SHEAF_OK && is ? refuse_dataset(directory, err) : code;
}

/* *dataset: the first directory with a data set; NULL if there is none. */
static int find_dataset(const struct output *o, const char **dataset, struct sheaf_error *err)
{
    struct manifest_look look;
    int code = output_look_manifest(o->dest, &look, err);

    *dataset = code == SHEAF_OK && look.is_dataset ? o->dest : NULL;
    for (uint32_t i = 0; i < o->split_count && code == SHEAF_OK && *dataset == NULL; i++) {
        code = output_look_manifest(o->directories[i], &look, err);
        *dataset = code == SHEAF_OK && look.is_dataset ? o->directories[i] : NULL;
    }
    return code;
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

static int split_is_finished(const struct output *o, const char *directory, bool whole,
                             bool *finished, struct sheaf_error *err)
{
    struct manifest m;
    int code = output_read_manifest(directory, &m, err);

    *finished = false;
    if (code != SHEAF_OK)
        return code == SHEAF_ERR_NOT_FOUND ? SHEAF_OK : code;
    code = output_is_of_plan(o, &m, finished, err);
    if (code == SHEAF_OK && *finished && whole)
        code = check_whole(directory, &m, err);
    manifest_clear(&m);
    return code;
}

int output_is_finished(const struct output *o, bool whole, bool *finished,
                       struct sheaf_error *err)
{
    bool every = true;
    int code = SHEAF_OK;

    for (uint32_t i = 0; i < o->split_count && every && code == SHEAF_OK; i++)
        code = split_is_finished(o, o->directories[i], whole, &every, err);
    *finished = code == SHEAF_OK && every;
    return code;
}

/* ---- Begin, go on, or replace ---------------------------------------------------------------- */

static int make_directories(const struct output *o, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (uint32_t i = 0; i < o->split_count && code == SHEAF_OK; i++)
        code = store_make_directory(o->directories[i], err);
    return code;
}

/* Whoever was here between the look and the claim is seen now, and nobody comes after it.  `clear`:
 * somebody may have been there whose claim is not known. */
static int look_again(struct output *o, bool clear, struct sheaf_error *err)
{
    const char *dataset;
    int code = find_dataset(o, &dataset, err);

    if (code == SHEAF_OK && dataset != NULL)
        code = refuse_dataset(dataset, err);
    if (code == SHEAF_OK)
        code = output_for_each_below(o->dest, refuse_split, NULL, err);
    if (code == SHEAF_OK)
        code = look_for_others(o, err);
    if (code == SHEAF_ERR_EXISTS)
        (void)journal_remove(&o->journal, PLAN_FILE, NULL);
    if (code == SHEAF_OK && clear)
        code = output_clear_place(o, true, err);
    if (code == SHEAF_OK)
        code = make_directories(o, err);
    return code == SHEAF_OK ? journal_ready(&o->journal, err) : code;
}

static int begin(struct output *o, const struct store_seen *seen, bool clear,
                 struct sheaf_error *err)
{
    int code = look_for_others(o, err);

    if (code == SHEAF_OK)
        code = journal_claim(&o->journal, seen, CLAIM_LOOKS, err);
    return code == SHEAF_OK ? look_again(o, clear, err) : code;
}

/* What there is to go on with. */
struct going {
    struct journal_plan plan;
    struct store_seen seen;
    bool has_claim, is_damaged, finished;
};

/* Whether there is anything that cannot be gone on with; changes nothing. */
static int check_go_on(const struct output *o, struct going *g, struct sheaf_error *err)
{
    const char *dataset;
    int code = journal_load(&o->journal, &g->plan, &g->seen, err);

    g->finished = false;
    g->has_claim = code == SHEAF_OK;
    g->is_damaged = code == SHEAF_ERR_CORRUPT;      /* it says of nobody that he has the place */
    if (code == SHEAF_OK && strcmp(g->plan.hash, o->journal.plan.hash) != 0)
        return err_set(err, SHEAF_ERR_CHANGED, "%s: the unfinished run had another plan (its "
                       "source or options have changed since, or it was for another "
                       "directory)", o->dest);
    if (code != SHEAF_END && !g->is_damaged)
        return code;
    code = find_dataset(o, &dataset, err);
    if (code != SHEAF_OK || dataset == NULL)
        return code == SHEAF_OK ? output_for_each_below(o->dest, refuse_split, NULL, err) : code;
    code = output_is_finished(o, true, &g->finished, err);
    if (code == SHEAF_OK && !g->finished)
        code = err_set(err, SHEAF_ERR_EXISTS, "%s: holds a data set of another plan",
                       dataset);
    return code;
}

/* The claim is of this plan.  A manifest of it is the run's own, and it was killed when only its
 * traces were left; what is damaged or gone is made anew. */
static int go_on_with(struct output *o, const struct journal_plan *plan,
                      const struct store_seen *seen, bool *finished, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    memcpy(o->journal.plan.run, plan->run, sizeof(plan->run));
    if (output_is_finished(o, true, finished, NULL) == SHEAF_OK && *finished) {
        for (uint32_t i = 0; i < o->split_count && code == SHEAF_OK; i++)
            code = store_sync(o->directories[i], err);
        return code == SHEAF_OK ? journal_clear(&o->journal, err) : code;
    }
    *finished = false;
    if (o->joins && plan->state == CLAIM_READY)
        return SHEAF_OK;
    code = journal_claim(&o->journal, seen, plan->state, err);
    if (code == SHEAF_OK && plan->state == CLAIM_LOOKS)
        return look_again(o, false, err);
    for (uint32_t i = 0; i < o->split_count && code == SHEAF_OK; i++)
        code = journal_remove_temporaries(o->directories[i], err);
    if (code == SHEAF_OK)
        code = output_clear_place(o, true, err);
    if (code == SHEAF_OK)
        code = make_directories(o, err);
    return code == SHEAF_OK ? journal_ready(&o->journal, err) : code;
}

static int go_on(struct output *o, bool *finished, struct sheaf_error *err)
{
    struct going g;
    const int code = check_go_on(o, &g, err);

    *finished = g.finished;
    if (code == SHEAF_OK && g.finished)
        return output_sweep(o, err);
    if (code != SHEAF_OK)
        return code;
    return g.has_claim ? go_on_with(o, &g.plan, &g.seen, finished, err)
                       : begin(o, &g.seen, g.is_damaged, err);
}

/* Whether what is to be replaced can be: a manifest that cannot be read says of nothing that it is
 * the data set's. */
static int check_manifest(const char *directory, struct sheaf_error *err)
{
    struct manifest m;
    const int code = output_read_manifest(directory, &m, err);

    if (code == SHEAF_OK)
        manifest_clear(&m);
    return code == SHEAF_ERR_NOT_FOUND ? SHEAF_OK : code;
}

static int check_replace(const struct output *o, struct sheaf_error *err)
{
    int code = check_manifest(o->dest, err);

    for (uint32_t i = 0; i < o->split_count && code == SHEAF_OK; i++)
        code = check_manifest(o->directories[i], err);
    return code == SHEAF_OK ? look_for_others(o, err) : code;
}

/* All that can refuse comes first; then the place is claimed; then what is there goes.  From the
 * claim on another run knows that this one is to be gone on with. */
static int replace(struct output *o, struct sheaf_error *err)
{
    struct journal_plan plan;
    struct store_seen seen;
    int code = journal_load(&o->journal, &plan, &seen, err);

    if (code == SHEAF_END || code == SHEAF_ERR_CORRUPT)
        code = SHEAF_OK;
    if (code == SHEAF_OK)
        code = journal_claim(&o->journal, &seen, CLAIM_REPLACES, err);
    for (uint32_t i = 0; i < o->split_count && code == SHEAF_OK; i++)
        code = journal_remove_temporaries(o->directories[i], err);
    if (code == SHEAF_OK)
        code = output_clear_place(o, false, err);
    if (code == SHEAF_OK)
        code = make_directories(o, err);
    return code == SHEAF_OK ? journal_ready(&o->journal, err) : code;
}

int output_look(const struct output *o, struct sheaf_error *err)
{
    const char *dataset;
    bool leftovers = false;
    int code = find_dataset(o, &dataset, err);

    if (code == SHEAF_OK && dataset != NULL)
        return refuse_dataset(dataset, err);
    if (code == SHEAF_OK)
        code = journal_has_leftovers(&o->journal, &leftovers, err);
    if (code == SHEAF_OK && leftovers)
        return err_set(err, SHEAF_ERR_EXISTS, "%s: holds the remains of an unfinished "
                                              "run", o->dest);
    if (code == SHEAF_OK)
        code = output_for_each_below(o->dest, refuse_split, NULL, err);
    return code == SHEAF_OK ? look_for_others(o, err) : code;
}

int output_check(struct output *o, bool resume, bool overwrite, struct sheaf_error *err)
{
    struct going g;
    int code = store_make_directory(o->dest, err);

    if (code == SHEAF_OK)
        code = refuse_own_source(o->dest, o->sources, o->source_count, err);
    if (code == SHEAF_OK && o->lock < 0)
        code = store_lock(o->dest, false, &o->lock, err);
    if (code != SHEAF_OK)
        return code;
    return resume ? check_go_on(o, &g, err) : overwrite ? check_replace(o, err)
                                                        : output_look(o, err);
}

int output_prepare(struct output *o, bool resume, bool overwrite, bool *finished,
                   struct sheaf_error *err)
{
    const struct store_seen nothing = { .is_there = false };
    const int code = output_check(o, resume, overwrite, err);

    *finished = false;
    if (code != SHEAF_OK)
        return code;
    if (resume)
        return go_on(o, finished, err);
    return overwrite ? replace(o, err) : begin(o, &nothing, false, err);
}
