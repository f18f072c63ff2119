/* SPDX-License-Identifier: MIT
 *
 * A model checker of publication. The real packer writes to a store that keeps its files in memory.
 * Two runs take turns: each is stopped at some of its calls to the store, and there it is killed or
 * later continued. Or there is one run, and one of its calls fails. After each change, a reader
 * must see a complete data set or be refused:
 *
 *     a manifest        all shards, sides and the index are there, as the manifest says
 *     no manifest       there are no shards either, or a claim says that a run is at work
 *     a column          if it has a manifest, all its shards and its index are there
 *     a view            its whole document is there, and no data set has its name
 *
 * The result that a run reports at its end must be true. The next run that overwrites must repair
 * everything.
 *
 *     test_fence                      some random interleavings; those in which a run that appends
 *                                     or indexes is held before it publishes; each failing call
 *     test_fence COUNT PART PARTS     a part of COUNT interleavings: of all in which each run is
 *                                     stopped once, and then of random ones with more stops
 *
 * SEED repeats the random ones; SCENE is the number of the only scene that is tried. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/rng.h"
#include "formats/manifest.h"
#include "sheaf.h"
#include "tests/common_actors.h"
#include "tests/common_model_store.h"
#include "tests/common_must.h"
#include "tests/common_random.h"
#include "tests/common_seen.h"

#define CASES       1500u
/* with QUICK, because a sanitizer makes each case fifteen times as slow */
#define QUICK_CASES 100u
#define QUICK_CALLS 4u          /* with QUICK, only every fourth call of the store fails */
/* no run makes more calls, so a run can be stopped at each of its calls */
#define CALLS_MOST 160u
#define TURNS_MOST 6            /* three turns of each run */
/* one of this many cases includes the recovery, which takes as long as the case */
#define RECOVERED  8u

static struct sheaf_error error;
static uint64_t cases_wanted = CASES, cases_done;
static uint32_t part, parts = 1;
static bool is_campaign;
static uint64_t published;      /* number of the manifest that was seen last */
static uint64_t view_published; /* number of the view that was seen last */
static bool view_may_change = true;     /* whether a run may replace the view */
static uint64_t column_published;       /* number of the column's manifest that was seen last */
/* number of the last call of the first run that has changed a manifest or the view */
static uint32_t publishing;
static size_t first_scene, scene_count;

/* ---- Cases ----------------------------------------------------------------------------------- */

enum place {
    EMPTY, FULL_ONE, FULL_TWO, PLANNED, PACKED,
    FOREIGN, INDEXED,           /* shards of another program, without and with an index */
    COLUMNED,                   /* like FULL_ONE, with the column of tree 0 */
    DROPPED,                    /* like COLUMNED, and then the column was dropped */
    COLUMN_PLANNED,             /* like FULL_ONE, with the plan of a column */
    COLUMN_PACKED,              /* and all its parts are written */
    VIEWED,                     /* like FULL_ONE, with view 0 */
    /* like FULL_ONE, and the directory with the name of the view has shards of another program */
    FOREIGN_AT_VIEW,
    FULL_AT_VIEW,               /* like FULL_ONE, and a copy of its data set has that name */
    PLACES
};

static struct model_state *all_places[MODEL_KINDS][PLACES], **places = all_places[0];

/* Chooses the kind of store, and the initial places that runs have made with this kind of store. */
static void use(enum model_kind kind)
{
    model_use(kind);
    places = all_places[kind];
}

