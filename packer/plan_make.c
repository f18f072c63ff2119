/* SPDX-License-Identifier: MIT
 *
 * Makes a plan of files as sheaf_pack does, and stores it so that several processes can pack it. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "packer/pack_options.h"
#include "packer/plan/plan_file.h"
#include "packer/plan_store.h"
#include "packer/planner.h"
#include "packer/run.h"
#include "store/file_system.h"

struct making {
    struct sheaf_pack_options options;
    struct class_list list;     /* until the planner takes it */
    struct planner planner;
    struct problems problems;
    struct watch watch;
    struct plan_facts facts;
    struct block_setup setup;
    const char *dest;
    char *root;
    char *json[SPLIT_LIMIT];
    struct sheaf_pack_result result;
};

char *plan_absolute(const char *url)
{
    char *here, *path;

    url = local_path(url);
    if (!store_is_local(url) || url[0] == '/')
        return strdup(url);
    here = getcwd(NULL, 0);
    path = here == NULL ? NULL : store_join(here, url);
    free(here);
    return path;
}

/* ---- What the plan says as a whole ----------------------------------------------------------- */

static int plan_make_set_facts(struct making *m, struct buf *skipped, struct sheaf_error *err)
{
    const struct source *source = m->planner.sources;
    struct plan_facts *f = &m->facts;
    int code = problems_write(&m->problems, 0, skipped, err);

    m->root = plan_absolute(source->root);
    if (code == SHEAF_OK && m->root == NULL)
        code = err_memory(err, strlen(source->root));
    if (code == SHEAF_OK)
        code = planner_identify(&m->planner, true, err);
    if (code == SHEAF_OK)
        code = planner_options_json(&m->planner, m->json, err);
    f->dest = m->dest;
    f->root = source->root[0] == '\0' ? "" : m->root;
    f->source = source->ops->name;
    f->fingerprint = "";
    f->is_remote = source->is_remote;
    plan_facts_take(f, &m->options);
    f->skipped = (const char *)skipped->data;
    f->skipped_bytes = skipped->size;
    f->found = m->planner.files;
    f->cls_looked = m->planner.sort.cls_looked;
    f->cls_words = m->planner.sort.cls_words;
    for (uint32_t s = 0; s < f->plan.split_count; s++)
        f->options_json[s] = m->json[s];
    return code;
}

/* ---- The plan file --------------------------------------------------------------------------- */

/* Returns whether two names mean one destination. */
static bool is_same_place(const char *a, const char *b)
{
    size_t a_size = strlen(a), b_size = strlen(b);
    struct stat a_stat, b_stat;

    while (a_size > 1 && a[a_size - 1] == '/')
        a_size--;
    while (b_size > 1 && b[b_size - 1] == '/')
        b_size--;
    if (a_size == b_size && memcmp(a, b, a_size) == 0)
        return true;
    return store_is_local(a) && store_is_local(b) && stat(a, &a_stat) == 0 &&
           stat(b, &b_stat) == 0 && a_stat.st_dev == b_stat.st_dev &&
           a_stat.st_ino == b_stat.st_ino;
}

int plan_make_refuse_replacing(const char *url, const char *dest, struct sheaf_error *err)
{
    struct plan_file there;
    uint64_t bytes;
    int code = store_size(url, &bytes, err);

    if (code != SHEAF_OK)
        return code == SHEAF_ERR_NOT_FOUND ? SHEAF_OK : code;
    if (!plan_file_is(url))
        return err_set(err, SHEAF_ERR_EXISTS, "%s: exists, and is no plan: store the plan under "
                       "another name", url);
    code = plan_file_open(url, &there, err);
    if (code != SHEAF_OK)
        return code;
    if (!is_same_place(there.facts.dest, dest))
        code = err_set(err, SHEAF_ERR_EXISTS, "%s: is the plan of %s: remove it, or store this one "
                       "under another name", url, there.facts.dest);
    plan_file_close(&there);
    return code;
}

static int plan_make_write_plan(struct making *m, const char *url, struct sheaf_error *err)
{
    const struct plan *plan = &m->facts.plan;
    struct buf skipped = BUF_INIT(SIZE_MAX / 4);
    uint64_t left;
    int code = plan_make_set_facts(m, &skipped, err);

    if (code == SHEAF_OK)
        code = run_memory_left(&m->setup, m->dest, run_largest_shard(plan, 0, plan->shard_count),
                               m->options.memory_bytes, &left, err);
    if (code == SHEAF_OK)
        code = plan_store(&m->facts, &m->planner, &m->options, NULL, url, err);
    buf_free(&skipped);
    return code;
}

/* ---- The whole ------------------------------------------------------------------------------- */

static int plan_make_plan(struct making *m, const char *const *sources, size_t count,
                          const char *url, struct sheaf_error *err)
{
    struct planner *planner = &m->planner;
    int code = planner_open(planner, &m->options, &m->list, &m->problems, &m->watch,
                            &m->facts.plan, url, err);

    planner->tells_cls = true;
    planner->setup = &m->setup;
    if (code == SHEAF_OK)       /* refuses a sample that no part could pack */
        code = run_memory_left(&m->setup, m->dest, 0, m->options.memory_bytes,
                               &planner->memory_left, err);
    return code == SHEAF_OK ? planner_make(planner, sources, count, m->dest, err) : code;
}

static int make_and_write(struct making *m, const char *const *sources, size_t count,
                          const char *url, struct sheaf_error *err)
{
    const struct plan *plan = &m->facts.plan;
    int code = plan_make_plan(m, sources, count, url, err);

    if (code == SHEAF_OK)
        class_list_tell_siblings(m->dest, plan, m->options.label_base, &m->problems);
    if (code == SHEAF_OK)
        code = plan_make_write_plan(m, url, err);
    if (code == SHEAF_OK)
        planner_count_classes(&m->planner);
    planner_result(&m->planner, &m->result);
    m->result.samples = plan->sample_count;
    m->result.payload_bytes = plan->payload_bytes;
    m->result.shards = plan->shard_count;
    return code;
}

static void plan_make_close_all(struct making *m)
{
    plan_facts_free(&m->facts);
    planner_close(&m->planner);
    problems_free(&m->problems);
    class_list_free(&m->list);
    for (uint32_t s = 0; s < SPLIT_LIMIT; s++)
        free(m->json[s]);
    free(m->root);
}

int plan_make_files(const char *const *sources, size_t count, const char *dest, const char *plan,
                    const struct sheaf_pack_options *options, struct sheaf_pack_result *result,
                    struct sheaf_error *err)
{
    struct making m = { .options = *options, .dest = dest };
    int code = class_list_take(&m.list, &m.options, err);

    if (code == SHEAF_OK) {
        if (m.options.check_images == SHEAF_CHECK_USUAL)
            m.options.check_images = SHEAF_CHECK_MARKERS;
        pack_options_setup(&m.options, &m.setup);
        pack_options_watch(&m.options, &m.watch, &m.problems);
        code = make_and_write(&m, sources, count, plan, err);
    }
    plan_make_close_all(&m);
    *result = m.result;
    return code;
}
