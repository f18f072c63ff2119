/* SPDX-License-Identifier: MIT
 *
 * Makes damaged shards again from the files that were packed.
 *
 * First, the plan, which says which file goes into which shard, is computed again from these files
 * and from the options in the manifest. Then the packer's engine packs only the damaged shards, and
 * reads only their files. A new shard is compared with the hash in the manifest before it replaces
 * the damaged shard (publish/output_shard.c). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "copy/repair.h"
#include "formats/interop_index.h"
#include "formats/manifest_edit.h"
#include "image/image.h"
#include "packer/grow.h"
#include "packer/pack_options.h"
#include "packer/planner.h"
#include "packer/run.h"

struct remaking {
    struct repair *repair;
    struct grow facts;          /* the options for names and images */
    struct sheaf_pack_options options;
    char *split, *split_name, *order, *check, **filters;
    struct sheaf_filter *filter_table;
    struct class_list list;
    struct problems problems, converted;
    struct planner planner;
    struct plan plan;
    struct plan_stash stash;
    struct block_setup setup;
    /* if the data set is a split: the index of this split in the new plan */
    uint32_t plan_split;
    char *plan_hash, *source;   /* of the data set, in its manifest */
};

/* ---- Options --------------------------------------------------------------------------------- */

static int repair_plan_take_filters(struct remaking *m, struct sheaf_error *err)
{
    const struct manifest *manifest = m->repair->manifest;
    size_t count = 0;
    int code = manifest_option_texts(manifest, "filters", &m->filters, err);

    while (code == SHEAF_OK && m->filters != NULL && m->filters[count] != NULL)
        count++;
    m->filter_table = calloc(count + 1, sizeof(m->filter_table[0]));
    if (code == SHEAF_OK && m->filter_table == NULL)
        code = err_memory(err, count * sizeof(m->filter_table[0]));
    for (size_t i = 0; i < count && code == SHEAF_OK; i++)
        m->filter_table[i] = (struct sheaf_filter){ .pattern = m->filters[i] + 1,
                                                    .packs = m->filters[i][0] == '+' };
    m->options.filters = m->filter_table;
    m->options.filter_count = count;
    return code;
}

static int repair_plan_take_order(struct remaking *m, struct sheaf_error *err)
{
    const struct manifest *manifest = m->repair->manifest;
    char *seed = NULL;
    int code = manifest_option(manifest, "order", &m->order, err);

    if (code == SHEAF_OK)
        code = manifest_option(manifest, "seed", &seed, err);
    if (code == SHEAF_OK)
        code = manifest_option_number(manifest, "shard_count", &m->options.shard_count, err);
    if (code == SHEAF_OK)
        code = manifest_option(manifest, "split", &m->split, err);
    if (code == SHEAF_OK)
        code = manifest_option(manifest, "split_name", &m->split_name, err);
    if (code == SHEAF_OK && (m->order == NULL || seed == NULL))
        code = err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: was not packed from files: only a copy of "
                       "the data set can repair it", m->repair->directory);
    if (code == SHEAF_OK) {
        m->options.no_shuffle = strcmp(m->order, "sorted") == 0;
        m->options.seed = strtoull(seed, NULL, 10);
        m->options.split = m->split;
    }
    free(seed);
    return code;
}

/* Sets the packing options to those with which the data set was packed. Files that packing left out
 * are left out again, and classes keep their numbers. */
