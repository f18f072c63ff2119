/* SPDX-License-Identifier: MIT
 *
 * A model checker of publication: the real packer, on a store in memory, one or two runs stopped
 * and killed at each of their calls, in each order of two.  After each change, whoever looks at the
 * place sees a whole data set or is refused:
 *
 *     a manifest        all shards, sides and the index are there, as the manifest says
 *     no manifest       there are no shards either, or a claim says that a run is at work
 *
 * What a run says at its end must be so, and the next run that overwrites makes all good.
 *
 *     test_fence [COUNT]      so many random cases; SEED repeats them */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/rng.h"
#include "formats/manifest.h"
#include "sheaf.h"
#include "tests/common_model_store.h"
#include "tests/common_must.h"
#include "tests/common_random.h"
#include "tests/common_tree.h"

#define SET "/set/"
#define QUICK_CASES 1500u
#define CALLS_MOST 160u         /* no run makes more, so that each of its calls is stopped at */

static struct tree tree;
static struct sheaf_error error;
static uint64_t cases_wanted = QUICK_CASES;
static char fault[2000], now_checked[200];
static char plans[2][33];       /* of the two trees */

/* ---- What is seen ---------------------------------------------------------------------------- */

static void blame(const char *what, const char *name)
{
    if (fault[0] == '\0')
        snprintf(fault, sizeof(fault), "%s: %s: %s", now_checked, name, what);
}

static const struct model_object *find(const char *name)
{
    char path[400];

    snprintf(path, sizeof(path), SET "%s", name);
    return model_find(path);
}

static void check_shard(const struct manifest_shard *s)
{
    const struct model_object *o = find(s->name);
    XXH128_canonical_t canonical;
    char text[33], side[300];

    if (o == NULL || o->size != s->bytes) {
        blame("is missing, or of another size than the manifest says", s->name);
        return;
    }
    XXH128_canonicalFromHash(&canonical, XXH3_128bits(o->data, o->size));
    for (size_t i = 0; i < sizeof(canonical.digest); i++)
        snprintf(text + 2 * i, 3, "%02x", canonical.digest[i]);
    if (strcmp(text, s->xxh3) != 0)
        blame("is another than the manifest says", s->name);
    if (s->names_bytes == 0)
        return;
    snprintf(side, sizeof(side), "%.*s.lst", (int)(strchr(s->name, '.') - s->name), s->name);
    o = find(side);
    if (o == NULL || o->size != s->names_bytes)
        blame("is missing, or of another size than the manifest says", side);
}

static void check_whole(const struct model_object *manifest)
{
    const struct model_object *index = find(INDEX_NAME);
    struct manifest m;

    if (manifest_parse((const char *)manifest->data, manifest->size, &m, &error) != SHEAF_OK) {
        blame(error.message, MANIFEST_NAME);
        return;
    }
    for (size_t i = 0; i < m.shard_count; i++)
        check_shard(&m.shards[i]);
    if (index == NULL || index->size != m.index_bytes)
        blame("is missing, or of another size than the manifest says", INDEX_NAME);
    manifest_clear(&m);
}

static bool has_shards(void)
{
    for (const struct model_object *o = model_objects(); o != NULL; o = o->next)
        if (strncmp(o->path, SET "shard-", strlen(SET "shard-")) == 0)
            return true;
    return false;
}

static void check_place(void)
{
    const struct model_object *manifest = find(MANIFEST_NAME);
    char run[33];

    if (manifest == NULL) {
        if (has_shards() && find(".sheaf-partial/plan") == NULL)
            blame("shards without a manifest, and nobody is at work", "the place");
    } else if (!manifest_is_unfinished((const char *)manifest->data, manifest->size, run)) {
        check_whole(manifest);
    }
}

/* Of which tree the data set is that is there; -1: none is. */
static int tree_of_place(void)
{
    const struct model_object *manifest = find(MANIFEST_NAME);

    for (int i = 0; manifest != NULL && i < 2; i++)
        if (strstr((const char *)manifest->data, plans[i]) != NULL)
            return i;
    return -1;
}

/* ---- What is run ----------------------------------------------------------------------------- */

enum what { PACK, OVERWRITE, RESUME, PART, COMMIT };

struct step {
    enum what what;
    int tree;                   /* 0 or 1; of parts and commits 0 */
};

struct acting {
    struct step step;
    char run;
    int code;
    struct sheaf_error error;
    pthread_t thread;
};

static const char *dest_of(char run)
{
    static const char *const names[] = { "mem://a/set", "mem://b/set", "mem://c/set" };

    return names[run - 'a'];
}

static const char *plan_of(char run)
{
    return tree_path(&tree, run == 'b' ? "plan-b" : "plan-a");
}

