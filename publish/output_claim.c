/* SPDX-License-Identifier: MIT
 *
 * Claims a destination for a run. What the run does depends on the state of the destination and on
 * the request of the caller (enum output_ask). All splits at the destination together count as one
 * data set, even if the splits of this run have other names. A file is removed only if a manifest
 * or a journal names it as a file of a data set. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/view.h"
#include "publish/destination.h"
#include "publish/output_remove.h"
#include "publish/own_source.h"
#include "publish/strays.h"
#include "store/store.h"

/* ---- The table ------------------------------------------------------------------------------- */

enum action {
    NEXT,                       /* this row does not decide */
    /* Refusals. */
    /* the run refuses the destination: its manifest cannot be read, or a file that the manifest
     * names is missing */
    FAULTY,
    FULL,                       /* refuse: there is a data set */
    OTHER,                      /* refuse: there is a data set of another plan */
    /* the run refuses to make an index, because Sheaf itself has packed this data set. A new
     * manifest would lose facts that are not in the shards, such as the names of classes. */
    OURS,
    /* the run refuses the destination: this process packs one part of a plan, but there is no run
     * that it could join */
    NO_RUN,
    O_RUN,                      /* refuse: the run there has another plan */
    /* the run refuses the destination: another run has claimed it. That run is still working, or
     * was killed before it had finished. */
    BUSY,
    PACKS,                      /* refuse: such a run, which packs */
    INDEXES,                    /* refuse: such a run, which makes an index or a table of keys */
    GROWS,                      /* refuse: such a run, which appends */
    BROKEN,                     /* refuse: the claim is damaged */
    /* the run refuses the destination: a file there has the name of a shard, but belongs to no data
     * set */
    ALIEN,
    /* the run refuses the destination: a file there has the name of a report, an index or a table
     * of keys of this run, but belongs to no data set */
    STRAY,
    /* the run refuses the destination: its name may belong to a view. A store without directories
     * can have a view and a data set of one name, and a reader would find only the view. */
    NAMED,
    /* Actions. */
    DONE,                       /* do nothing: the data set exists */
    /* the run only removes the remaining files of an earlier run, because that run has already
     * published this data set */
    END,
    RESUME,                     /* continue the run */
    JOIN,                       /* join the run */
    BEGIN,                      /* claim, and look again */
    /* A claim is the file that says which run packs here. The run replaces a damaged claim,
     * inspects the destination again, and removes the remains of other runs. */
    MEND,
    CLEAR,                      /* claim, and remove the present content */
    GROW,                       /* claim, and look at the data set again */
    /* claim the destination in order to append; keep the samples that an earlier run of this plan
     * has already appended */
    G_ON,
    /* claim the destination in order to append; first remove the samples that an unfinished run has
     * appended */
    G_ANEW,
    INDEX,                      /* claim; nothing is removed before the index is made */
};

/* Returns whether the name of the destination may belong to a view. In a local file system, the
 * directory of a data set and a view cannot have the same name, so each name is allowed. Slashes at
 * the end are ignored, because a reader may leave them out. */
static bool has_name_of_view(const char *dest)
{
    char end[sizeof("/" MANIFEST_NAME) + 1];
    size_t size = strlen(dest), shown;

    if (store_is_local(dest))
        return false;
    while (size > 1 && dest[size - 1] == '/')
        size--;
    shown = MIN(size, sizeof(end) - 1);
    snprintf(end, sizeof(end), "%.*s", (int)shown, dest + size - shown);
    return view_is_name(end);
}

#define IS(name, expression)                                                                     \
    static bool name(const struct output *o, const struct destination *d)                        \
    {                                                                                            \
        (void)o, (void)d;                                                                        \
        return expression;                                                                       \
    }