static const struct {
    enum place place;
    struct step first, second;
    bool differ;                /* whether the second run sees one file less */
} scenes[] = {
    { EMPTY, { PACK, 0 }, { PACK, 1 }, false },
    { EMPTY, { PACK, 0 }, { OVERWRITE, 1 }, false },
    { EMPTY, { OVERWRITE, 0 }, { OVERWRITE, 1 }, false },
    { EMPTY, { PACK, 0 }, { RESUME, 0 }, false },
    { FULL_ONE, { OVERWRITE, 1 }, { OVERWRITE, 0 }, false },
    { FULL_ONE, { OVERWRITE, 1 }, { OVERWRITE, 1 }, false },
    { FULL_ONE, { OVERWRITE, 0 }, { OVERWRITE, 1 }, false },
    { FULL_ONE, { OVERWRITE, 1 }, { RESUME, 1 }, false },
    { FULL_TWO, { OVERWRITE, 0 }, { RESUME, 1 }, false },
    { PLANNED, { PART, 0 }, { OVERWRITE, 1 }, false },
    { PLANNED, { PART, 0 }, { PART, 0 }, false },
    { PLANNED, { PART, 0 }, { PART, 0 }, true },
    { PLANNED, { PART, 0 }, { RESUME, 0 }, false },
    { PACKED, { COMMIT, 0 }, { COMMIT, 0 }, false },
    { PACKED, { COMMIT, 0 }, { OVERWRITE, 1 }, false },
    { PACKED, { COMMIT, 0 }, { OVERWRITE, 0 }, false },
    { PACKED, { COMMIT, 0 }, { PART, 0 }, true },
    { PACKED, { PART, 0 }, { COMMIT, 0 }, false },
    { FULL_ONE, { APPEND, 2 }, { APPEND, 3 }, false },
    { FULL_ONE, { APPEND, 2 }, { APPEND_OVERWRITE, 3 }, false },
    { FULL_ONE, { APPEND, 2 }, { APPEND_RESUME, 2 }, false },
    { FULL_ONE, { APPEND_OVERWRITE, 2 }, { APPEND_OVERWRITE, 3 }, false },
    { FULL_ONE, { APPEND, 2 }, { OVERWRITE, 1 }, false },
    { FULL_ONE, { OVERWRITE, 1 }, { APPEND, 2 }, false },
    { FULL_ONE, { EDIT, 0 }, { EDIT, 1 }, false },
    { FULL_ONE, { EDIT, 0 }, { EDIT_OVERWRITE, 1 }, false },
    { FULL_ONE, { EDIT, 0 }, { EDIT_RESUME, 0 }, false },
    { FULL_ONE, { EDIT, 0 }, { APPEND, 2 }, false },
    { FULL_ONE, { EDIT, 0 }, { APPEND_OVERWRITE, 2 }, false },
    { FULL_ONE, { APPEND, 2 }, { EDIT, 0 }, false },
    { FULL_ONE, { APPEND, 2 }, { EDIT_OVERWRITE, 1 }, false },
    { FULL_ONE, { EDIT, 0 }, { OVERWRITE, 1 }, false },
    { FULL_ONE, { OVERWRITE, 1 }, { EDIT, 0 }, false },
    { FULL_ONE, { KEYS, 0 }, { EDIT, 0 }, false },
    { FULL_ONE, { KEYS, 0 }, { OVERWRITE, 1 }, false },
    { FULL_ONE, { KEYS, 0 }, { APPEND, 2 }, false },
    { FULL_ONE, { KEYS, 0 }, { KEYS, 0 }, false },
    { FULL_ONE, { INDEX_OVERWRITE, 0 }, { APPEND, 2 }, false },
    { FOREIGN, { INDEX, 0 }, { INDEX, 0 }, false },
    { FOREIGN, { INDEX, 0 }, { INDEX_OVERWRITE, 0 }, false },
    { FOREIGN, { INDEX, 0 }, { PACK, 1 }, false },
    { FOREIGN, { INDEX, 0 }, { OVERWRITE, 1 }, false },
    { INDEXED, { INDEX_OVERWRITE, 0 }, { INDEX_OVERWRITE, 0 }, false },
    { INDEXED, { INDEX_OVERWRITE, 0 }, { OVERWRITE, 1 }, false },
    { INDEXED, { KEYS, 0 }, { INDEX_OVERWRITE, 0 }, false },
    { FULL_ONE, { COLUMN, 0 }, { COLUMN, 0 }, false },
    { FULL_ONE, { COLUMN, 0 }, { COLUMN, 1 }, false },
    { FULL_ONE, { COLUMN, 0 }, { COLUMN_RESUME, 0 }, false },
    { FULL_ONE, { COLUMN, 0 }, { COLUMN_RESUME, 1 }, false },
    { FULL_ONE, { COLUMN, 0 }, { COLUMN_DROP, 0 }, false },
    { FULL_ONE, { COLUMN, 0 }, { APPEND, 2 }, false },
    { FULL_ONE, { APPEND, 2 }, { COLUMN, 0 }, false },
    { FULL_ONE, { COLUMN, 0 }, { EDIT, 0 }, false },
    { FULL_ONE, { COLUMN, 0 }, { OVERWRITE, 1 }, false },
    { FULL_ONE, { KEYS, 0 }, { COLUMN, 0 }, false },
    { COLUMN_PLANNED, { COLUMN_PART, 0 }, { COLUMN_PART, 0 }, false },
    { COLUMN_PLANNED, { COLUMN_PART, 0 }, { COLUMN_COMMIT, 0 }, false },
    { COLUMN_PLANNED, { COLUMN_PART, 0 }, { COLUMN_DROP, 0 }, false },
    { COLUMN_PLANNED, { COLUMN_PART, 0 }, { COLUMN, 1 }, false },
    { COLUMN_PACKED, { COLUMN_COMMIT, 0 }, { COLUMN_COMMIT, 0 }, false },
    { COLUMN_PACKED, { COLUMN_COMMIT, 0 }, { COLUMN_PART, 0 }, false },
    { COLUMN_PACKED, { COLUMN_COMMIT, 0 }, { COLUMN_DROP, 0 }, false },
    { COLUMN_PACKED, { COLUMN_COMMIT, 0 }, { APPEND, 2 }, false },
    { COLUMN_PACKED, { COLUMN_COMMIT, 0 }, { OVERWRITE, 1 }, false },
    { COLUMN_PACKED, { COLUMN_DROP, 0 }, { COLUMN_COMMIT, 0 }, false },
    { COLUMN_PACKED, { COLUMN_PART, 0 }, { COLUMN_DROP, 0 }, false },
    { DROPPED, { COLUMN, 0 }, { COLUMN_DROP, 0 }, false },
    { DROPPED, { COLUMN, 0 }, { COLUMN, 1 }, false },
    { DROPPED, { COLUMN, 0 }, { COLUMN_RESUME, 0 }, false },
    { DROPPED, { COLUMN_DROP, 0 }, { COLUMN, 1 }, false },
    { COLUMNED, { COLUMN_DROP, 0 }, { COLUMN, 1 }, false },
    { COLUMNED, { COLUMN_DROP, 0 }, { COLUMN_DROP, 0 }, false },
    { COLUMNED, { APPEND, 2 }, { COLUMN_DROP, 0 }, false },
    { EMPTY, { PACK, 0 }, { VIEW, 0 }, false },
    { INDEXED, { VIEW, 0 }, { INDEX_OVERWRITE, 0 }, false },
    { FULL_ONE, { VIEW, 0 }, { VIEW, 0 }, false },
    { FULL_ONE, { VIEW, 0 }, { VIEW, 1 }, false },
    { FULL_ONE, { VIEW, 1 }, { VIEW_OVERWRITE, 0 }, false },
    { FULL_ONE, { VIEW_OVERWRITE, 0 }, { VIEW, 1 }, false },
    { FULL_ONE, { VIEW_OVERWRITE, 0 }, { VIEW_OVERWRITE, 1 }, false },
    { FULL_ONE, { VIEW, 1 }, { OVERWRITE, 1 }, false },
    { FULL_ONE, { OVERWRITE, 1 }, { VIEW, 1 }, false },
    { FULL_ONE, { VIEW, 1 }, { APPEND, 2 }, false },
    { FULL_ONE, { VIEW, 0 }, { PACK_AT_VIEW, 1 }, false },
    { FULL_ONE, { PACK_AT_VIEW, 1 }, { VIEW, 0 }, false },
    { FULL_ONE, { OVERWRITE_AT_VIEW, 1 }, { VIEW_OVERWRITE, 0 }, false },
    { FOREIGN_AT_VIEW, { VIEW, 0 }, { INDEX_AT_VIEW, 0 }, false },
    { FOREIGN_AT_VIEW, { INDEX_AT_VIEW, 0 }, { VIEW, 0 }, false },
    { FULL_AT_VIEW, { VIEW, 0 }, { INDEX_AT_VIEW, 0 }, false },
    { FULL_AT_VIEW, { VIEW_OVERWRITE, 0 }, { PACK_AT_VIEW, 0 }, false },
    { VIEWED, { VIEW, 1 }, { VIEW_OVERWRITE, 1 }, false },
    { VIEWED, { VIEW_OVERWRITE, 0 }, { VIEW_OVERWRITE, 1 }, false },
    { VIEWED, { VIEW_OVERWRITE, 1 }, { PACK_AT_VIEW, 1 }, false },
    { VIEWED, { VIEW_OVERWRITE, 1 }, { OVERWRITE, 1 }, false },
};

