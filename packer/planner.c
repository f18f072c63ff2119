/* SPDX-License-Identifier: MIT
 *
 * Turns sources into the sections of a plan. */
#include "packer/planner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/error.h"
#include "publish/destination.h"
#include "packer/few_fields.h"
#include "packer/pack_options.h"
#include "packer/run.h"
#include "packer/trial.h"
#include "store/interrupt.h"
#include "store/store.h"

/* ---- Sources --------------------------------------------------------------------------------- */

int planner_open(struct planner *p, const struct sheaf_pack_options *options,
                 struct class_list *list, struct problems *problems, struct watch *watch,
                 struct plan *plan, const char *near, struct sheaf_error *err)
{
    int code;

    *p = (struct planner){
        .options = options, .problems = problems, .watch = watch, .plan = plan,
    };
    if (list != NULL) {
        p->list = *list;
        *list = (struct class_list){ .count = 0 };
    }
    code = filter_open(&p->filter, options->filters, options->filter_count, err);
    if (code == SHEAF_OK)
        code = naming_open(&p->naming, options, err);
    if (code == SHEAF_OK)
        code = plan_sort_open(&p->sort, options, problems, watch,
                              near != NULL && store_is_local(near) ? near : NULL, err);
    return code;
}

void planner_close(struct planner *p)
{
    class_list_free(&p->list);
    plan_sort_close(&p->sort);
    plan_sections_free(&p->sections);
    for (uint32_t s = 0; s < SPLIT_LIMIT; s++)
        free(p->options_json[s]);
    filter_close(&p->filter);
    naming_close(&p->naming);
    for (size_t i = 0; i < p->source_count; i++)
        source_close(&p->sources[i]);
    free(p->sources);
    p->sources = NULL;
    p->source_count = 0;
}

static int planner_open_sources(struct planner *p, const char *const *urls, size_t count,
                                struct sheaf_error *err)
{
    int code = SHEAF_OK;

    p->name = urls[0];
    p->sources = calloc(count, sizeof(p->sources[0]));
    if (p->sources == NULL)
        return err_memory(err, count * sizeof(p->sources[0]));
    for (size_t i = 0; i < count && code == SHEAF_OK; i++) {
        code = source_open(urls[i], p->options->root, &p->sources[i], err);
        p->source_count = i + 1;
    }
    return code;
}

/* Returns an error if a source is itself a data set. Otherwise its shards would be packed as if
 * they were files of samples. */
static int refuse_dataset(const struct source *source, struct sheaf_error *err)
{
    struct manifest manifest;

    if (!source->ops->is_tree ||
        destination_read_manifest(source->url, &manifest, NULL) != SHEAF_OK)
        return SHEAF_OK;
    manifest_clear(&manifest);
    return err_set(err, SHEAF_ERR_ARGUMENT, "%s: is a data set, not files to pack: convert it, "
                   "or unpack it first", source->url);
}

int planner_refuse(const struct planner *p, const char *dest, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (size_t i = 0; i < p->source_count && code == SHEAF_OK; i++)
        code = source_refuse(&p->sources[i], dest, err);
    return code;
}

/* An alias is a new name that the user gave to a field, as in "jpeg=jpg". Reports aliases that
 * renamed no field, because they may be misspelled. */
static void tell_aliases(const struct planner *p)
{
    const char *const *aliases = p->naming.aliases;

    for (size_t i = 0; aliases != NULL && aliases[i] != NULL; i++)
        if (!p->naming.used[i])
            problems_note(p->problems, SHEAF_REASON_UNUSED_FILTER, aliases[i],
                          "the field alias \"%s\" has renamed nothing", aliases[i]);
}

#define LEFT_OUT_ROOM 80

/* Sets `text` to the number of directories and files that a filter left out, as in "2 directories
 * and 1 file". Returns `text`. */
static const char *left_out_text(const struct filter_rule *rule, char text[LEFT_OUT_ROOM])
{
    const uint64_t files = rule->left_out - rule->directories;
    int size = 0;

    text[0] = '\0';
    if (rule->directories != 0)
        size = snprintf(text, LEFT_OUT_ROOM, "%llu director%s%s",
                        (unsigned long long)rule->directories,
                        rule->directories == 1 ? "y" : "ies", files == 0 ? "" : " and ");
    if (files != 0)
        snprintf(text + size, LEFT_OUT_ROOM - (size_t)size, "%llu file%s",
                 (unsigned long long)files, plural(files));
    return text;
}