IS(is_always, true)
IS(is_finished, d->is_finished)
IS(is_published, d->claim == CLAIM_OF_PLAN && d->is_finished)
IS(is_faulty, d->fault.code != SHEAF_OK)
IS(is_grown, d->grown_from != 0)
IS(is_broken, d->claim == CLAIM_DAMAGED)
IS(has_own, d->claim == CLAIM_OF_PLAN)
IS(has_own_ready, d->claim == CLAIM_OF_PLAN && d->holder.state == CLAIM_READY)
IS(has_own_growing, d->claim == CLAIM_OF_PLAN && d->holder.state == CLAIM_GROWS)
IS(has_other, d->claim == CLAIM_OF_OTHER_PLAN)
IS(has_growing, d->claim > CLAIM_DAMAGED && d->holder.state == CLAIM_GROWS)
IS(has_indexing, d->claim > CLAIM_DAMAGED && d->holder.state == CLAIM_INDEXES)
IS(has_dead_indexing, has_indexing(o, d) && o->lock >= 0)       /* the lock shows that it is dead */
IS(has_run, d->claim > CLAIM_DAMAGED)
IS(has_dataset, d->dataset != NULL)
IS(has_ours, d->is_ours)
IS(has_leftovers, d->has_leftovers)
IS(has_alien, d->unknown != NULL)
IS(has_stray, d->stray != NULL)
IS(is_new_view_name, d->dataset == NULL && has_name_of_view(o->dest))

/* The facts about a destination that are inspected first for each request (enum output_ask).
 * Further facts are inspected only if a row of the table `rows` needs them, because each inspection
 * costs requests to the store.
 *
 * The claim, the file that says which run packs here, is inspected before the data set. A run
 * removes its claim only after its data set has become visible. So a run that commits between the
 * two inspections is not missed. */
#define USUAL (INSPECT_CLAIM | INSPECT_DATASET)
#define NAMES (INSPECT_FILES | INSPECT_STRAY)
static const unsigned firsts[ASKS] = {
    [ASK_PACK] = INSPECT_DATASET | NAMES, [ASK_RESUME] = USUAL | INSPECT_WHOLE,
    [ASK_REPLACE] = USUAL | INSPECT_FILES, [ASK_JOIN] = USUAL | INSPECT_WHOLE,
    [ASK_GROW] = USUAL | NAMES, [ASK_GROW_RESUME] = USUAL, [ASK_GROW_REPLACE] = USUAL,
    [ASK_INDEX] = USUAL, [ASK_INDEX_REPLACE] = USUAL, [ASK_KEYS] = USUAL,
};

/* The table of actions. To find the action for a request, the rows are tried in order. A row
 * applies if its condition is() is true and its action for the request is not NEXT. `needs` says
 * which facts is() uses. These facts are inspected when the search reaches the row.
 *
 * The columns are the requests in the order of enum output_ask:
 * - for a new data set: pack, resume, replace, join;
 * - for an append or edit: begin, resume, replace;
 * - for an index: make, replace;
 * - for a table of keys: make. */