enum fate { GOES_ON, KILLED };

/* A case. Turn t belongs to the first run if t is even, and otherwise to the second run. The run
 * continues until it has made stops[t] calls. After its last turn, a run is killed or continues to
 * its end. */
struct one_case {
    size_t scene, turns;
    uint32_t stops[TURNS_MOST];
    enum fate fates[2];
    enum model_kind kind;
};

static void run_case(const struct one_case *c, struct acting acting[2])
{
    const struct step steps[2] = { scenes[c->scene].first, scenes[c->scene].second };

    for (size_t i = 0; i < 2; i++)
        acting[i] = (struct acting){ .step = steps[i], .run = i == 0 ? 'a' : 'b' };
    for (size_t t = 0; t < c->turns; t++) {
        struct acting *a = &acting[t % 2];

        if (t == 1 && scenes[c->scene].differ)
            actors_hide_file(true);
        if (!a->has_ended)
            actor_advance(a, c->stops[t]);
        if (!a->has_ended && t + 2 >= c->turns && c->fates[t % 2] == KILLED)
            model_kill(a->run);
        if (a->has_ended || (t + 2 >= c->turns && c->fates[t % 2] == KILLED))
            actor_join(a);
    }
    actor_join(&acting[0]);
    actor_join(&acting[1]);
    if (scenes[c->scene].differ)
        actors_hide_file(false);
}