static int take_packing(struct remaking *m, struct sheaf_error *err)
{
    const struct repair *r = m->repair;
    const char *json = r->dataset->manifest_json;
    struct sheaf_pack_options *o = &m->options;
    int code = grow_open(&m->facts, json, strlen(json), err);

    sheaf_pack_options_init(o, sizeof(*o));
    o->shard_bytes = 0;
    if (code == SHEAF_OK)
        code = grow_options(&m->facts, o, err);
    if (code == SHEAF_OK)
        code = repair_plan_take_order(m, err);
    if (code == SHEAF_OK)
        code = repair_plan_take_filters(m, err);
    if (code == SHEAF_OK)
        code = manifest_option(r->manifest, "check_images", &m->check, err);
    if (m->check != NULL)
        o->check_images = strcmp(m->check, "decode") == 0 ? SHEAF_CHECK_DECODE : SHEAF_CHECK_NONE;
    o->classes = r->manifest->class_count == 0 ? NULL : r->directory;
    o->root = r->options.root;
    o->on_error = SHEAF_SKIP;
    o->jobs = r->options.jobs;
    o->memory_bytes = r->options.memory_bytes;
    o->progress = r->options.progress;
    o->context = r->options.context;
    o->interrupt = r->options.interrupt;
    if (code == SHEAF_OK)
        code = manifest_option(r->manifest, "plan", &m->plan_hash, err);
    if (code == SHEAF_OK)
        code = manifest_option(r->manifest, "source", &m->source, err);
    return code;
}

/* ---- The plan -------------------------------------------------------------------------------- */

/* Returns an error if the data set was packed from a list (which has the labels), but the caller
 * gives a source of another kind. */
static int repair_plan_check_source(const struct remaking *m, struct sheaf_error *err)
{
    static const char *const lists[] = { "list", "lst", "csv", "jsonl", "augmented", "inventory",
                                         "manifest" };
    const struct source_ops *given = m->planner.source_count == 0 ? NULL
                                                                   : m->planner.sources[0].ops;

    for (size_t i = 0; given != NULL && m->source != NULL && i < COUNT_OF(lists); i++)
        if (strcmp(m->source, lists[i]) == 0 && strcmp(given->name, lists[i]) != 0)
            return err_set(err, SHEAF_ERR_ARGUMENT, "%s: is a source of the kind \"%s\" (%s), but "
                           "the data set was packed from a list of files of the kind \"%s\", which "
                           "also had its labels: give that list", m->repair->from[0], given->name,
                           given->noun, m->source);
    return SHEAF_OK;
}

static int find_split(struct remaking *m, struct sheaf_error *err)
{
    for (uint32_t s = 0; s < m->plan.split_count; s++)
        if (strcmp(m->plan.splits[s].name, m->split_name == NULL ? "" : m->split_name) == 0) {
            m->plan_split = s;
            return SHEAF_OK;
        }
    return err_set(err, SHEAF_ERR_CHANGED, "%s: the files give no split %s", m->repair->from[0],
                   m->split_name == NULL ? "" : m->split_name);
}

static int repair_plan_make(struct remaking *m, struct sheaf_error *err)
{
    struct repair *r = m->repair;
    struct planner *p = &m->planner;
    int code = planner_open(p, &m->options, &m->list, &m->problems, &r->watch, &m->plan,
                            r->directory, err);

    if (code == SHEAF_OK) {
        struct sheaf_error kind;

        code = planner_make(p, r->from, r->from_count, r->directory, err);
        if (code != SHEAF_ERR_INTERRUPTED && repair_plan_check_source(m, &kind) != SHEAF_OK) {
            *err = kind;
            code = kind.code;
        }
    }
    if (code == SHEAF_OK)
        code = planner_stash(p, &m->stash, err);
    return code == SHEAF_OK ? find_split(m, err) : code;
}

/* ---- Shards ---------------------------------------------------------------------------------- */

/* Appends to `text` the versions of the libraries (such as zlib) on which the bytes of the shards
 * depend, if there are any. */
static void name_libraries(const struct remaking *m, char *text, size_t size)
{
    const bool converts = setup_converts(&m->setup);
    char codec[CODEC_LIBRARY_BYTES] = "";

    if (m->setup.codec != NULL)
        codec_library(m->setup.codec, codec);
    if (m->setup.codec != NULL || converts)
        snprintf(text, size, ", or the data set was packed with another release of a library than "
                 "%s%s%s", codec, codec[0] != '\0' && converts ? ", " : "",
                 converts ? image_libraries() : "");
}