/* Reports how many files each pattern of the filter left out. Also reports patterns that had no
 * effect, because they may be misspelled. */
static void tell_filters(const struct planner *p)
{
    for (size_t i = 0; i < p->filter.count; i++) {
        const struct filter_rule *rule = &p->filter.rules[i];
        char text[LEFT_OUT_ROOM];

        if (!rule->matched)
            problems_note(p->problems, SHEAF_REASON_UNUSED_FILTER, rule->given.pattern,
                          "the pattern \"%s\" has decided nothing", rule->given.pattern);
        else if (rule->left_out != 0)
            problems_note(p->problems, SHEAF_REASON_NONE, rule->given.pattern,
                          "%s left out by the pattern \"%s\"",
                          left_out_text(rule, text), rule->given.pattern);
    }
    if (p->filter.unmatched != 0)
        problems_note(p->problems, SHEAF_REASON_NONE, "", "%llu file%s left out that no pattern "
                      "includes", (unsigned long long)p->filter.unmatched,
                      plural(p->filter.unmatched));
}

/* Reports that the source consists of Parquet files, whose rows are probably the samples that the
 * user wants. Each file is packed whole, as one field. */
static void tell_parquet(const struct planner *p, const struct scan *scan)
{
    if (scan->parquet != 0 && scan->parquet == scan->found)
        problems_note(p->problems, SHEAF_REASON_NONE, p->sources[0].url, "%s: all "
                      "files (%llu) are Parquet files, and each becomes one field of one sample: "
                      "to make a sample of each row, use sheaf.pack(sheaf.sources.parquet(...)) in "
                      "Python", p->sources[0].url, (unsigned long long)scan->found);
}

static int scan_sources(struct planner *p, struct sheaf_error *err)
{
    struct scan scan = { .catalog = &p->sort.catalog, .problems = p->problems,
                         .watch = p->watch, .filter = &p->filter,
                         .naming = &p->naming, .class_depth = p->options->class_depth };
    int code = p->source_count > 1 ? source_join(p->sources, p->source_count, err) : SHEAF_OK;

    for (size_t i = 0; i < p->source_count && code == SHEAF_OK; i++)
        code = source_scan(&p->sources[i], &scan, err);
    scan_end(&scan);
    p->files = scan.found;
    p->passed_over = scan.passed_over;
    p->left_out = scan.left_out;
    p->filtered = scan.filtered;
    p->has_directories = scan.has_directories;
    problems_limit(p->problems, p->files);
    if (code == SHEAF_OK)
        tell_filters(p);
    if (code == SHEAF_OK)
        tell_aliases(p);
    if (code == SHEAF_OK)
        tell_parquet(p, &scan);
    return code;
}

/* ---- Shards ---------------------------------------------------------------------------------- */

struct cutting {
    struct sample_stream *stream;
    int code;
    struct sheaf_error *err;
};

/* Returns the sizes of consecutive samples. */
static uint64_t next_size(void *context, uint64_t sample)
{
    struct cutting *c = context;
    uint64_t bytes = 0;

    (void)sample;
    if (c->code == SHEAF_OK)
        c->code = tempfile_get_varint(&c->stream->sizes, &bytes, c->err);
    return bytes;
}

/* Divides the samples of split number `s` into shards. The payload sizes of the shards are counted
 * later, when their samples are written to the plan. */
static int cut_split(struct planner *p, uint32_t s, struct sheaf_error *err)
{
    struct plan *plan = p->plan;
    struct plan_split *split = &plan->splits[s];
    struct cutting cutting = { &p->sort.streams[s], SHEAF_OK, err };
    const struct plan_grow *grow = p->sort.grow;
    const uint64_t first_shard = grow == NULL ? 0 : grow->splits[s].first_shard;
    const uint64_t first_number = grow == NULL ? 0 : grow->splits[s].first_number;
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
            .split = s, .number = (uint32_t)(first_shard + k), .sample = split->sample + starts[k],
            .first = first_number + starts[k],
            .sample_count = starts[k + 1] - starts[k],
        };
    free(starts);
    return code;
}