static bool has_said(const struct acting *a)
{
    return a->code == SHEAF_OK && a->step.what != PART && a->step.what != COLUMN_PART;
}

/* Returns how many runs report that they have appended (or edited). Two runs that resume each other
 * count as one. */
static int count_said(const struct acting acting[2], enum what first, enum what last)
{
    const bool is_one = acting[0].step.tree == acting[1].step.tree;
    int said = 0;

    for (int i = 0; i < 2; i++)
        said += has_said(&acting[i]) && acting[i].step.what >= first &&
                acting[i].step.what <= last;
    return is_one ? MIN(said, 1) : said;
}

/* Checks that a run which reports that it has appended or edited has done so, and that the samples
 * that it found still exist. */
static void check_grown(const struct acting acting[2])
{
    if (seen_tree() != 0)
        seen_blame("is gone", "the data set that was appended to");
    else if (seen_growths() < count_said(acting, APPEND, APPEND_OVERWRITE))
        seen_blame("a run says that it has appended, but what it appended is not there",
                   "the place");
    else if (seen_edits() < count_said(acting, EDIT, EDIT_OVERWRITE))
        seen_blame("a run says that it has edited, but what it deleted is there", "the place");
}

static bool is_of_column(const struct acting *a)
{
    return a->step.what >= COLUMN && a->step.what <= COLUMN_DROP;
}

/* Checks the column. If a run reports that it has added the column, the column must exist, unless
 * the other run drops columns. If only one run reports this, the column must be that run's. If a
 * run reports that it has dropped the column, the column must not exist, unless the other run adds
 * it. */
static void check_column(const struct acting acting[2])
{
    const int missing = seen_column_missing();

    for (int i = 0; i < 2; i++) {
        const struct acting *a = &acting[i], *other = &acting[1 - i];
        const bool adds = a->step.what != COLUMN_DROP;

        if (!is_of_column(a) || !has_said(a) || other->step.what == OVERWRITE)
            continue;
        if (adds && other->step.what == COLUMN_DROP)
            continue;
        if (adds && missing < 0)
            seen_blame("a run says that it has added the column, but there is none", "the place");
        else if (adds && (!is_of_column(other) || !has_said(other)) &&
                 missing != a->step.tree && missing != a->step.tree + ACTORS_APPENDED)
            seen_blame("is not that of the run that says it has added it", "the column");
        else if (!adds && missing >= 0 && (!is_of_column(other) ||
                                           other->step.what == COLUMN_DROP))
            seen_blame("a run says that it has dropped the column, but it is there", "the place");
    }
}

/* Checks the view. If a run reports that it has written the view, the view must be that run's,
 * unless the other run may have replaced it. Only a run that overwrites may replace a view. */
static void check_view(enum place place, const struct acting acting[2])
{
    const int there = seen_view_tree();

    for (int i = 0; i < 2; i++) {
        const struct acting *a = &acting[i];

        if (!has_said(a) || (a->step.what != VIEW && a->step.what != VIEW_OVERWRITE))
            continue;
        if (there < 0)
            seen_blame("a run says that it has written it, but it is missing", "the view");
        else if (there != a->step.tree && acting[1 - i].step.what != VIEW_OVERWRITE)
            seen_blame("is not that of the run that says it has written it", "the view");
        if (a->step.what == VIEW && place == VIEWED)
            seen_blame("a run that does not overwrite says that it has replaced it", "the view");
    }
}