/* Adds to the error message the reason why a shard could not be made again. `problems` is the
 * number of bad files that were found before this shard was made. */
static void repair_plan_explain(const struct remaking *m, size_t problems, struct sheaf_error *err)
{
    char text[sizeof(err->message)], libraries[200] = "";

    snprintf(text, sizeof(text), "%s", err->message);
    name_libraries(m, libraries, sizeof(libraries));
    if (m->plan_hash == NULL || strcmp(m->plan_hash, m->plan.hash) != 0)
        err_set(err, SHEAF_ERR_CHANGED, "the source has changed: files were added, removed or "
                "renamed, or have another size than when they were packed: %s", text);
    else if (m->problems.count > problems)
        err_set(err, SHEAF_ERR_CHANGED, "the source has changed: %zu file%s cannot be packed any "
                "more, such as %s: %s", m->problems.count - problems,
                plural(m->problems.count - problems), m->problems.items[problems].path, text);
    else
        err_set(err, SHEAF_ERR_CHANGED, "the content of a source file has changed%s: %s",
                libraries, text);
}

/* Returns SHEAF_ERR_UNSUPPORTED if this shard cannot be made from the packed files, because its
 * samples were appended or edited after packing. */
static int repair_plan_check_shard(const struct repair *r, size_t shard, struct sheaf_error *err)
{
    const struct manifest *m = r->manifest;
    const char *name = m->shards[shard].name;
    char edited[SHARD_NAME_BYTES];

    if (m->growth_count != 0 && shard >= m->growths[0].shards)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "has samples that were appended: only a copy of "
                       "the data set can repair it");
    for (size_t e = 1; e <= m->edit_count; e++)
        if (manifest_edit_name(name, interop_stem(m->container, m->codec, name), e, edited,
                               sizeof(edited), NULL) == SHEAF_OK && strcmp(edited, name) == 0)
            return err_set(err, SHEAF_ERR_UNSUPPORTED, "was written by an edit: only a copy of the "
                           "data set can repair it");
    return SHEAF_OK;
}

static int remake_shard(struct remaking *m, size_t shard, struct sheaf_error *err)
{
    struct repair *r = m->repair;
    const struct plan_split *split = &m->plan.splits[m->plan_split];
    const size_t at = split->shard + shard;
    struct sheaf_pack_result result = { .shards = 0 };
    struct pack_run run = {
        .options = &m->options, .setup = &m->setup, .output = &r->output,
        .problems = &m->problems, .watch = &r->watch, .rows = plan_stash_rows(&m->stash),
        .first = at, .end = at + 1,
    };
    const size_t problems = m->problems.count;
    int code;

    if (shard >= split->shard_count) {
        err_set(err, SHEAF_ERR_CHANGED, "the files give only %u shard%s", split->shard_count,
                plural(split->shard_count));
        repair_plan_explain(m, problems, err);
        return SHEAF_ERR_CHANGED;
    }
    m->plan.shards[at].split = 0;       /* of the output, which is this data set alone */
    code = run_check_memory(&run, err);
    if (code == SHEAF_OK)
        code = run_plan(&run, &result, err);
    if (code == SHEAF_ERR_CHANGED && journal_check(&r->output.journal, NULL) == SHEAF_OK)
        repair_plan_explain(m, problems, err);
    r->result.memory_peak_bytes = MAX(r->result.memory_peak_bytes, result.memory_peak_bytes);
    return code;
}

static void repair_plan_settle(struct repair *r, size_t shard, bool is_repaired)
{
    for (size_t i = 0; i < r->file_count; i++)
        if (r->files[i].shard == shard && r->files[i].damage != NULL)
            r->files[i].is_repaired = is_repaired;
}

static int fail_shard(struct repair *r, size_t shard, int code, const struct sheaf_error *found,
                      struct sheaf_error *err)
{
    int ends = SHEAF_OK;