/* Sets the totals of a plan that re-creates existing shards. Such a plan has a single split. */
static int planner_count_places(struct planner *p)
{
    const struct sample_stream *stream = &p->sort.streams[0];
    struct plan *plan = p->plan;

    plan->splits[0].sample_count = plan->sample_count = stream->count;
    plan->splits[0].payload_bytes = plan->payload_bytes = stream->payload_bytes;
    plan->splits[0].cls_is_label = stream->cls_is_label;
    plan->splits[0].shard_count = (uint32_t)plan->shard_count;
    return SHEAF_OK;
}

static int planner_make_shards(struct planner *p, struct sheaf_error *err)
{
    const bool grows = p->sort.grow != NULL;
    struct plan *plan = p->plan;
    int code = SHEAF_OK;

    if (p->sort.places != NULL)
        return planner_count_places(p);
    for (uint32_t s = 0; s < plan->split_count; s++) {
        const struct sample_stream *stream = &p->sort.streams[s];
        struct plan_split *split = &plan->splits[s];
        const uint64_t first = grows ? MIN(p->sort.grow->splits[s].first_shard, SHARD_LIMIT) : 0;
        const uint64_t count = grows && stream->count == 0 ? 0 :
                               plan_shard_count(stream->payload_bytes, stream->count,
                                                p->options->shard_bytes, p->options->shard_count);

        if (count > SHARD_LIMIT - first)
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
        code = cut_split(p, s, err);
    return code;
}

static unsigned depth_of(const char *name)
{
    unsigned depth = 1;

    for (; *name != '\0'; name++)
        depth += *name == '/';
    return depth;
}

/* Reports if classes are directories of different depths ("cats" and "dogs/big"). This may be a
 * mistake, because the directory of one class may lie inside the directory of another class. */
static void tell_depths(const struct planner *p)
{
    const char *deep = NULL, *flat = NULL;

    for (uint32_t i = 1; i < p->plan->label_count && p->has_directories; i++) {
        const char *name = p->plan->labels[i].class_name;

        if (name == NULL || p->options->class_depth != 0)
            continue;
        deep = deep == NULL || depth_of(name) > depth_of(deep) ? name : deep;
        flat = flat == NULL || depth_of(name) < depth_of(flat) ? name : flat;
    }
    if (deep != NULL && depth_of(deep) != depth_of(flat))
        problems_note(p->problems, SHEAF_REASON_CLASS_DEPTH, deep, "classes are directories of "
                      "different depths: \"%.200s\" is one of %u, \"%.200s\" of %u", deep,
                      depth_of(deep), flat, depth_of(flat));
}

void planner_count_classes(const struct planner *p)
{
    for (uint32_t i = 0; i < p->plan->class_count && p->options->class_count != NULL; i++) {
        const struct sheaf_class_count count = {
            p->plan->classes[i], (int64_t)i + p->options->label_base, p->plan->class_samples[i],
        };

        p->options->class_count(p->options->context, &count);
    }
}

/* Groups the files into samples and sorts them. If bad files are skipped and a split gets a fixed
 * number of good samples, also tests each sample. */
static int sort_samples(struct planner *p, struct sheaf_error *err)
{
    const bool tries = p->options->split != NULL && p->options->on_error == SHEAF_SKIP;
    struct trial trial;
    int code = tries ? trial_open(&trial, p->options, p->sources, err) : SHEAF_OK;

    if (code != SHEAF_OK)
        return code;
    p->sort.try = tries ? trial_try : NULL;
    p->sort.try_context = tries ? &trial : NULL;
    code = problems_after(p->problems, plan_sort_samples(&p->sort, p->plan, err), err);
    if (tries)
        trial_close(&trial);
    return code;
}

/* Groups the files into samples, and divides the samples into shards. */
static int planner_divide(struct planner *p, struct sheaf_error *err)
{
    int code;

    p->sort.source = p->sources;
    p->sort.tells_cls = p->tells_cls;
    p->sort.refuses_empty = p->finds_empty && p->options->check_images != SHEAF_CHECK_NONE;
    p->sort.classes = p->list.count == 0 ? NULL : &p->list.classes;
    code = sort_samples(p, err);
    p->files -= p->sort.merged + p->sort.unplaced;
    if (code == SHEAF_OK)
        code = planner_make_shards(p, err);
    if (code == SHEAF_OK)
        tell_depths(p);
    /* An append may have nothing to pack, because the data set already has all samples of the
     * source. This is not an error. */
    if (code == SHEAF_OK && p->plan->sample_count == 0 && p->sort.places == NULL &&
        !problems_have_known(p->problems))
        code = err_set(err, SHEAF_ERR_NOT_FOUND, "%s: no file can be packed (%llu found, %llu left "
                       "out by patterns)", p->name, (unsigned long long)p->files,
                       (unsigned long long)p->filtered);
    return code;
}

/* ---- Samples --------------------------------------------------------------------------------- */

struct shard_writing {
    struct plan_sections *out;
    XXH3_state_t *hash;
    struct buf found, record;
    /* true if a file is an image other than a JPEG */
    bool has_other_images;
    struct sheaf_progress progress;
};

static int write_sample(struct planner *p, struct shard_writing *w, struct plan_shard *shard,
                        struct sheaf_error *err)
{
    struct sample_stream *stream = &p->sort.streams[shard->split];
    struct plan_record_head head;
    uint64_t payload;
    int code = samples_get(stream, &w->found, &payload, err);

    if (code == SHEAF_OK)
        code = plan_record_head(w->found.data, w->found.size, &head, err);
    if (code == SHEAF_OK && p->fields != NULL)
        code = few_fields_count(&p->fields[shard->split], w->found.data, w->found.size, err);
    if (code != SHEAF_OK)
        return code;
    w->record.size = 0;
    code = plan_record_relabel(w->found.data, w->found.size, p->sort.renamed[head.label],
                               &w->record, err);
    if (code == SHEAF_OK)
        code = plan_record_hash(w->record.data, w->record.size, w->hash, &shard->source,
                                &w->has_other_images, err);
    if (code == SHEAF_OK)
        code = plan_sections_add(w->out, w->record.data, w->record.size, head.file_count, err);
    shard->payload_bytes += payload;
    shard->largest = MAX(shard->largest, payload);
    p->files_packed += head.file_count;
    return code;
}

static int planner_write_shard(struct planner *p, struct shard_writing *w, struct plan_shard *shard,
                               struct sheaf_error *err)
{
    int code = watch_check(p->watch, err);

    plan_hash_shard(w->hash, p->plan->splits[shard->split].name, shard->number,
                    shard->sample_count);
    for (uint64_t i = 0; i < shard->sample_count && code == SHEAF_OK; i++)
        code = write_sample(p, w, shard, err);
    w->progress.done_count += shard->sample_count;
    watch_show(p->watch, &w->progress);
    return code == SHEAF_OK ? plan_sections_end_shard(w->out, err) : code;
}

static int write_shards(struct planner *p, struct shard_writing *w, struct sheaf_error *err)
{
    struct plan *plan = p->plan;
    int code = SHEAF_OK;

    w->hash = plan_hash_begin(plan, p->options, plan->shard_count);
    if (w->hash == NULL)
        return err_memory(err, 1024);
    w->progress.total_count = plan->sample_count;
    for (uint32_t s = 0; s < plan->split_count && code == SHEAF_OK; s++)
        code = samples_rewind(&p->sort.streams[s], err);
    for (size_t i = 0; i < plan->shard_count && code == SHEAF_OK; i++)
        code = planner_write_shard(p, w, &plan->shards[i], err);
    if (w->has_other_images && p->options->container == SHEAF_TFRECORD)
        plan_hash_images(w->hash);
    plan_hash_end(w->hash, plan->hash);
    return code;
}

static int write_plan(struct planner *p, struct sheaf_error *err)
{
    struct shard_writing w = { .out = &p->sections, .found = BUF_INIT(SIZE_MAX / 4),
                         .record = BUF_INIT(SIZE_MAX / 4), .progress.stage = "write" };
    int code = write_shards(p, &w, err);

    plan_sort_end(&p->sort);
    buf_free(&w.found);
    buf_free(&w.record);
    if (code == SHEAF_OK)
        code = plan_sections_end(&p->sections, err);
    return code == SHEAF_OK ? problems_conserve(p->problems, p->files, p->files_packed, err)
                            : code;
}

/* Number of bytes of the plan that stay in memory while the blocks are packed; the rest is in a
 * temporary file. The number is constant, so packing ten times the files needs no more memory. */
#define SECTION_BYTES ((size_t)1 << 20)

int planner_plan(struct planner *p, struct sheaf_error *err)
{
    int code = planner_divide(p, err);

    if (code == SHEAF_OK)
        code = plan_sections_open(&p->sections, p->sort.directory,
                                  MIN(p->sort.memory_bytes, SECTION_BYTES), err);
    return code == SHEAF_OK ? write_plan(p, err) : code;
}

struct plan_rows planner_rows(const struct planner *p)
{
    return plan_sections_rows(&p->sections, p->plan);
}

/* ---- The whole ------------------------------------------------------------------------------- */

static int planner_make_plan(struct planner *p, const char *const *urls, size_t count,
                             const char *dest, struct sheaf_error *err)
{
    int code = planner_open_sources(p, urls, count, err);

    for (size_t i = 0; i < count && code == SHEAF_OK; i++)
        code = refuse_dataset(&p->sources[i], err);
    if (code == SHEAF_OK && dest != NULL)
        code = planner_refuse(p, dest, err);
    if (code == SHEAF_OK && p->url != NULL)
        code = planner_refuse(p, p->url, err);
    if (code == SHEAF_OK)
        code = scan_sources(p, err);
    return code == SHEAF_OK ? planner_plan(p, err) : code;
}

/* Scans the sources and makes the plan. The caller can interrupt only this step. Later steps cannot
 * be interrupted, because they would leave the destination half changed. */
int planner_make(struct planner *p, const char *const *urls, size_t count, const char *dest,
                 struct sheaf_error *err)
{
    const volatile int *before = interrupt_watch(p->options->interrupt);
    const int code = planner_make_plan(p, urls, count, dest, err);

    interrupt_watch(before);
    return code;
}

/* ---- The plan as a whole --------------------------------------------------------------------- */

void planner_setup(const struct planner *p, struct block_setup *setup)
{
    setup->context.classes = p->plan->classes;
    setup->context.class_count = p->plan->class_count;
    setup->source = p->sources;
    setup->interrupt = p->options->interrupt;
}

int planner_identify(const struct planner *p, bool of_sources, struct sheaf_error *err)
{
    const struct plan_grow *grow = p->sort.grow;
    char *root = source_root_name(p->sources), *onto = NULL;

    if (root == NULL ||
        (grow != NULL && asprintf(&onto, "%s\n%s", root, grow->fingerprint) < 0)) {
        free(root);
        return err_memory(err, strlen(p->sources[0].root));
    }
    if (grow != NULL) {
        free(root);
        root = onto;
    }
    plan_identify(p->plan, root, true);
    memcpy(p->plan->origin, p->plan->identity, PLAN_HASH_SIZE);
    plan_identify(p->plan, root, of_sources);
    free(root);
    return SHEAF_OK;
}

/* Adds to the options `json` the number of values from list files that could not become fields.
 * Does nothing if this number is 0. */
static int add_left_out(const struct planner *p, char **json, struct sheaf_error *err)
{
    char *own = *json;

    if (p->problems->left_out_values == 0)
        return SHEAF_OK;
    if (asprintf(json, "{\"left_out_values\":%llu,%s",
                 (unsigned long long)p->problems->left_out_values, own + 1) < 0) {
        *json = own;
        return err_memory(err, strlen(own));
    }
    free(own);
    return SHEAF_OK;
}

int planner_options_json(struct planner *p, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (uint32_t s = 0; s < p->plan->split_count && code == SHEAF_OK; s++) {
        p->options_json[s] = pack_options_json(p->options, p->sources[0].ops->name, p->plan->hash,
                                               p->plan->splits[s].name);
        code = p->options_json[s] == NULL ? err_memory(err, 1024)
                                          : add_left_out(p, &p->options_json[s], err);
    }
    return code;
}

void planner_result(const struct planner *p, struct sheaf_pack_result *result)
{
    result->files = p->files;
    result->passed_over = p->passed_over;
    result->left_out = p->left_out;
    result->filtered = p->filtered;
    result->files_packed = p->files_packed;
    result->skipped = p->problems->count;
    result->plan_bytes = p->sort.memory_peak;
    problems_tell_labels(p->problems, p->sort.grow != NULL && p->sort.grow->classes.count != 0,
                         result);
}