static void set_options(struct sheaf_pack_options *o, enum what what)
{
    sheaf_pack_options_init(o, sizeof(*o));
    o->container = SHEAF_RECORDIO;
    o->shard_bytes = 1500;
    o->no_shuffle = 1;
    o->jobs = 1;
    o->overwrite = what == OVERWRITE;
    o->resume = what == RESUME;
    o->on_error = what == PART ? SHEAF_SKIP : SHEAF_FAIL;
}

static int act(const struct step *step, char run, struct sheaf_error *err)
{
    struct sheaf_pack_options o;

    set_options(&o, step->what);
    if (step->what == PART)
        return sheaf_pack_part(plan_of(run), 0, 1, &o, NULL, err);
    if (step->what == COMMIT)
        return sheaf_commit(plan_of(run), &o, NULL, err);
    return sheaf_pack(tree_path(&tree, step->tree == 0 ? "one" : "two"), dest_of(run), &o, NULL,
                      err);
}

static void *run_acting(void *context)
{
    struct acting *a = context;

    a->code = act(&a->step, a->run, &a->error);
    model_end(a->run);
    return NULL;
}

static void start(struct acting *a, char run, struct step step, uint32_t stop_after)
{
    *a = (struct acting){ .step = step, .run = run };
    model_begin(run, stop_after);
    assert_int_equal(pthread_create(&a->thread, NULL, run_acting, a), 0);
}

/* ---- Cases ----------------------------------------------------------------------------------- */

enum place { EMPTY, FULL_ONE, FULL_TWO, PLANNED, PACKED, PLACES };

static struct model_state *places[PLACES];

static const struct {
    enum place place;
    struct step first, second;
    bool differ;                /* the second has one file less */
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
};

enum fate { GOES_ON, KILLED };

struct one_case {
    size_t scene;
    uint32_t first_stop, second_stop;   /* calls; MODEL_NEVER: none */
    enum fate first, second;
    bool locks;
};

static void hide_file(bool hide)
{
    char from[TREE_PATH], to[TREE_PATH];

    snprintf(from, sizeof(from), "%s", tree_path(&tree, hide ? "one/x/2.bin" : "away"));
    snprintf(to, sizeof(to), "%s", tree_path(&tree, hide ? "away" : "one/x/2.bin"));
    assert_int_equal(rename(from, to), 0);
}

/* The first is stopped, the second runs until it is stopped, too, or ends; then both end. */
static void run_case(const struct one_case *c, struct acting acting[2])
{
    bool ended;

    start(&acting[0], 'a', scenes[c->scene].first, c->first_stop);
    if (!model_wait('a') && c->first == KILLED)
        model_kill('a');
    if (c->first == KILLED)
        pthread_join(acting[0].thread, NULL);
    if (scenes[c->scene].differ)
        hide_file(true);
    start(&acting[1], 'b', scenes[c->scene].second, c->second_stop);
    ended = model_wait('b');
    if (!ended && c->second == KILLED)
        model_kill('b');
    if (ended || c->second == KILLED)
        pthread_join(acting[1].thread, NULL);
    if (c->first != KILLED) {
        model_let('a', MODEL_NEVER);
        pthread_join(acting[0].thread, NULL);
    }
    if (!ended && c->second != KILLED) {
        model_let('b', MODEL_NEVER);
        pthread_join(acting[1].thread, NULL);
    }
    if (scenes[c->scene].differ)
        hide_file(false);
}

/* Who says that it has packed or committed the data set has, unless another one came after it. */
static void check_said(const struct one_case *c, const struct acting acting[2])
{
    bool said[2];
    int tree_there = tree_of_place();

    for (int i = 0; i < 2; i++)
        said[i] = acting[i].code == SHEAF_OK && acting[i].step.what != PART;
    /* Who has replaced what the other one had finished, and then failed, leaves nothing. */
    for (int i = 0; i < 2; i++)
        if (!said[i] && (acting[i].step.what == OVERWRITE || acting[i].step.what == RESUME))
            return;
    if (c->first == KILLED || c->second == KILLED || (!said[0] && !said[1]))
        return;
    if (tree_there < 0)
        blame("a run says that it has finished, but there is no data set", "the place");
    else if (said[0] != said[1] && acting[said[1]].step.tree != tree_there)
        blame("there is another data set than the run has finished", "the place");
}

/* Whatever has happened: who overwrites has a whole data set then, and nothing else; or is told of
 * a file that a run which had lost the place has still made, under a name that was free. */
