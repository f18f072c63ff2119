/* SPDX-License-Identifier: MIT
 *
 * sheaf_plan_make: scan, plan, store the plan.  The plan is what plan_make() would have made, but
 * it is never in memory: gather.h makes streams of samples, which are cut into shards and written
 * as they come. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/manifest.h"
#include "packer/output.h"
#include "packer/pack_options.h"
#include "packer/plan/plan_file.h"
#include "packer/plan/plan_sort.h"
#include "packer/plan_convert.h"
#include "packer/run.h"
#include "packer/source/source.h"

struct making {
    struct sheaf_pack_options options;
    struct source *sources;     /* with one root */
    size_t source_count;
    struct gather gather;
    struct problems problems;
    struct watch watch;
    struct plan_facts facts;
    struct block_setup setup;
    struct target target;
    char *dest, *root;
    char *json[SPLIT_LIMIT];
    struct sheaf_pack_result result;
};

char *plan_absolute(const char *url)
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

/* ---- Sources --------------------------------------------------------------------------------- */

static int open_sources(struct making *m, const char *const *urls, size_t count,
                        struct sheaf_error *err)
{
    int code = SHEAF_OK;

    m->sources = calloc(count, sizeof(m->sources[0]));
    if (m->sources == NULL)
        return err_memory(err, count * sizeof(m->sources[0]));
    for (size_t i = 0; i < count && code == SHEAF_OK; i++) {
        code = source_open(urls[i], m->options.root, &m->sources[i], err);
        m->source_count = i + 1;
    }
    for (size_t i = 0; i < count && code == SHEAF_OK; i++)
        code = source_refuse(&m->sources[i], m->dest, err);
    return code == SHEAF_OK && count > 1 ? source_join(m->sources, count, err) : code;
}

static int scan(struct making *m, const char *const *urls, size_t count, struct sheaf_error *err)
{
    struct scan scan = { .catalog = &m->gather.catalog, .problems = &m->problems,
                         .watch = &m->watch };
    int code = open_sources(m, urls, count, err);

    for (size_t i = 0; i < count && code == SHEAF_OK; i++)
        code = source_scan(&m->sources[i], &scan, err);
    m->result.files = scan.found;
    m->result.passed_over = scan.passed_over;
    m->result.left_out = scan.left_out;
    return code;
}

/* ---- What the plan says as a whole ----------------------------------------------------------- */

