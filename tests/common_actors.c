/* SPDX-License-Identifier: MIT
 *
 * The actors of the model checker; see common_actors.h. */
#include "tests/common_actors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "store/store.h"
#include "tests/common_model_store.h"
#include "tests/common_must.h"
#include "tests/common_tree.h"

#define MEMORY (16u << 20)      /* not more, because AddressSanitizer marks each allocated byte */

static struct tree tree;

/* ---- The files that are read ----------------------------------------------------------------- */

static void make_tree(const char *name, int count, int size)
{
    char path[64], data[1000];

    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof(path), "%s/x/%d.bin", name, i);
        memset(data, 'a' + i, sizeof(data));
        tree_write(&tree, path, data, (size_t)size);
    }
}

/* Writes files whose keys no other tree has. */
static void make_more(const char *name)
{
    char path[64];

    for (int i = 0; i < ACTORS_APPENDED; i++) {
        snprintf(path, sizeof(path), "%s/x/%s%d.bin", name, name, i);
        tree_text(&tree, path, "appended");
    }
}

/* Writes values for the first `count` samples of the tree "one". */
static void make_captions(const char *name, int count)
{
    char text[400] = "";
    int size = 0;

    for (int i = 0; i < count; i++)
        size += snprintf(text + size, sizeof(text) - (size_t)size,
                         "{\"key\": \"x/%d\", \"value\": \"caption %d\"}\n", i, i);
    tree_text(&tree, name, text);
}

void actors_make(void)
{
    tree_make(&tree);
    make_tree("one", 4, 700);
    make_tree("two", 7, 800);
    make_more("more");
    make_more("most");
    tree_text(&tree, "keys-0", "x/1\n");
    tree_text(&tree, "keys-1", "x/2\n");
    make_captions("cap-0.jsonl", 4);
    make_captions("cap-1.jsonl", 3);
}

void actors_remove(void)
{
    tree_remove(&tree);
}

void actors_hide_file(bool hide)
{
    char from[TREE_PATH], to[TREE_PATH];

    snprintf(from, sizeof(from), "%s", tree_path(&tree, hide ? "one/x/2.bin" : "away"));
    snprintf(to, sizeof(to), "%s", tree_path(&tree, hide ? "away" : "one/x/2.bin"));
    assert_int_equal(rename(from, to), 0);
}

/* ---- What is done ---------------------------------------------------------------------------- */

const char *actor_dest(char run)
{
    static const char *const names[] = { "mem://a/set", "mem://b/set", "mem://c/set" };

    return names[run - 'a'];
}

const char *actor_view(char run)
{
    static const char *const names[] = { "mem://a/set.view", "mem://b/set.view",
                                         "mem://c/set.view" };

    return names[run - 'a'];
}

static const char *dest_of(enum what what, char run)
{
    return what >= VIEW ? actor_view(run) : actor_dest(run);
}

static const char *plan_of(char run, bool is_of_column)
{
    static const char *const names[] = { "plan-a", "plan-b", "column-plan-a", "column-plan-b" };

    return tree_path(&tree, names[2 * is_of_column + (run == 'b')]);
}

static void set_options(struct sheaf_pack_options *o, enum what what)
{
    sheaf_pack_options_init(o, sizeof(*o));
    o->memory_bytes = MEMORY;
    o->container = SHEAF_RECORDIO;
    o->shard_bytes = 1500;
    o->no_shuffle = 1;
    o->jobs = 1;
    o->overwrite = what == OVERWRITE || what == APPEND_OVERWRITE || what == OVERWRITE_AT_VIEW;
    o->resume = what == RESUME || what == APPEND_RESUME;
    o->on_error = what == PART ? SHEAF_SKIP : SHEAF_FAIL;
}

static const char *source_of(int i)
{
    static const char *const names[] = { "one", "two", "more", "most" };

    return tree_path(&tree, names[i]);
}

static int act_index(enum what what, char run, struct sheaf_error *err)
{
    struct sheaf_verify_options o;
    struct sheaf_verify_result result;

    sheaf_verify_options_init(&o, sizeof(o));
    o.memory_bytes = MEMORY;
    o.threads = 1;
    if (what == KEYS)
        return sheaf_index_keys(actor_dest(run), &o, &result, err);
    return sheaf_index(dest_of(what, run), NULL, what == INDEX_OVERWRITE, &o, &result, err);
}

static int act_edit(const struct step *step, char run, struct sheaf_error *err)
{
    struct sheaf_edit_options o;
    char path[TREE_PATH];

    snprintf(path, sizeof(path), "%s", tree_path(&tree, step->tree == 0 ? "keys-0" : "keys-1"));
    sheaf_edit_options_init(&o, sizeof(o));
    o.jobs = 1;
    o.delete_keys = path;
    o.resume = step->what == EDIT_RESUME;
    o.overwrite = step->what == EDIT_OVERWRITE;
    o.purge = step->tree == 1;
    return sheaf_edit(actor_dest(run), &o, NULL, 0, err);
}