static const struct row {
    bool (*is)(const struct output *output, const struct destination *found);
    unsigned needs;
    unsigned char actions[ASKS];
} rows[] = {
    { is_published, 0,
      { NEXT,   END,    NEXT,   DONE,   NEXT,   NEXT,   NEXT,   NEXT,   NEXT,   NEXT } },
    { has_other, 0,
      { NEXT,   O_RUN,  NEXT,   NEXT,   NEXT,   NEXT,   NEXT,   NEXT,   NEXT,   NEXT } },
    { has_own, 0,
      { NEXT,   RESUME, NEXT,   NEXT,   NEXT,   NEXT,   NEXT,   NEXT,   NEXT,   NEXT } },
    { is_finished, 0,
      { NEXT,   DONE,   NEXT,   DONE,   NEXT,   NEXT,   NEXT,   NEXT,   NEXT,   NEXT } },
    { is_faulty, 0,
      { NEXT,   FAULTY, FAULTY, FAULTY, FAULTY, FAULTY, FAULTY, FAULTY, FAULTY, FAULTY } },
    { is_grown, 0,
      { NEXT,   NEXT,   NEXT,   NO_RUN, NEXT,   NEXT,   NEXT,   NEXT,   NEXT,   NEXT } },
    { has_own_ready, 0,
      { NEXT,   NEXT,   NEXT,   JOIN,   NEXT,   NEXT,   NEXT,   NEXT,   NEXT,   NEXT } },
    { is_always, 0,
      { NEXT,   NEXT,   NEXT,   NO_RUN, NEXT,   NEXT,   NEXT,   NEXT,   NEXT,   NEXT } },
    { has_ours, 0,
      { NEXT,   NEXT,   NEXT,   NEXT,   NEXT,   NEXT,   NEXT,   FULL,   OURS,   NEXT } },
    { has_dead_indexing, 0,
      { NEXT,   NEXT,   NEXT,   NEXT,   INDEXES, INDEXES, INDEXES, INDEX, INDEX, INDEX } },
    { has_indexing, 0,
      { NEXT,   NEXT,   NEXT,   NEXT,   INDEXES, INDEXES, INDEXES, BUSY, INDEX, INDEX } },
    { is_broken, 0,
      { NEXT,   NEXT,   NEXT,   NEXT,   BROKEN, BROKEN, G_ANEW, BROKEN, BROKEN, BROKEN } },
    { has_own_growing, 0,
      { NEXT,   NEXT,   NEXT,   NEXT,   GROWS,  G_ON,   G_ANEW, BUSY,   BUSY,   BUSY } },
    { has_growing, 0,
      { NEXT,   NEXT,   NEXT,   NEXT,   GROWS,  O_RUN,  G_ANEW, BUSY,   BUSY,   BUSY } },
    { has_run, 0,
      { NEXT,   NEXT,   NEXT,   NEXT,   PACKS,  PACKS,  PACKS,  BUSY,   BUSY,   BUSY } },
    { has_dataset, 0,
      { FULL,   OTHER,  NEXT,   NEXT,   NEXT,   NEXT,   NEXT,   FULL,   NEXT,   NEXT } },
    { has_leftovers, NAMES,
      { BUSY,   NEXT,   NEXT,   NEXT,   BUSY,   BUSY,   BUSY,   NEXT,   NEXT,   NEXT } },
    { has_dataset, INSPECT_FILES,       /* a split of a run that had other splits */
      { FULL,   FULL,   NEXT,   NEXT,   NEXT,   NEXT,   NEXT,   NEXT,   NEXT,   NEXT } },
    { has_alien, INSPECT_FILES,
      { ALIEN,  ALIEN,  ALIEN,  NEXT,   ALIEN,  ALIEN,  ALIEN,  NEXT,   NEXT,   NEXT } },
    { is_new_view_name, 0,
      { NAMED,  NAMED,  NAMED,  NEXT,   NEXT,   NEXT,   NEXT,   NAMED,  NAMED,  NEXT } },
    { is_broken, 0,                     /* stray files may be that run's */
      { NEXT,   MEND,   NEXT,   NEXT,   NEXT,   NEXT,   NEXT,   NEXT,   NEXT,   NEXT } },
    { has_stray, INSPECT_STRAY,
      { STRAY,  STRAY,  NEXT,   NEXT,   STRAY,  STRAY,  NEXT,   STRAY,  NEXT,   NEXT } },
    { is_always, 0,
      { BEGIN,  BEGIN,  CLEAR,  NEXT,   GROW,   GROW,   GROW,   INDEX,  INDEX,  INDEX } },
};

static int output_claim_decide(const struct output *o, enum output_ask ask, struct destination *d,
                               enum action *action, struct sheaf_error *err)
{
    unsigned inspected = firsts[ask];
    int code = destination_inspect(o, inspected, d, err);

    for (size_t i = 0; code == SHEAF_OK; i++) {
        const struct row *row = &rows[i];

        *action = (enum action)row->actions[ask];
        if (*action == NEXT)
            continue;
        code = destination_inspect(o, row->needs & ~inspected, d, err);
        inspected |= row->needs;
        if (code == SHEAF_OK && row->is(o, d))
            break;
    }
    if (code == SHEAF_OK && *action == BUSY)        /* the refusal names the run's holder */
        code = destination_inspect(o, INSPECT_CLAIM & ~inspected, d, err);
    return code;
}