static int set_facts(struct making *m, struct buf *skipped, struct sheaf_error *err)
{
    struct plan_facts *f = &m->facts;
    char *place = source_place(m->sources);
    int code = problems_write(&m->problems, 0, skipped, err);

    m->root = plan_absolute(m->sources[0].root);
    if (code == SHEAF_OK && (m->root == NULL || place == NULL))
        code = err_memory(err, strlen(m->sources[0].root));
    if (code == SHEAF_OK)
        plan_identify(&f->plan, place, true);
    free(place);
    f->dest = m->dest;
    f->root = m->sources[0].root[0] == '\0' ? "" : m->root;
    f->source = m->sources[0].ops->name;
    f->fingerprint = "";
    f->is_remote = m->sources[0].is_remote;
    plan_facts_take(f, &m->options);
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

/* ---- Shards ---------------------------------------------------------------------------------- */

struct cutting {
    struct sample_stream *stream;
    int code;
    struct sheaf_error *err;
};

/* Asked for one sample after the other. */
static uint64_t next_size(void *context, uint64_t sample)
{
    struct cutting *c = context;
    uint64_t bytes = 0;

    (void)sample;
    if (c->code == SHEAF_OK)
        c->code = spool_get_varint(&c->stream->sizes, &bytes, c->err);
    return bytes;
}

/* Cuts the samples of one split; its shards' payload is counted when they are written. */
static int cut_split(struct making *m, uint32_t s, struct sheaf_error *err)
{
    struct plan *plan = &m->facts.plan;
    struct plan_split *split = &plan->splits[s];
    struct cutting cutting = { &m->gather.streams[s], SHEAF_OK, err };
    uint64_t *starts = calloc(split->shard_count + (size_t)1, sizeof(*starts));
    int code = starts == NULL ? err_memory(err, split->shard_count * sizeof(*starts))
                              : samples_rewind(cutting.stream, err);

    if (code == SHEAF_OK) {
        plan_cut(next_size, &cutting, split->sample_count, split->payload_bytes,
                 split->shard_count, starts);
        code = cutting.code;
    }
    for (uint32_t k = 0; k < split->shard_count && code == SHEAF_OK; k++)
        plan->shards[split->shard + k] = (struct plan_shard){
            .split = s, .number = k, .sample = split->sample + starts[k], .first = starts[k],
            .sample_count = starts[k + 1] - starts[k],
        };
    free(starts);
    return code;
}

static int make_shards(struct making *m, struct sheaf_error *err)
{
    struct plan *plan = &m->facts.plan;
    int code = SHEAF_OK;

    for (uint32_t s = 0; s < plan->split_count; s++) {
        const struct sample_stream *stream = &m->gather.streams[s];
        struct plan_split *split = &plan->splits[s];
        const uint64_t count = plan_shard_count(stream->payload_bytes, stream->count,
                                                m->options.shard_bytes, m->options.shard_count);

        if (count > SHARD_LIMIT)
            return err_set(err, SHEAF_ERR_LIMIT, "%llu shards, the limit is %u",
                           (unsigned long long)count, SHARD_LIMIT);
        split->sample = plan->sample_count;
        split->sample_count = stream->count;
        split->payload_bytes = stream->payload_bytes;
        split->cls_is_label = stream->cls_is_label;
        split->shard = (uint32_t)plan->shard_count;
        split->shard_count = (uint32_t)count;
        plan->shard_count += count;
        plan->sample_count += stream->count;
        plan->payload_bytes += stream->payload_bytes;
    }
    plan->shards = calloc(MAX(plan->shard_count, (size_t)1), sizeof(plan->shards[0]));
    if (plan->shards == NULL)
        return err_memory(err, plan->shard_count * sizeof(plan->shards[0]));
    for (uint32_t s = 0; s < plan->split_count && code == SHEAF_OK; s++)
        code = cut_split(m, s, err);
    return code;
}

/* ---- The plan file --------------------------------------------------------------------------- */

struct writing {
    struct plan_writer *out;
    XXH3_state_t *hash;
    struct buf found, record;
    uint64_t memory;            /* that a sample may take when it is packed */
    struct sheaf_progress progress;
};

static int write_sample(struct making *m, struct writing *w, struct plan_shard *shard,
                        struct sheaf_error *err)
{
    struct sample_stream *stream = &m->gather.streams[shard->split];
    struct plan_record_head head;
    uint64_t payload;
    int code = samples_get(stream, &w->found, &payload, err);

    if (code == SHEAF_OK)
        code = plan_record_head(w->found.data, w->found.size, &head, err);
    if (code == SHEAF_OK)
        code = run_check_sample(&m->setup, (const char *)head.key, head.key_size, payload,
                                head.file_count, w->memory, err);
    if (code != SHEAF_OK)
        return code;
    w->record.size = 0;
    code = plan_record_relabel(w->found.data, w->found.size, m->gather.renamed[head.label],
                               &w->record, err);
    if (code == SHEAF_OK)
        code = plan_record_hash(w->record.data, w->record.size, w->hash, &shard->source, err);
    if (code == SHEAF_OK)
        code = plan_writer_add(w->out, w->record.data, w->record.size, head.file_count, err);
    shard->payload_bytes += payload;
    m->result.files_packed += head.file_count;
    return code;
}

static int write_shard(struct making *m, struct writing *w, struct plan_shard *shard,
                       struct sheaf_error *err)
{
    int code = watch_check(&m->watch, err);

    plan_hash_shard(w->hash, m->facts.plan.splits[shard->split].name, shard->number,
                    shard->sample_count);
    for (uint64_t i = 0; i < shard->sample_count && code == SHEAF_OK; i++)
        code = write_sample(m, w, shard, err);
    w->progress.done_count += shard->sample_count;
    watch_show(&m->watch, &w->progress);
    return code == SHEAF_OK ? plan_writer_end_shard(w->out, err) : code;
}

static int write_sections(struct making *m, struct writing *w, struct sheaf_error *err)
{
    struct plan *plan = &m->facts.plan;
    int code = run_memory_left(&m->setup, m->dest, 0, m->options.memory_bytes, &w->memory, err);

    w->hash = plan_hash_begin(plan, &m->options, plan->shard_count);
    if (w->hash == NULL)
        return err_memory(err, 1024);
    w->progress.total_count = plan->sample_count;
    for (uint32_t s = 0; s < plan->split_count && code == SHEAF_OK; s++)
        code = samples_rewind(&m->gather.streams[s], err);
    for (size_t i = 0; i < plan->shard_count && code == SHEAF_OK; i++)
        code = write_shard(m, w, &plan->shards[i], err);
    plan_hash_end(w->hash, plan->hash);
    return code;
}

static int check(struct making *m, struct sheaf_error *err)
{
    const struct plan *plan = &m->facts.plan;
    uint64_t left;
    int code = target_open(&m->target, m->dest, &m->setup, m->options.prefix, plan, err);

    if (code == SHEAF_OK)
        code = run_memory_left(&m->setup, m->dest, run_largest_shard(plan, 0, plan->shard_count),
                               m->options.memory_bytes, &left, err);
    if (code == SHEAF_OK)
        code = store_make_directory(m->dest, err);
    for (size_t i = 0; i < m->source_count && code == SHEAF_OK; i++)
        code = source_refuse(&m->sources[i], m->dest, err);
    if (code == SHEAF_OK)
        code = target_check(&m->target, m->options.resume, m->options.overwrite, err);
    return code;
}

/* Nothing is removed for a plan that is not stored, nor by one that would be refused. */
static int prepare(struct making *m, struct sheaf_error *err)
{
    bool finished;

    m->target.joins = true;
    return target_prepare(&m->target, m->options.resume, m->options.overwrite, &finished, err);
}

static int write_plan(struct making *m, const char *url, struct sheaf_error *err)
{
    struct writing w = { .found = BUF_INIT(SIZE_MAX / 4), .record = BUF_INIT(SIZE_MAX / 4),
                         .progress.stage = "write" };
    struct buf skipped = BUF_INIT(SIZE_MAX / 4);
    int code = plan_writer_open(url, &w.out, err);

    if (code == SHEAF_OK)
        code = write_sections(m, &w, err);
    if (code == SHEAF_OK)
        code = problems_conserve(&m->problems, m->result.files, m->result.files_packed, err);
    if (code == SHEAF_OK)
        code = set_facts(m, &skipped, err);
    if (code == SHEAF_OK)
        code = check(m, err);
    if (code == SHEAF_OK)
        code = plan_writer_commit(w.out, &m->facts, err);
    else
        plan_writer_abort(w.out);
    if (code == SHEAF_OK)
        code = prepare(m, err);
    buf_free(&skipped);
    buf_free(&w.found);
    buf_free(&w.record);
    return code;
}

/* ---- The whole ------------------------------------------------------------------------------- */

static int make_plan(struct making *m, const char *source, struct sheaf_error *err)
{
    struct plan *plan = &m->facts.plan;
    int code = gather_samples(&m->gather, plan, err);

    code = problems_after(&m->problems, code, err);
    if (code == SHEAF_OK)
        code = make_shards(m, err);
    if (code == SHEAF_OK && plan->sample_count == 0)
        code = err_set(err, SHEAF_ERR_NOT_FOUND, "%s: no file that could be packed (%llu found)",
                       source, (unsigned long long)m->result.files);
    m->result.samples = plan->sample_count;
    m->result.payload_bytes = plan->payload_bytes;
    m->result.shards = plan->shard_count;
    m->result.skipped = m->problems.count;
    return code;
}

static int run(struct making *m, const char *const *sources, size_t count, const char *url,
               struct sheaf_error *err)
{
    const bool is_local = store_of(url, NULL) == &store_file_ops;
    int code = gather_open(&m->gather, &m->options, &m->problems, &m->watch,
                           is_local ? url : NULL, err);

    if (code == SHEAF_OK)
        code = scan(m, sources, count, err);
    if (code == SHEAF_OK)
        code = make_plan(m, sources[0], err);
    return code == SHEAF_OK ? write_plan(m, url, err) : code;
}

static void close_all(struct making *m)
{
    target_close(&m->target);
    plan_facts_free(&m->facts);
    gather_close(&m->gather);
    problems_free(&m->problems);
    for (size_t i = 0; i < m->source_count; i++)
        source_close(&m->sources[i]);
    free(m->sources);
    for (uint32_t s = 0; s < SPLIT_LIMIT; s++)
        free(m->json[s]);
    free(m->root);
    free(m->dest);
}

int sheaf_plan_make(const char *const *sources, size_t count, const char *dest, const char *plan,
                    const struct sheaf_pack_options *options, struct sheaf_pack_result *result,
                    struct sheaf_error *error)
{
    struct making m = { .dest = plan_absolute(dest), .target.lock = -1 };
    struct sheaf_error found;
    bool is_conversion = false;
    int code = m.dest == NULL ? err_memory(&found, strlen(dest))
                              : pack_options_take(options, &m.options, &found);

    if (code == SHEAF_OK && count == 0)
        code = err_set(&found, SHEAF_ERR_ARGUMENT, "no sources");
    if (code == SHEAF_OK && count == 1) {
        code = plan_convert(sources[0], m.dest, plan, &m.options, &m.result, &found);
        is_conversion = code != SHEAF_END;
        code = code == SHEAF_END ? SHEAF_OK : code;
    }
    if (code == SHEAF_OK && !is_conversion) {
        pack_options_setup(&m.options, &m.setup);
        pack_options_watch(&m.options, &m.watch, &m.problems);
        code = run(&m, sources, count, plan, &found);
    }
    close_all(&m);
    if (result != NULL)
        *result = m.result;
    if (code != SHEAF_OK && error != NULL)
        *error = found;
    return code;
}