static int act_column(const struct step *step, char run, struct sheaf_error *err)
{
    const char *source = tree_path(&tree, step->tree == 0 ? "cap-0.jsonl" : "cap-1.jsonl");
    struct sheaf_column_options o;

    if (step->what == COLUMN_DROP)
        return sheaf_column_drop(actor_dest(run), "cap", err);
    sheaf_column_options_init(&o, sizeof(o));
    o.jobs = 1;
    o.memory_bytes = MEMORY;
    o.resume = step->what == COLUMN_RESUME;
    if (step->what == COLUMN_PART)
        return sheaf_column_add_part(plan_of(run, true), 0, 1, &o, NULL, err);
    return sheaf_column_add(actor_dest(run), "cap", source, &o, NULL, err);
}

static int act_view(const struct step *step, char run, struct sheaf_error *err)
{
    static const char *const documents[] = {
        "{\"sheaf_view\": 1, \"sources\": [{\"source\": \"set\"}]}",
        "{\"sheaf_view\": 1, \"sources\": [{\"source\": \"set\","
        " \"where\": {\"key_glob\": \"x/*\"}}]}",
    };

    return sheaf_view_write(documents[step->tree], actor_view(run), step->what == VIEW_OVERWRITE,
                            NULL, err);
}

int actor_act(const struct step *step, char run, struct sheaf_error *err)
{
    const bool at_view = step->what == PACK_AT_VIEW || step->what == OVERWRITE_AT_VIEW;
    const char *source = step->what < EDIT || at_view ? source_of(step->tree) : NULL;
    struct sheaf_pack_options o;

    set_options(&o, step->what);
    if (step->what == PART)
        return sheaf_pack_part(plan_of(run, false), 0, 1, &o, NULL, err);
    if (step->what == COMMIT || step->what == COLUMN_COMMIT)
        return sheaf_commit(plan_of(run, step->what == COLUMN_COMMIT), &o, NULL, err);
    if (at_view)
        return sheaf_pack(source, actor_view(run), &o, NULL, err);
    if (step->what == VIEW || step->what == VIEW_OVERWRITE)
        return act_view(step, run, err);
    if (step->what >= COLUMN && step->what <= COLUMN_DROP)
        return act_column(step, run, err);
    if (step->what >= INDEX)
        return act_index(step->what, run, err);
    if (step->what >= EDIT)
        return act_edit(step, run, err);
    if (step->what >= APPEND)
        return sheaf_append(&source, 1, actor_dest(run), &o, NULL, err);
    return sheaf_pack(source, actor_dest(run), &o, NULL, err);
}

static void *run_acting(void *context)
{
    struct acting *a = context;

    a->code = actor_act(&a->step, a->run, &a->error);
    model_end(a->run);
    return NULL;
}

void actor_advance(struct acting *a, uint32_t stop_after)
{
    if (a->is_started) {
        model_let(a->run, stop_after);
    } else {
        a->is_started = true;
        model_begin(a->run, stop_after);
        assert_int_equal(pthread_create(&a->thread, NULL, run_acting, a), 0);
    }
    a->has_ended = model_wait(a->run);
}

void actor_join(struct acting *a)
{
    if (a->is_joined)
        return;
    model_let(a->run, MODEL_NEVER);
    pthread_join(a->thread, NULL);
    a->is_joined = true;
}

/* ---- Plans and foreign shards ---------------------------------------------------------------- */

void actors_plan(void)
{
    const char *source = tree_path(&tree, "one");
    struct sheaf_pack_options o;
    struct sheaf_error error;

    set_options(&o, OVERWRITE);
    o.on_error = SHEAF_SKIP;
    must(sheaf_plan_make(&source, 1, actor_dest('a'), plan_of('a', false), &o, NULL, &error));
    o.overwrite = 0;
    o.resume = 1;
    must(sheaf_plan_make(&source, 1, actor_dest('b'), plan_of('b', false), &o, NULL, &error));
}

void actors_plan_column(void)
{
    struct sheaf_column_options o;
    struct sheaf_error error;

    sheaf_column_options_init(&o, sizeof(o));
    o.jobs = 1;
    for (char run = 'a'; run <= 'b'; run++) {
        (void)remove(plan_of(run, true));
        must(sheaf_column_plan(actor_dest(run), "cap", tree_path(&tree, "cap-0.jsonl"),
                               plan_of(run, true), &o, NULL, &error));
        o.resume = 1;
    }
}

void actors_pack_foreign(void)
{
    struct sheaf_pack_options o;
    struct sheaf_error error;

    set_options(&o, PACK);
    o.prefix = "foreign";
    must(sheaf_pack(source_of(0), actor_dest('a'), &o, NULL, &error));
}

void actors_copy(bool only_shards)
{
    struct sheaf_error error;

    for (const struct model_object *o = model_objects(); o != NULL; o = o->next) {
        const char *name = o->path + strlen("/set/");
        char url[100];

        if (strncmp(o->path, "/set/", strlen("/set/")) != 0 ||
            (only_shards && strncmp(name, "shard-", strlen("shard-")) != 0))
            continue;
        snprintf(url, sizeof(url), "%s/%s", actor_view('a'), name);
        must(store_put(url, o->data, o->size, &error));
    }
}