/* ---- Refusals -------------------------------------------------------------------------------- */

static int refuse_run(const struct output *o, const struct destination *d, const char *what,
                      struct sheaf_error *err)
{
    return err_because(err, err_set(err, SHEAF_ERR_EXISTS, "%s: %s (%s)", o->dest, what,
                                    d->holder.holder),
                       d->holder.state == CLAIM_GROWS ? SHEAF_REASON_UNFINISHED
                                                      : SHEAF_REASON_NONE);
}

static int refuse_name(const struct output *o, struct sheaf_error *err)
{
    return err_set(err, SHEAF_ERR_ARGUMENT, "%s: a name that ends with .view or .json is the name "
                   "of a view: choose another name for the data set", o->dest);
}

static int output_claim_refuse(const struct output *o, enum action action,
                               const struct destination *d, struct sheaf_error *err)
{
    switch (action) {
    case FAULTY: return destination_refuse(o, d, REFUSE_FAULT, err);
    case FULL:   return destination_refuse(o, d, REFUSE_DATASET, err);
    case OTHER:  return destination_refuse(o, d, REFUSE_OTHER_DATASET, err);
    case OURS:   return destination_refuse(o, d, REFUSE_OURS, err);
    case BUSY:   return destination_refuse_run(o, d, err);
    case ALIEN:  return destination_refuse(o, d, REFUSE_UNKNOWN, err);
    case STRAY:  return destination_refuse(o, d, REFUSE_STRAY, err);
    case NAMED:  return refuse_name(o, err);
    case NO_RUN: return destination_refuse_no_run(o, d, err);
    case O_RUN:  return destination_refuse_other_run(o, d, err);
    case BROKEN: return destination_refuse_damaged(o, err);
    case PACKS:  return refuse_run(o, d, "a run that packs it has not finished", err);
    case INDEXES: return refuse_run(o, d, "a run of sheaf index has not finished; if it has ended, "
                                    "run it again", err);
    case GROWS:  return refuse_run(o, d, "another run changes it, or was interrupted", err);
    default:     return SHEAF_OK;
    }
}

/* ---- Begin, resume, or replace --------------------------------------------------------------- */

static int output_claim_do(struct output *o, const struct destination *d, enum claim_state state,
                           struct sheaf_error *err)
{
    return journal_claim(&o->journal, &d->claim_seen, d->holder.run, state, err);
}

static int make_ready(struct output *o, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (uint32_t i = 0; i < o->split_count && code == SHEAF_OK; i++)
        code = store_make_directory(o->directories[i], &o->journal.made, err);
    return code == SHEAF_OK ? journal_state(&o->journal, CLAIM_READY, err) : code;
}

/* Removes all data sets and the remains of all runs from the destination. If keep_own is true,
 * files of this run's plan stay. */
static int clear(struct output *o, bool keep_own, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (uint32_t i = 0; i < o->split_count && code == SHEAF_OK; i++)
        code = journal_remove_temporaries(o->directories[i], err);
    return code == SHEAF_OK ? output_clear(o, keep_own, err) : code;
}

/* Checks the destination again after this run has claimed it. Fails if the destination has a data
 * set, or files that belong to no data set. Another run may have written them between the first
 * inspection and the claim. From now on, no other run can write files without replacing the claim,
 * the file that says which run packs here. */
static int check_claimed(struct output *o, bool is_mending, struct sheaf_error *err)
{
    const unsigned files = INSPECT_FILES | (is_mending ? 0 : INSPECT_STRAY);
    struct destination d = { .claim = CLAIM_ABSENT };
    int code = destination_inspect(o, INSPECT_DATASET | files, &d, err);

    if (code == SHEAF_OK)
        code = destination_refuse(o, &d, REFUSE_DATASET | REFUSE_UNKNOWN | REFUSE_STRAY, err);
    if (code == SHEAF_ERR_EXISTS || code == SHEAF_ERR_CORRUPT)
        (void)journal_release(&o->journal, NULL);
    destination_clear(&d);
    return code;
}