    for (size_t i = 0; i < r->file_count && ends == SHEAF_OK; i++)
        if (r->files[i].shard == shard && r->files[i].damage != NULL)
            ends = repair_fail(&r->files[i], code, found, err);
    return ends;
}

/* ---- The whole ------------------------------------------------------------------------------- */

static void close_remaking(struct remaking *m)
{
    plan_stash_close(&m->stash);
    plan_free(&m->plan);
    planner_close(&m->planner);
    class_list_free(&m->list);
    problems_free(&m->problems);
    problems_free(&m->converted);
    grow_close(&m->facts);
    for (size_t i = 0; m->filters != NULL && m->filters[i] != NULL; i++)
        free(m->filters[i]);
    free(m->filters);
    free(m->filter_table);
    free(m->split);
    free(m->split_name);
    free(m->order);
    free(m->check);
    free(m->plan_hash);
    free(m->source);
}

static int open_remaking(struct remaking *m, struct sheaf_error *err)
{
    struct repair *r = m->repair;
    struct sheaf_pack_options given;
    int code = in_place_check_packed(r->dataset, r->directory, err);

    if (code == SHEAF_OK)
        code = take_packing(m, err);
    given = m->options;
    if (code == SHEAF_OK)
        code = pack_options_take(&given, &m->options, err);
    if (code == SHEAF_OK)
        code = class_list_take(&m->list, &m->options, err);
    if (code != SHEAF_OK)
        return code;
    pack_options_setup(&m->options, &m->setup);
    m->problems.on_error = m->converted.on_error = SHEAF_SKIP;
    m->problems.converted = &m->converted;
    code = repair_plan_make(m, err);
    planner_setup(&m->planner, &m->setup);
    return code;
}

/* Sets damaged[i] for each damaged shard i that can be made again from the packed files. Records an
 * error for each other damaged file. */
static int repair_plan_find_shards(struct repair *r, bool *damaged, size_t *count,
                                   struct sheaf_error *err)
{
    struct sheaf_error found;
    int code = SHEAF_OK;

    for (size_t i = 0; i < r->file_count && code == SHEAF_OK; i++) {
        struct repair_file *f = &r->files[i];
        int fault = SHEAF_OK;

        if (f->damage == NULL)
            continue;
        if (f->shard == REPAIR_NO_SHARD)
            fault = err_set(&found, SHEAF_ERR_UNSUPPORTED, "belongs to the whole data set: only a "
                            "copy of the data set can repair it");
        else
            fault = repair_plan_check_shard(r, f->shard, &found);
        if (fault != SHEAF_OK) {
            code = repair_fail(f, fault, &found, err);
        } else if (!damaged[f->shard]) {
            damaged[f->shard] = true;
            ++*count;
        }
    }
    return code;
}

static int remake_shards(struct remaking *m, const bool *damaged, struct sheaf_error *err)
{
    struct repair *r = m->repair;
    struct sheaf_error found;
    int code = open_remaking(m, err);

    for (size_t i = 0; i < r->manifest->shard_count && code == SHEAF_OK; i++) {
        int one;

        if (!damaged[i])
            continue;
        code = watch_check(&r->watch, err);
        if (code != SHEAF_OK)
            break;
        one = remake_shard(m, i, &found);
        if (one == SHEAF_OK)
            repair_plan_settle(r, i, true);
        else
            code = fail_shard(r, i, one, &found, err);
    }
    return code;
}

int repair_from_files(struct repair *r, struct sheaf_error *err)
{
    struct remaking m = { .repair = r, .stash.blocks.fd = -1 };
    bool *damaged = calloc(r->manifest->shard_count + 1, sizeof(damaged[0]));
    size_t count = 0;
    int code = damaged == NULL ? err_memory(err, r->manifest->shard_count)
                               : repair_plan_find_shards(r, damaged, &count, err);

    if (code == SHEAF_OK && count != 0)
        code = remake_shards(&m, damaged, err);
    close_remaking(&m);
    free(damaged);
    return code;
}