static void check_recovery(char run)
{
    const struct step step = { OVERWRITE, 1 };
    struct sheaf_error err;
    struct sheaf_dataset *dataset;
    const char *source = dest_of(run);
    int code;

    model_begin(run, MODEL_NEVER);
    code = act(&step, run, &err);
    if (code == SHEAF_ERR_EXISTS && strstr(err.message, "belongs to no data set") != NULL)
        return;
    if (code != SHEAF_OK)
        blame(err.message, "overwriting all that");
    else if (tree_of_place() != 1)
        blame("is not there", "the data set that overwrote all that");
    else if (sheaf_dataset_open(&source, 1, &dataset, &err) != SHEAF_OK)
        blame(err.message, "the data set that overwrote all that");
    else
        sheaf_dataset_free(dataset);
    for (const struct model_object *o = model_objects(); o != NULL; o = o->next)
        if (strstr(o->path, ".sheaf-partial") != NULL)
            blame("was left", o->path);
}

static void check_case(const struct one_case *c, bool recover)
{
    struct acting acting[2];

    snprintf(now_checked, sizeof(now_checked), "scene %zu, stopped after %d%s and %d%s calls%s",
             c->scene, (int)c->first_stop, c->first == KILLED ? " (killed)" : "",
             (int)c->second_stop, c->second == KILLED ? " (killed)" : "",
             c->locks ? ", with locks" : "");
    model_use_locks(c->locks);
    model_restore(places[scenes[c->scene].place]);
    run_case(c, acting);
    check_said(c, acting);
    if (recover)
        check_recovery('c');
    if (fault[0] != '\0')
        print_error("%s\n  first: %d %s\n  second: %d %s\n", fault, acting[0].code,
                    acting[0].error.message, acting[1].code, acting[1].error.message);
    assert_int_equal(fault[0], '\0');
}

/* ---- All of it ------------------------------------------------------------------------------- */

static void make_tree(const char *name, int count, int size)
{
    char path[64], data[1000];

    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof(path), "%s/x/%d.bin", name, i);
        memset(data, 'a' + i, sizeof(data));
        tree_write(&tree, path, data, (size_t)size);
    }
}

static void make_place(enum place place, struct step step)
{
    model_begin('a', MODEL_NEVER);
    model_begin('b', MODEL_NEVER);
    must(act(&step, 'a', &error));
    places[place] = model_save();
}

static void take_hash(int i)
{
    struct manifest m;
    const struct model_object *manifest = find(MANIFEST_NAME);
    const char *at;

    must(manifest_parse((const char *)manifest->data, manifest->size, &m, &error));
    at = strstr(m.options_json, "\"plan\":");
    at = at == NULL ? NULL : strchr(at + 7, '"');
    assert_non_null(at);
    memcpy(plans[i], at + 1, 32);
    manifest_clear(&m);
}

/* The plan is the same for both runs, but for the name that each has for the place. */
static void make_plans(void)
{
    const char *source = tree_path(&tree, "one");
    struct sheaf_pack_options o;

    set_options(&o, OVERWRITE);
    o.on_error = SHEAF_SKIP;
    must(sheaf_plan_make(&source, 1, dest_of('a'), plan_of('a'), &o, NULL, &error));
    o.overwrite = 0;
    o.resume = 1;
    must(sheaf_plan_make(&source, 1, dest_of('b'), plan_of('b'), &o, NULL, &error));
    places[PLANNED] = model_save();
}

static int setup(void **state)
{
    (void)state;
    tree_make(&tree);
    make_tree("one", 4, 700);
    make_tree("two", 7, 800);
    model_open(check_place);
    places[EMPTY] = model_save();
    make_place(FULL_ONE, (struct step){ PACK, 0 });
    take_hash(0);
    make_place(FULL_TWO, (struct step){ OVERWRITE, 1 });
    take_hash(1);
    make_plans();
    make_place(PACKED, (struct step){ PART, 0 });
    assert_int_equal(fault[0], '\0');
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    model_close();
    for (size_t i = 0; i < PLACES; i++)
        model_state_free(places[i]);
    tree_remove(&tree);
    return 0;
}

/* With locks, who finds the place locked may wait for the one that is stopped:
 * so that is killed. */
static void random_cases(void **state)
{
    struct rng rng;

    (void)state;
    random_start(&rng);
    for (uint64_t i = 0; i < cases_wanted; i++) {
        struct one_case c = {
            .scene = rng_below(&rng, COUNT_OF(scenes)),
            .first_stop = (uint32_t)rng_below(&rng, CALLS_MOST),
            .second_stop = (uint32_t)rng_below(&rng, CALLS_MOST),
            .first = rng_below(&rng, 3) == 0 ? KILLED : GOES_ON,
            .second = rng_below(&rng, 3) == 0 ? KILLED : GOES_ON,
            .locks = rng_below(&rng, 4) == 0,
        };

        if (c.locks)
            c.first = KILLED;
        check_case(&c, i % 8 == 0);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(random_cases, setup, teardown),
    };

    if (argc > 1)
        cases_wanted = strtoull(argv[1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