/* Claims the destination and begins a run. The claim is the file that says which run packs here. If
 * is_mending is set, the earlier claim is damaged. It is then unknown which run made that claim, so
 * the remains of all runs are removed. */
static int output_claim_begin(struct output *o, const struct destination *d, bool is_mending,
                              struct sheaf_error *err)
{
    int code = output_claim_do(o, d, CLAIM_LOOKS, err);

    if (code == SHEAF_OK)
        code = check_claimed(o, is_mending, err);
    if (code == SHEAF_OK && is_mending)
        code = output_clear(o, true, err);
    return code == SHEAF_OK ? make_ready(o, err) : code;
}

/* Finishes a run that was killed after it had published its data set: removes the files that are
 * left in its journal. */
static int output_claim_end(struct output *o, const struct destination *d, struct sheaf_error *err)
{
    int code = journal_join(&o->journal, &d->holder, err);

    for (uint32_t i = 0; i < o->split_count && code == SHEAF_OK; i++)
        code = store_sync(o->directories[i], err);
    return code == SHEAF_OK ? output_end(o, err) : code;
}

/* Continues an unfinished run of this plan. Shards that are damaged or missing will be packed
 * again. */
static int resume(struct output *o, const struct destination *d, struct sheaf_error *err)
{
    const enum claim_state state = d->holder.state;
    int code;

    if (o->journal.stores_plan && state == CLAIM_READY)
        return journal_join(&o->journal, &d->holder, err);
    code = output_claim_do(o, d, state, err);
    if (code == SHEAF_OK)
        code = state == CLAIM_LOOKS ? check_claimed(o, false, err) : clear(o, true, err);
    return code == SHEAF_OK ? make_ready(o, err) : code;
}

/* Replaces the data set at the destination: claims the destination, then removes the old files. The
 * caller has already checked all reasons to refuse. The claim, the file that says which run packs
 * here, is written first. So another run can continue if this run is killed while it removes
 * files. */
static int replace(struct output *o, const struct destination *d, struct sheaf_error *err)
{
    int code = output_claim_do(o, d, CLAIM_REPLACES, err);

    if (code == SHEAF_OK)
        code = clear(o, false, err);
    return code == SHEAF_OK ? make_ready(o, err) : code;
}

/* ---- Append ---------------------------------------------------------------------------------- */

static int refuse_changed(const struct output *o, struct sheaf_error *err)
{
    return err_set(err, SHEAF_ERR_CHANGED, "%s: the data set has grown or was replaced meanwhile: "
                   "run this again", o->dest);
}

/* Changes the manifest without changing its meaning, by adding or removing a newline at its end. An
 * earlier run may already have read the manifest and be about to replace it. That run then notices
 * the change and fails. */
static int touch(const struct output *o, const struct manifest_found *f, struct sheaf_error *err)
{
    char *url = store_join(o->dest, MANIFEST_NAME), *text = malloc(f->size + 1);
    const bool has_end = f->size != 0 && f->text[f->size - 1] == '\n';
    struct store_seen now;
    int code = url == NULL || text == NULL ? err_memory(err, f->size) : SHEAF_OK;

    if (code == SHEAF_OK) {
        memcpy(text, f->text, f->size);
        text[f->size] = '\n';
        code = journal_put_file(&o->journal, url, text, has_end ? f->size - 1 : f->size + 1,
                                f->note[0] == '\0' ? NULL : f->note, &f->seen, &now, err);
    }
    free(text);
    free(url);
    return code == SHEAF_ERR_CHANGED ? refuse_changed(o, err) : code;
}

/* Checks that the data set is still the one that this run has opened. Must be called after this run
 * has written its claim (the file that says which run packs here). From then on, no other run can
 * change the data set, so one check is enough. */
static int output_claim_check_same(const struct output *o, bool was_claimed,
                                   struct sheaf_error *err)
{
    struct manifest_found f;
    int code = destination_manifest(o, o->dest, &f, err);

    if (code == SHEAF_OK && (f.kind < MANIFEST_OF_OTHER_PLAN ||
                             strcmp(f.manifest.fingerprint, o->grows->fingerprint) != 0))
        code = refuse_changed(o, err);
    else if (code == SHEAF_OK && was_claimed && o->journal.stage == NULL)
        code = touch(o, &f, err);
    manifest_found_free(&f);
    return code;
}

