/* SPDX-License-Identifier: MIT
 *
 * sheaf_plan_make: scan, plan, store the plan. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "packer/pack_options.h"
#include "packer/plan_file.h"
#include "packer/source.h"
#include "packer/target.h"

struct making {
    struct sheaf_pack_options options;
    struct source source;
    struct catalog catalog;
    struct problems problems;
    struct watch watch;
    struct plan_facts facts;
    struct block_setup setup;
    struct target target;
    char *dest, *root;
    char *json[SPLIT_LIMIT];
    struct sheaf_pack_result result;
};

/* A path that means the same wherever a process was started; URLs are as they are. */
static char *absolute(const char *url)
{
    char *here, *path;

    if (strncmp(url, "file://", 7) == 0)
        url += 7;
    if (store_of(url, NULL) != &store_file_ops || url[0] == '/')
        return strdup(url);
    here = getcwd(NULL, 0);
    path = here == NULL ? NULL : store_join(here, url);
    free(here);
    return path;
}

static int scan(struct making *m, const char *source, struct sheaf_error *err)
{
    struct scan scan = { .catalog = &m->catalog, .problems = &m->problems, .watch = &m->watch };
    int code = source_open(source, m->options.root, &m->source, err);

    if (code != SHEAF_OK)
        return code;
    if (source_contains(&m->source, m->dest))
        return err_set(err, SHEAF_ERR_ARGUMENT,
                       "%s: lies in the source %s, which would then be packed into itself",
                       m->dest, source);
    code = source_scan(&m->source, &scan, err);
    m->result.files = scan.found;
    return code;
}

static int set_facts(struct making *m, struct buf *skipped, struct sheaf_error *err)
{
    struct plan_facts *f = &m->facts;
    int code = problems_write(&m->problems, 0, skipped, err);

    m->root = absolute(m->source.root);
    if (code == SHEAF_OK && m->root == NULL)
        code = err_memory(err, strlen(m->source.root));
    f->dest = m->dest;
    f->root = m->source.root[0] == '\0' ? "" : m->root;
    f->source = source_kind_name(&m->source);
    f->is_remote = source_is_remote(&m->source);
    f->container = m->options.container;
    f->codec = m->options.codec;
    f->single_member = m->options.single_member != 0;
    f->label_base = m->options.label_base;
    f->on_error = m->options.on_error;
    f->prefix = m->options.prefix;
    f->index = m->options.index == NULL ? "" : m->options.index;
    f->skipped = (const char *)skipped->data;
    f->skipped_bytes = skipped->size;
    f->found = m->result.files;
    for (uint32_t s = 0; s < f->plan.split_count && code == SHEAF_OK; s++) {
        m->json[s] = pack_options_json(&m->options, f->source, f->plan.hash,
                                       f->plan.splits[s].name);
        f->options_json[s] = m->json[s];
        if (m->json[s] == NULL)
            code = err_memory(err, 1024);
    }
    return code;
}

static int write_shard(struct plan_writer *w, const struct plan *plan,
                       const struct plan_shard *shard, struct buf *record,
                       struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (uint64_t i = 0; i < shard->sample_count && code == SHEAF_OK; i++) {
        const struct plan_sample *s = &plan->samples[shard->sample + i];

        record->size = 0;
        code = plan_record_write(s, &plan->files[s->file], record, err);
        if (code == SHEAF_OK)
            code = plan_writer_add(w, record->data, record->size, s->file_count, err);
    }
    return code == SHEAF_OK ? plan_writer_end_shard(w, err) : code;
}

static int write_plan(struct making *m, const char *url, struct sheaf_error *err)
{
    const struct plan *plan = &m->facts.plan;
    struct buf record = BUF_INIT(PLAN_BLOCK_LIMIT);
    struct plan_writer *w = NULL;
    int code = plan_writer_open(url, &w, err);

    for (size_t i = 0; i < plan->shard_count && code == SHEAF_OK; i++)
        code = write_shard(w, plan, &plan->shards[i], &record, err);
    if (code == SHEAF_OK)
        code = plan_writer_commit(w, &m->facts, err);
    else
        plan_writer_abort(w);
    buf_free(&record);
    return code;
}

static int make_plan(struct making *m, const char *source, struct sheaf_error *err)
{
    struct plan *plan = &m->facts.plan;
    int code = plan_make(&m->catalog, &m->options, &m->problems, plan, err);

    if (code == SHEAF_OK)
        code = problems_verdict(&m->problems, err);
    if (code == SHEAF_OK && plan->sample_count == 0)
        code = err_set(err, SHEAF_ERR_NOT_FOUND, "%s: no file that could be packed (%llu found)",
                       source, (unsigned long long)m->result.files);
    m->result.samples = plan->sample_count;
    m->result.payload_bytes = plan->payload_bytes;
    m->result.shards = plan->shard_count;
    m->result.plan_bytes = plan->memory_bytes;
    m->result.skipped = m->problems.count;
    return code;
}

static int run(struct making *m, const char *source, const char *url, struct sheaf_error *err)
{
    struct buf skipped = BUF_INIT(SIZE_MAX / 4);
    bool finished;
    int code = scan(m, source, err);

    if (code == SHEAF_OK)
        code = make_plan(m, source, err);
    if (code == SHEAF_OK)
        code = set_facts(m, &skipped, err);
    if (code == SHEAF_OK)
        code = target_open(&m->target, m->dest, &m->setup, m->options.prefix, &m->facts.plan,
                           err);
    if (code == SHEAF_OK)
        code = target_prepare(&m->target, m->options.resume, m->options.overwrite, &finished,
                              err);
    if (code == SHEAF_OK)
        code = write_plan(m, url, err);
    buf_free(&skipped);
    return code;
}

static void close_all(struct making *m)
{
    target_close(&m->target);
    plan_facts_free(&m->facts);
    catalog_free(&m->catalog);
    problems_free(&m->problems);
    source_close(&m->source);
    for (uint32_t s = 0; s < SPLIT_LIMIT; s++)
        free(m->json[s]);
    free(m->root);
    free(m->dest);
}

int sheaf_plan_make(const char *const *sources, size_t count, const char *dest, const char *plan,
                    const struct sheaf_pack_options *options, struct sheaf_pack_result *result,
                    struct sheaf_error *error)
{
    struct making m = { .source.root_fd = -1, .dest = absolute(dest), .target.lock = -1 };
    struct sheaf_error found;
    int code = m.dest == NULL ? err_memory(&found, strlen(dest))
                              : pack_options_take(options, &m.options, &found);

    if (code == SHEAF_OK && count != 1)
        code = err_set(&found, SHEAF_ERR_ARGUMENT, "%zu sources, expected 1", count);
    if (code == SHEAF_OK) {
        pack_options_setup(&m.options, &m.setup);
        pack_options_watch(&m.options, &m.watch, &m.problems);
        code = run(&m, sources[0], plan, &found);
    }
    close_all(&m);
    if (result != NULL)
        *result = m.result;
    if (code != SHEAF_OK && error != NULL)
        *error = found;
    return code;
}