/* Checks that an index exists if a run reports that it has made one, unless the other run has
 * packed since. */
static void check_indexed(const struct acting acting[2])
{
    for (int i = 0; i < 2; i++) {
        const struct acting *a = &acting[i];

        if (has_said(a) && a->step.what == PACK && seen_tree() != a->step.tree)
            seen_blame("a run says that it has packed, but its data set is not there", "the place");
    }
    if ((has_said(&acting[0]) || has_said(&acting[1])) && seen_growths() < 0)
        seen_blame("a run says that it has made an index, but there is none", "the place");
}

/* Checks that the data set of a run exists if the run reports that it has packed or committed it,
 * unless another run came after it. */
static void check_said(const struct one_case *c, const struct acting acting[2])
{
    bool said[2];
    int tree_there = seen_tree();

    check_view(scenes[c->scene].place, acting);
    for (int i = 0; i < 2; i++)
        said[i] = has_said(&acting[i]);
    /* A run that has removed the other run's finished data set, and then failed, leaves nothing. */
    for (int i = 0; i < 2; i++)
        if (!said[i] && (acting[i].step.what == OVERWRITE || acting[i].step.what == RESUME))
            return;
    if (acting[0].step.what >= APPEND || acting[1].step.what >= APPEND) {
        if (acting[0].step.what == OVERWRITE || acting[1].step.what == OVERWRITE)
            return;
        if (is_of_column(&acting[0]) || is_of_column(&acting[1]))
            check_column(acting);
        if (scenes[c->scene].place == FULL_ONE || scenes[c->scene].place >= COLUMNED)
            check_grown(acting);
        else
            check_indexed(acting);
        return;
    }
    if (c->fates[0] == KILLED || c->fates[1] == KILLED || (!said[0] && !said[1]))
        return;
    if (tree_there < 0)
        seen_blame("a run says that it has finished, but there is no data set", "the place");
    else if (said[0] != said[1] && acting[said[1]].step.tree != tree_there)
        seen_blame("there is another data set than the run has finished", "the place");
}

/* Checks that the view that a case has left can be read, and can be replaced. */
static void check_view_recovery(char run)
{
    const struct step step = { VIEW_OVERWRITE, 1 };
    const char *source = actor_view(run);
    struct sheaf_dataset *dataset;
    struct sheaf_error err;

    if (sheaf_dataset_open(&source, 1, &dataset, &err) != SHEAF_OK)
        seen_blame(err.message, "the view");
    else
        sheaf_dataset_free(dataset);
    view_may_change = true;
    if (actor_act(&step, run, &err) != SHEAF_OK)
        seen_blame(err.message, "overwriting the view");
    else if (seen_view_tree() != 1)
        seen_blame("is not there", "the view that overwrote the other");
}

/* Checks the recovery after a case. A run that overwrites must leave a complete data set and
 * nothing else. It may also report a file that a run without a claim has written late under a free
 * name. A run that then drops the column must remove all of it. */
static void check_recovery(char run)
{
    const struct step step = { OVERWRITE, 1 };
    struct sheaf_error err;
    struct sheaf_dataset *dataset;
    const char *source = actor_dest(run);
    int code;

    model_begin(run, MODEL_NEVER);
    code = actor_act(&step, run, &err);
    if (code == SHEAF_ERR_EXISTS && strstr(err.message, "belongs to no data set") != NULL)
        return;
    if (code != SHEAF_OK)
        seen_blame(err.message, "overwriting all that");
    else if (seen_tree() != 1)
        seen_blame("is not there", "the data set that overwrote all that");
    else if (sheaf_dataset_open(&source, 1, &dataset, &err) != SHEAF_OK)
        seen_blame(err.message, "the data set that overwrote all that");
    else
        sheaf_dataset_free(dataset);
    if (seen_view() != NULL)
        check_view_recovery(run);
    code = sheaf_column_drop(source, "cap", &err);
    if (code != SHEAF_OK && code != SHEAF_ERR_NOT_FOUND)
        seen_blame(err.message, "dropping the column");
    else if (seen_column() != NULL)
        seen_blame("is there", "the column that was dropped");
    for (const struct model_object *o = model_objects(); o != NULL; o = o->next)
        if (strstr(o->path, ".sheaf-partial") != NULL)
            seen_blame("was left", o->path);
}