/* Begins to append to a data set or to edit it. If keep_own is true, samples that a run of this
 * plan has already appended stay. */
static int output_claim_grow(struct output *o, const struct destination *d, bool keep_own,
                             struct sheaf_error *err)
{
    const bool was_claimed = d->claim != CLAIM_ABSENT;
    int code = output_claim_do(o, d, CLAIM_GROWS, err);

    if (code == SHEAF_OK) {
        code = output_claim_check_same(o, was_claimed, err);
        if (code != SHEAF_OK && !was_claimed)
            (void)journal_clear(&o->journal, NULL);
    }
    return code == SHEAF_OK && was_claimed ? output_remove_appended(o, keep_own, err) : code;
}

/* ---- The whole ------------------------------------------------------------------------------- */

static int output_claim_act(struct output *o, enum action action, const struct destination *d,
                            struct sheaf_error *err)
{
    o->continues = action == RESUME || action == G_ON;
    switch (action) {
    case DONE:   return o->is_shared ? SHEAF_OK : output_sweep(o, err);
    case END:    return output_claim_end(o, d, err);
    case RESUME: return resume(o, d, err);
    case JOIN:   return journal_join(&o->journal, &d->holder, err);
    case BEGIN:  return output_claim_begin(o, d, false, err);
    case MEND:   return output_claim_begin(o, d, true, err);
    case CLEAR:  return replace(o, d, err);
    case GROW:   return output_claim_grow(o, d, false, err);
    case G_ON:   return output_claim_grow(o, d, true, err);
    case G_ANEW: return output_claim_grow(o, d, false, err);
    case INDEX:  return output_claim_do(o, d, CLAIM_INDEXES, err);
    default:     return SHEAF_OK;
    }
}

static int output_claim_look(const struct output *o, enum output_ask ask, struct destination *d,
                             enum action *action, struct sheaf_error *err)
{
    const int code = output_claim_decide(o, ask, d, action, err);

    return code == SHEAF_OK ? output_claim_refuse(o, *action, d, err) : code;
}

static int output_claim_take_lock(struct output *o, enum output_ask ask, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    if (ask <= ASK_REPLACE) {
        code = store_make_directory(o->dest, &o->journal.made, err);
        if (code == SHEAF_OK)
            code = refuse_own_source(o->dest, o->sources, o->source_count, err);
    }
    if (code == SHEAF_OK && ask != ASK_JOIN && o->lock < 0)
        code = store_lock(o->dest, false, &o->lock, err);
    o->is_shared = ask == ASK_JOIN;
    return code;
}

int output_look(const struct output *o, enum output_ask ask, struct sheaf_error *err)
{
    struct destination d = { .claim = CLAIM_ABSENT };
    enum action action;
    const int code = output_claim_look(o, ask, &d, &action, err);

    destination_clear(&d);
    return code;
}

int output_check(struct output *o, enum output_ask ask, struct sheaf_error *err)
{
    const int code = output_claim_take_lock(o, ask, err);

    return code == SHEAF_OK ? output_look(o, ask, err) : code;
}

int output_claim(struct output *o, enum output_ask ask, bool *finished, struct sheaf_error *err)
{
    struct destination d = { .claim = CLAIM_ABSENT };
    enum action action = NEXT;
    int code = output_claim_take_lock(o, ask, err);

    if (code == SHEAF_OK)
        code = output_claim_look(o, ask, &d, &action, err);
    *finished = code == SHEAF_OK && (action == DONE || action == END);
    if (code == SHEAF_OK)
        code = output_claim_act(o, action, &d, err);
    if (code == SHEAF_OK && (ask == ASK_REPLACE || ask == ASK_GROW_REPLACE ||
                             ask == ASK_INDEX_REPLACE))
        code = strays_remove(o, ask != ASK_INDEX_REPLACE && !o->is_edit, err);
    destination_clear(&d);
    return code;
}