static const char *const kind_texts[MODEL_KINDS] = { "", ", with locks", ", with stages" };

static void describe(const struct one_case *c)
{
    int size = snprintf(seen_now, SEEN_TEXT, "scene %zu%s, stopped after", c->scene,
                        kind_texts[c->kind]);

    for (size_t t = 0; t < c->turns; t++)
        size += snprintf(seen_now + size, SEEN_TEXT - (size_t)size, " %u%s",
                         c->stops[t], t + 2 < c->turns || c->fates[t % 2] == GOES_ON ? ""
                                                                                 : " (killed)");
}

/* Restores a place, in which the two runs will work. */
static void restore(enum place place, struct step first, struct step second)
{
    model_restore(places[place]);
    view_published = seen_view() == NULL ? 0 : seen_view()->number;
    view_may_change = first.what == VIEW_OVERWRITE || second.what == VIEW_OVERWRITE;
}

/* Runs a case and checks the result. Sets *ended to whether the second run had ended before its
 * last turn was over. */
static void check_case(const struct one_case *c, bool *ended)
{
    struct acting acting[2];

    describe(c);
    use(c->kind);
    restore(scenes[c->scene].place, scenes[c->scene].first, scenes[c->scene].second);
    run_case(c, acting);
    *ended = acting[1].has_ended;
    check_said(c, acting);
    if (c->kind == MODEL_LOCKS && model_is_locked())
        seen_blame("is still held", "the lock");
    if (cases_done++ % RECOVERED == 0)
        check_recovery('c');
    if (seen_fault[0] != '\0')
        print_error("%s\n  first: %d %s\n  second: %d %s\n", seen_fault, acting[0].code,
                    acting[0].error.message, acting[1].code, acting[1].error.message);
    assert_int_equal(seen_fault[0], '\0');
}

/* ---- All of it ------------------------------------------------------------------------------- */

static void make_place(enum place place, struct step step)
{
    model_begin('a', MODEL_NEVER);
    model_begin('b', MODEL_NEVER);
    must(actor_act(&step, 'a', &error));
    places[place] = model_save();
}

static void take_hash(int i)
{
    struct manifest m;
    const struct model_object *manifest = seen_find(MANIFEST_NAME);
    const char *at;

    must(manifest_parse((const char *)manifest->data, manifest->size, &m, &error));
    at = strstr(m.options_json, "\"plan\":");
    at = at == NULL ? NULL : strchr(at + 7, '"');
    assert_non_null(at);
    memcpy(seen_plans[i], at + 1, 32);
    manifest_clear(&m);
}

static void make_foreign(void)
{
    static const char *const ours[] = { MANIFEST_NAME, INDEX_NAME, KEYS_NAME };

    model_restore(places[EMPTY]);
    actors_pack_foreign();
    for (size_t i = 0; i < COUNT_OF(ours); i++) {
        char path[64];

        snprintf(path, sizeof(path), "/set/%s", ours[i]);
        model_remove(path);
    }
    places[FOREIGN] = model_save();
    make_place(INDEXED, (struct step){ INDEX, 0 });
}

static void make_places(enum model_kind kind)
{
    use(kind);
    model_restore(NULL);
    places[EMPTY] = model_save();
    make_place(FULL_ONE, (struct step){ PACK, 0 });
    take_hash(0);
    make_place(FULL_TWO, (struct step){ OVERWRITE, 1 });
    take_hash(1);
    actors_plan();
    places[PLANNED] = model_save();
    make_place(PACKED, (struct step){ PART, 0 });
    make_foreign();
    model_restore(places[FULL_ONE]);
    make_place(COLUMNED, (struct step){ COLUMN, 0 });
    make_place(DROPPED, (struct step){ COLUMN_DROP, 0 });
    model_restore(places[FULL_ONE]);
    actors_plan_column();
    places[COLUMN_PLANNED] = model_save();
    make_place(COLUMN_PACKED, (struct step){ COLUMN_PART, 0 });
    model_restore(places[FULL_ONE]);
    make_place(VIEWED, (struct step){ VIEW, 0 });
    model_restore(places[FULL_ONE]);
    actors_copy(true);
    places[FOREIGN_AT_VIEW] = model_save();
    actors_copy(false);
    places[FULL_AT_VIEW] = model_save();
    assert_int_equal(seen_fault[0], '\0');
}

static void see_change(void)
{
    const struct model_object *manifest = seen_find(MANIFEST_NAME), *column = seen_column();
    const uint64_t view = seen_view() == NULL ? 0 : seen_view()->number;
    char run[33];

    seen_check();
    if (column != NULL && column->number != column_published)
        publishing = model_calls_now('a');
    if (view != view_published) {
        publishing = model_calls_now('a');
        if (view_published != 0 && !view_may_change)
            seen_blame("was replaced or removed by a run that does not overwrite", "the view");
    }
    view_published = view;
    column_published = column == NULL ? 0 : column->number;
    if (manifest != NULL && manifest->number != published &&
        !manifest_is_unfinished((const char *)manifest->data, manifest->size, run))
        publishing = model_calls_now('a');
    published = manifest == NULL ? 0 : manifest->number;
}

static int setup(void **state)
{
    (void)state;
    actors_make();
    model_open(see_change);
    for (enum model_kind kind = 0; kind < MODEL_KINDS; kind++)
        make_places(kind);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    model_close();
    for (size_t i = 0; i < PLACES * (size_t)MODEL_KINDS; i++)
        model_state_free(all_places[i / PLACES][i % PLACES]);
    actors_remove();
    return 0;
}

/* Returns the number of calls that a run makes if no other run disturbs it. */
static uint32_t calls_alone(enum place place, struct step step)
{
    restore(place, step, step);
    model_begin('a', MODEL_NEVER);
    (void)actor_act(&step, 'a', &error);
    return model_calls('a');
}

/* Tries all cases in which the second run is stopped at one of its calls, and the case in which it
 * is not stopped. */
static void stop_second(struct one_case *c)
{
    bool ended = false;

    for (c->stops[1] = 0; !ended && cases_done < cases_wanted; c->stops[1]++)
        check_case(c, &ended);
}

/* Returns whether the second run may wait for a lock of the first run, while that is stopped. A run
 * that writes a view takes no lock. */
static bool may_wait(size_t scene, enum model_kind kind)
{
    const enum what first = scenes[scene].first.what;

    return kind == MODEL_LOCKS && first != VIEW && first != VIEW_OVERWRITE;
}

/* Tries all cases in which the first run is stopped at this call. If the second run may wait for
 * the lock of the stopped one, the first run is killed. A run that has ended before its stop can
 * only end. */
static void stop_first(size_t scene, uint32_t stop, enum model_kind kind)
{
    const enum place place = scenes[scene].place;
    const bool locks = may_wait(scene, kind);
    const bool ends = stop == calls_alone(place, scenes[scene].first);

    for (int fates = 0; fates < 4; fates++) {
        struct one_case c = { .scene = scene, .turns = 2, .stops = { stop }, .kind = kind,
                              .fates = { fates & 1 ? KILLED : GOES_ON,
                                         fates & 2 ? KILLED : GOES_ON } };

        if (locks || ends ? (c.fates[0] == KILLED) == locks : true)
            stop_second(&c);
    }
}

static void each_stop(void **state)
{
    uint32_t unit = 0;

    (void)state;
    if (!is_campaign)
        skip();
    for (size_t scene = first_scene; scene < first_scene + scene_count; scene++)
        for (enum model_kind kind = 0; kind < MODEL_KINDS; kind++) {
            use(kind);
            for (uint32_t stop = 0, most = calls_alone(scenes[scene].place, scenes[scene].first);
                 stop <= most; stop++)
                if (unit++ % parts == part)
                    stop_first(scene, stop, kind);
        }
    printf("%llu interleavings in which each run is stopped once: all of part %u of %u\n",
           (unsigned long long)cases_done, part, parts);
}

static void random_stops(void **state)
{
    struct rng rng;
    bool ended;

    (void)state;
    random_start(&rng);
    rng_seed(&rng, RNG_SHARDS, rng_next(&rng), part, 0);
    while (cases_done < cases_wanted) {
        struct one_case c = {
            .scene = first_scene + rng_below(&rng, scene_count),
            .turns = 2 + rng_below(&rng, TURNS_MOST - 1),
            .fates = { rng_below(&rng, 3) == 0 ? KILLED : GOES_ON,
                       rng_below(&rng, 3) == 0 ? KILLED : GOES_ON },
            .kind = (enum model_kind)rng_below(&rng, MODEL_KINDS),
        };

        if (may_wait(c.scene, c.kind)) {
            c.turns = 2;
            c.fates[0] = KILLED;
        }
        for (size_t t = 0; t < c.turns; t++)
            c.stops[t] = (t < 2 ? 0 : c.stops[t - 2]) +
                         (uint32_t)rng_below(&rng, 2 * CALLS_MOST / c.turns);
        check_case(&c, &ended);
    }
}

/* Returns the number of the call by which the first run publishes if it is alone, or 0 if it does
 * not publish. */
static uint32_t publishing_call(size_t scene)
{
    publishing = 0;
    (void)calls_alone(scenes[scene].place, scenes[scene].first);
    return publishing;
}

/* Stops the first run just before it publishes, stops the second run at each of its calls, and then
 * continues the first run. With locks, the second run is refused at once, or waits. */
static void held_before_publishing(void **state)
{
    (void)state;
    if (getenv("QUICK") != NULL)
        skip();
    for (enum model_kind kind = 0; kind < MODEL_KINDS; kind++)
        for (size_t scene = first_scene; scene < first_scene + scene_count; scene++) {
            struct one_case c = { .scene = scene, .turns = 2, .kind = kind };
            bool ended = may_wait(scene, kind) || scenes[scene].first.what < APPEND;

            use(kind);
            c.stops[0] = publishing_call(scene);
            for (c.stops[0] -= c.stops[0] != 0; !ended; c.stops[1]++)
                check_case(&c, &ended);
        }
}

/* Returns whether a run that succeeds leaves the data set of its tree. */
static bool packs_tree(enum what what)
{
    return what == PACK || what == OVERWRITE || what == RESUME || what == COMMIT;
}

/* Makes one call of the store fail. The run must succeed anyway, or report why it failed. */
static void fail_once(enum place place, struct step step, uint32_t call)
{
    int code;

    snprintf(seen_now, SEEN_TEXT, "run %d of tree %d at place %d, failing call %u",
             step.what, step.tree, place, call);
    restore(place, step, step);
    model_begin('a', MODEL_NEVER);
    model_fail('a', call);
    code = actor_act(&step, 'a', &error);
    if (code != SHEAF_OK && strstr(error.message, MODEL_FAILURE) == NULL)
        seen_blame(error.message, "another reason");
    else if (code == SHEAF_OK && packs_tree(step.what) && seen_tree() != step.tree)
        seen_blame("is not there", "the data set");
    check_recovery('c');
    if (seen_fault[0] != '\0')
        print_error("%s\n", seen_fault);
    assert_int_equal(seen_fault[0], '\0');
}

/* Returns whether an earlier scene begins at the same place with the same run. */
static bool begins_like_earlier(size_t scene)
{
    for (size_t i = first_scene; i < scene; i++)
        if (scenes[i].place == scenes[scene].place &&
            memcmp(&scenes[i].first, &scenes[scene].first, sizeof(struct step)) == 0)
            return true;
    return false;
}

/* Only the first run of each scene takes part, so each first run is tried once. */
static void failing_calls(void **state)
{
    const uint32_t every = getenv("QUICK") == NULL ? 1 : QUICK_CALLS;

    (void)state;
    for (enum model_kind kind = 0; kind < MODEL_KINDS; kind++)
        for (size_t scene = first_scene; scene < first_scene + scene_count; scene++) {
            const struct step step = scenes[scene].first;
            uint32_t calls;

            if (begins_like_earlier(scene))
                continue;
            use(kind);
            calls = calls_alone(scenes[scene].place, step);
            for (uint32_t call = (uint32_t)scene % every; call < calls; call += every)
                fail_once(scenes[scene].place, step, call);
        }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_stop),
        cmocka_unit_test(random_stops),
        cmocka_unit_test(held_before_publishing),
        cmocka_unit_test(failing_calls),
    };

    if (getenv("SCENE") != NULL)
        first_scene = strtoul(getenv("SCENE"), NULL, 10) % COUNT_OF(scenes);
    scene_count = getenv("SCENE") != NULL ? 1 : COUNT_OF(scenes);
    if (getenv("QUICK") != NULL)
        cases_wanted = QUICK_CASES;
    if (argc == 4) {
        is_campaign = true;
        part = (uint32_t)strtoul(argv[2], NULL, 10);
        parts = MAX((uint32_t)strtoul(argv[3], NULL, 10), 1u);
        cases_wanted = strtoull(argv[1], NULL, 10) / parts;
    }
    model_stay_on(part);
    return cmocka_run_group_tests(tests, setup, teardown);
}
