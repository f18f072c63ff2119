/* SPDX-License-Identifier: MIT
 *
 * Makes shards again from the files that were packed. First, a plan is made. It says which file
 * goes into which shard. The packer's engine then packs only the damaged shards, and reads only
 * their files. Each new shard is compared with the manifest before it replaces a file
 * (publish/output_shard.c).
 *
 * Usually the plan is made from the tables of keys (dataset.keys), which state the place of each
 * sample (repair_place.h). If a table of keys is lost, the plan of the first packing is made again,
 * from all files and the options in the manifest. In that case, only shards of the first packing
 * can be repaired, and not shards that an append or an edit wrote. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "copy/repair_place.h"
#include "formats/index.h"
#include "image/image.h"
#include "packer/grow.h"
#include "packer/pack_options.h"
#include "packer/planner.h"
#include "packer/run.h"
#include "reader/dataset/sections.h"

/* A repair of the damaged shards of one part. (The first packing made part 0 of the data set, and
 * each append another part.) */
struct remaking {
    struct repair *repair;
    size_t part;
    size_t first, end;          /* range of the part's shards in the manifest */
    const char *const *from;    /* the sources */
    size_t from_count;
    /* whether the tables of keys state the places of the samples */
    bool is_placed;
    /* the reason why the tables of keys cannot be used, if is_placed is false */
    const struct sheaf_error *keys_fault;
    /* the error because of which no plan could be made; its code is SHEAF_OK if there is a plan */
    struct sheaf_error plan_fault;
    struct grow facts;          /* the manifest, with the options of the part */
    struct sheaf_pack_options options;
    char *split, *split_name, *order, *check, **filters;
    struct sheaf_filter *filter_table;
    struct class_list list;
    struct problems problems, converted;
    struct planner planner;
    struct repair_places places;
    struct plan plan;
    struct block_setup setup;
    /* Used only if the data set is a split, and the plan is made without tables of keys: index of
     * this split in the plan. */
    uint32_t plan_split;
    char *plan_hash, *source;   /* of the part, in the manifest */
    /* Set if a shard that was made again differs from the manifest. It is the number of the first
     * record that differs from the index of the data set, or RECORDS_EQUAL if all records are
     * equal. RECORDS_UNKNOWN if the records cannot be compared, for example because the index is
     * damaged. */
    uint64_t wrong_record;
};

#define RECORDS_EQUAL   (UINT64_MAX - 1)
#define RECORDS_UNKNOWN UINT64_MAX

/* ---- Options --------------------------------------------------------------------------------- */

static int repair_plan_take_filters(struct remaking *m, struct sheaf_error *err)
{
    const struct manifest *manifest = &m->facts.manifest;
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

/* Reads from the manifest the options that determine the order of the samples. If the tables of
 * keys state the places of the samples, these options are not used. The samples are then planned in
 * the order of their keys' hashes, because this takes the least time. */
static int repair_plan_take_order(struct remaking *m, struct sheaf_error *err)
{
    const struct manifest *manifest = &m->facts.manifest;
    char *seed = NULL;
    int code = manifest_option(manifest, "order", &m->order, err);

    if (code == SHEAF_OK)
        code = manifest_option(manifest, "seed", &seed, err);
    if (code == SHEAF_OK && !m->is_placed)
        code = manifest_option_number(manifest, "shard_count", &m->options.shard_count, err);
    if (code == SHEAF_OK && !m->is_placed)
        code = manifest_option(manifest, "split", &m->split, err);
    if (code == SHEAF_OK)
        code = manifest_option(manifest, "split_name", &m->split_name, err);
    if (code == SHEAF_OK && (m->order == NULL || seed == NULL))
        code = err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: was not packed from files: only a copy of "
                       "the data set can repair it", m->repair->directory);
    if (code == SHEAF_OK && !m->is_placed) {
        m->options.no_shuffle = strcmp(m->order, "sorted") == 0;
        m->options.seed = strtoull(seed, NULL, 10);
        m->options.split = m->split;
    }
    free(seed);
    return code;
}

/* Sets the packing options to the options with which this part of the data set (the first packing,
 * or an append) was packed. So the same files are left out, and classes keep their numbers. */
static int take_packing(struct remaking *m, struct sheaf_error *err)
{
    const struct repair *r = m->repair;
    const struct manifest *manifest = &m->facts.manifest;
    const char *json = r->dataset->manifest_json;
    struct sheaf_pack_options *o = &m->options;
    int code = grow_open(&m->facts, r->directory, json, strlen(json), m->part, err);

    sheaf_pack_options_init(o, sizeof(*o));
    o->shard_bytes = 0;
    if (code == SHEAF_OK)
        code = grow_options(&m->facts, o, err);
    if (code == SHEAF_OK)
        code = repair_plan_take_order(m, err);
    if (code == SHEAF_OK)
        code = repair_plan_take_filters(m, err);
    if (code == SHEAF_OK)
        code = manifest_option(manifest, "check_images", &m->check, err);
    if (m->check != NULL)
        o->check_images = strcmp(m->check, "decode") == 0 ? SHEAF_CHECK_DECODE : SHEAF_CHECK_NONE;
    o->classes = manifest->class_count == 0 ? NULL : r->directory;
    o->root = r->options.root;
    o->on_error = SHEAF_SKIP;
    o->jobs = r->options.jobs;
    o->memory_bytes = r->options.memory_bytes;
    o->progress = r->options.progress;
    o->context = r->options.context;
    o->interrupt = r->options.interrupt;
    if (code == SHEAF_OK)
        code = manifest_option(manifest, "plan", &m->plan_hash, err);
    if (code == SHEAF_OK)
        code = manifest_option(manifest, "source", &m->source, err);
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

    for (size_t i = 0; m->source != NULL && i < m->planner.source_count; i++)
        if (m->planner.sources[i].ops == NULL ||
            strcmp(m->planner.sources[i].ops->name, m->source) == 0)
            return SHEAF_OK;
    for (size_t i = 0; given != NULL && m->source != NULL && i < COUNT_OF(lists); i++)
        if (strcmp(m->source, lists[i]) == 0)
            return err_set(err, SHEAF_ERR_ARGUMENT, "%s: is a source of the kind \"%s\" (%s), but "
                           "the data set was packed from a list of files of the kind \"%s\", which "
                           "also had its labels: give that list", m->from[0], given->name,
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
    return err_set(err, SHEAF_ERR_CHANGED, "%s: the files give no split %s", m->from[0],
                   m->split_name == NULL ? "" : m->split_name);
}

static int repair_plan_make(struct remaking *m, const bool *damaged, struct sheaf_error *err)
{
    struct repair *r = m->repair;
    struct planner *p = &m->planner;
    struct sheaf_error kind;
    int code = planner_open(p, &m->options, &m->list, &m->problems, &r->watch, &m->plan,
                            r->directory, err);

    if (code == SHEAF_OK && m->is_placed) {
        p->sort.places = &m->places.plan;
        code = repair_places_open(&m->places, r, damaged, m->first, m->end, &p->sort.catalog, err);
    }
    if (code != SHEAF_OK)
        return code;
    code = planner_make(p, m->from, m->from_count, r->directory, err);
    if (code != SHEAF_ERR_INTERRUPTED && repair_plan_check_source(m, &kind) != SHEAF_OK) {
        *err = kind;
        code = kind.code;
    }
    return code != SHEAF_OK || m->is_placed ? code : find_split(m, err);
}

/* ---- Shards ---------------------------------------------------------------------------------- */

/* Appends to `text` the versions of the libraries (such as zlib) on which the bytes of the shards
 * depend. Appends nothing if the bytes do not depend on a library. */
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

static uint64_t first_difference(const struct index_section *a, const struct index_section *b)
{
    if (a->crcs == NULL || b->crcs == NULL || a->samples != b->samples)
        return RECORDS_UNKNOWN;
    for (uint64_t i = 0; i < a->samples; i++)
        if (a->crcs[i] != b->crcs[i] || index_frame_bytes(a, i) != index_frame_bytes(b, i))
            return i;
    return RECORDS_EQUAL;
}

/* Called when a shard that was made again differs from the manifest. Compares the index section of
 * this shard with the section that the data set has. */
static void find_difference(void *context, const struct journal_entry *entry)
{
    struct remaking *m = context;
    const struct manifest *manifest = m->repair->manifest;
    struct sections sections = { .dataset = m->repair->dataset };
    struct index_section *had = NULL, *made = NULL;
    size_t i = m->first;

    m->wrong_record = RECORDS_UNKNOWN;
    while (i < m->end && strcmp(manifest->shards[i].name, entry->facts.name) != 0)
        i++;
    if (i < m->end && sections_parse(&sections, (uint32_t)i, &had, NULL) == SHEAF_OK &&
        index_parse(entry->section.data, entry->section.size, entry->facts.samples, &made, NULL) ==
            SHEAF_OK)
        m->wrong_record = first_difference(had, made);
    index_section_free(had);
    index_section_free(made);
    sections_close(&sections);
}

/* Writes to `text` the first record that differs, and the key of its sample, if they are known. */
static void name_difference(const struct remaking *m, size_t shard, size_t at, char *text,
                            size_t size)
{
    const struct plan_rows rows = planner_rows(&m->planner);
    struct plan_batch batch = { .plan = { .shards = NULL } };

    text[0] = '\0';
    if (m->wrong_record == RECORDS_EQUAL)
        snprintf(text, size, "its records are as they were packed, but other bytes differ: ");
    else if (m->wrong_record != RECORDS_UNKNOWN &&
             plan_rows_load(&rows, at, at + 1, &batch, NULL) == SHEAF_OK &&
             batch.plan.shards[0].sample_count == m->repair->manifest->shards[shard].samples) {
        const struct plan_sample *s = &batch.plan.samples[batch.plan.shards[0].sample +
                                                          m->wrong_record];
        const struct catalog_file *f = &batch.plan.files[s->file];

        snprintf(text, size, "the first sample that differs is %.*s (record %llu): ",
                 (int)MIN(f->key_size, 200), f->path, (unsigned long long)m->wrong_record);
    }
    plan_batch_free(&batch);
}

/* Returns a part of an error message. It says that an edit replaced files or changed labels in .cls
 * files, and that the source still has the old files or labels. Returns "" if no edit wrote this
 * shard, or if edits only deleted samples. */
static const char *edited_away(const struct remaking *m, size_t shard)
{
    const struct manifest *manifest = m->repair->manifest;
    bool replaced = false, relabelled = false;

    for (size_t e = 0; e < manifest->edit_count; e++) {
        replaced |= manifest->edits[e].replaced != 0;
        relabelled |= manifest->edits[e].relabelled != 0;
    }
    if (!repair_is_edited(manifest, shard) || (!replaced && !relabelled))
        return "";
    if (replaced && setup_converts(&m->setup))
        return ", or an edit has replaced files: edits store files as they are, but this data set "
               "was packed with options that resize or convert images, and a repair applies them "
               "to all files, so only a copy of the data set can repair this shard";
    return replaced && relabelled
               ? ", or an edit has replaced files or labels, which this source has as they were "
                 "before"
           : replaced ? ", or an edit has replaced files, which this source has as they were before"
                      : ", or an edit has changed labels in files .cls, which this source has as "
                        "they were before";
}

/* Returns a text for an error message if the numbers in the shard's records are unknown, because
 * the .lst file is lost. Otherwise returns "". */
static const char *lost_numbers(const struct remaking *m, size_t at)
{
    return m->is_placed && m->setup.format->has_names && m->places.made[at].lacks_numbers
               ? ", or its .lst file is lost, which had the numbers of its records" : "";
}

/* Adds to the error the reason why a shard could not be made again. `at` is the index of the shard
 * in the plan. `problems` is the number of bad files that were found before this shard was made. */
static void repair_plan_explain(const struct remaking *m, size_t shard, size_t at, size_t problems,
                                struct sheaf_error *err)
{
    char difference[300], text[sizeof(err->message) + sizeof(difference)], libraries[200] = "";

    name_difference(m, shard, at, difference, sizeof(difference));
    snprintf(text, sizeof(text), "%s%s", difference, err->message);
    name_libraries(m, libraries, sizeof(libraries));
    if (!m->is_placed && (m->plan_hash == NULL || strcmp(m->plan_hash, m->plan.hash) != 0))
        err_set(err, SHEAF_ERR_CHANGED, "the source has changed: files were added, removed or "
                "renamed, or have another size than when they were packed: %s", text);
    else if (m->problems.count > problems)
        err_set(err, SHEAF_ERR_CHANGED, "the source has changed: %zu file%s cannot be packed any "
                "more, such as %s: %s", m->problems.count - problems,
                plural(m->problems.count - problems), m->problems.items[problems].path, text);
    else
        err_set(err, SHEAF_ERR_CHANGED, "the source has changed: a file is missing, or is not what "
                "was packed%s%s%s: %s", edited_away(m, shard), lost_numbers(m, at), libraries,
                text);
}

/* Finds in the new plan the damaged shard with the number `shard`, and sets *at to its index in the
 * plan. Returns SHEAF_ERR_CHANGED if the source does not have all samples of the shard. */
static int find_planned(const struct remaking *m, size_t shard, size_t *at,
                        struct sheaf_error *err)
{
    const struct plan_split *split = &m->plan.splits[m->plan_split];
    const uint64_t samples = m->repair->manifest->shards[shard].samples;

    *at = split->shard + (shard - m->first);
    if (!m->is_placed && shard - m->first < split->shard_count)
        return SHEAF_OK;
    if (!m->is_placed) {
        err_set(err, SHEAF_ERR_CHANGED, "the files give only %u shard%s", split->shard_count,
                plural(split->shard_count));
        repair_plan_explain(m, shard, *at, m->problems.count, err);
        return SHEAF_ERR_CHANGED;
    }
    for (*at = 0; m->plan.shards[*at].number != shard;)
        ++*at;
    if (m->plan.shards[*at].sample_count == samples)
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_CHANGED, "the source has changed, or is not the whole source: it "
                   "has %llu of the %llu sample%s of this shard: give all files from which they "
                   "were packed and appended, or a copy of the data set",
                   (unsigned long long)m->plan.shards[*at].sample_count,
                   (unsigned long long)samples, plural(samples));
}

static int remake_planned(struct remaking *m, size_t at, struct sheaf_error *err)
{
    struct repair *r = m->repair;
    struct sheaf_pack_result result = { .shards = 0 };
    const struct pack_run run = {
        .options = &m->options, .setup = &m->setup, .output = &r->output,
        .problems = &m->problems, .watch = &r->watch, .rows = planner_rows(&m->planner),
        .first = at, .end = at + 1,
    };
    int code = run_check_memory(&run, err);

    if (code == SHEAF_OK)
        code = run_plan(&run, &result, err);
    r->result.memory_peak_bytes = MAX(r->result.memory_peak_bytes, result.memory_peak_bytes);
    return code;
}

static int remake_shard(struct remaking *m, size_t shard, struct sheaf_error *err)
{
    const struct journal *journal = &m->repair->output.journal;
    const size_t problems = m->problems.count;
    size_t at;
    int code;

    m->wrong_record = RECORDS_UNKNOWN;
    code = find_planned(m, shard, &at, err);
    if (code != SHEAF_OK)
        return code;
    m->repair->output.refused = find_difference;
    m->repair->output.refused_context = m;
    m->plan.shards[at].split = 0;       /* of the output, which is this data set alone */
    code = remake_planned(m, at, err);
    if (code == SHEAF_ERR_CHANGED && m->is_placed && m->problems.count == problems &&
        repair_places_forget_numbers(&m->places, at))
        code = remake_planned(m, at, err);
    if (code == SHEAF_ERR_CHANGED && journal_check(journal, NULL) == SHEAF_OK)
        repair_plan_explain(m, shard, at, problems, err);
    return code;
}

static void repair_plan_settle(struct repair *r, size_t shard)
{
    for (size_t i = 0; i < r->file_count; i++)
        if (r->files[i].shard == shard && r->files[i].damage != NULL)
            r->files[i].is_repaired = true;
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
    plan_free(&m->plan);
    repair_places_close(&m->places);
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

static int open_remaking(struct remaking *m, const bool *damaged, struct sheaf_error *err)
{
    struct sheaf_pack_options given;
    int code = take_packing(m, err);

    given = m->options;
    if (code == SHEAF_OK)
        code = pack_options_take(&given, &m->options, err);
    if (code == SHEAF_OK)
        code = class_list_take(&m->list, &m->options, err);
    if (code != SHEAF_OK)
        return code;
    m->list.classes.closed = !m->is_placed;     /* because the source may have other samples */
    pack_options_setup(&m->options, &m->setup);
    m->problems.on_error = m->converted.on_error = SHEAF_SKIP;
    m->problems.converted = &m->converted;
    code = repair_plan_make(m, damaged, err);
    planner_setup(&m->planner, &m->setup);
    return code;
}

/* Records an error for each damaged file that belongs to no shard. Sets damaged[i] for each shard
 * with damaged files. */
static int repair_plan_find_shards(struct repair *r, bool *damaged, struct sheaf_error *err)
{
    struct sheaf_error found;
    int code = SHEAF_OK;

    for (size_t i = 0; i < r->file_count && code == SHEAF_OK; i++) {
        struct repair_file *f = &r->files[i];

        if (f->damage == NULL)
            continue;
        if (f->shard != REPAIR_NO_SHARD)
            damaged[f->shard] = true;
        if (f->shard != REPAIR_NO_SHARD || f->kind == REPAIR_KEYS)
            continue;           /* repair.c makes tables of keys */
        err_set(&found, SHEAF_ERR_UNSUPPORTED, "belongs to the whole data set: only a copy of the "
                "data set can repair it");
        code = repair_fail(f, found.code, &found, err);
    }
    return code;
}

/* Without a table of keys, only the plan of the first packing states which samples a shard has.
 * Returns SHEAF_ERR_UNSUPPORTED if the table is needed: the shard was written by an append or an
 * edit. */
static int check_first_packing(const struct remaking *m, size_t shard, struct sheaf_error *err)
{
    const bool edited = repair_is_edited(m->repair->manifest, shard);

    if (m->is_placed || (m->part == 0 && !edited))
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s, and its samples cannot be found: only a copy "
                   "of the data set can repair it: %s", edited ? "was written by an edit"
                                                               : "has samples that were appended",
                   m->keys_fault->message);
}

static int remake_one(struct remaking *m, size_t shard, struct sheaf_error *err)
{
    const int code = check_first_packing(m, shard, err);

    if (code != SHEAF_OK)
        return code;
    if (m->plan_fault.code != SHEAF_OK) {
        *err = m->plan_fault;
        return err->code;
    }
    return remake_shard(m, shard, err);
}

/* Makes the damaged shards of the part again. Sets damaged[i] to false for each shard that was
 * made, and records an error for each other shard.
 *
 * `is_first` is false if other sources were tried before these sources. The error from the other
 * sources is then kept if these sources do not contain any sample of the part. */
static int remake_shards(struct remaking *m, bool *damaged, bool is_first, struct sheaf_error *err)
{
    struct repair *r = m->repair;
    struct sheaf_error found;
    int code = SHEAF_OK;

    for (size_t i = m->first; i < m->end && code == SHEAF_OK; i++) {
        int one;

        if (!damaged[i])
            continue;
        code = watch_check(&r->watch, err);
        if (code != SHEAF_OK)
            break;
        one = remake_one(m, i, &found);
        if (one == SHEAF_OK) {
            repair_plan_settle(r, i);
            damaged[i] = false;
        } else if (is_first || m->plan.sample_count != 0 || one == SHEAF_ERR_INTERRUPTED) {
            code = fail_shard(r, i, one, &found, err);
        }
    }
    return code;
}

static bool is_any_damaged(const struct remaking *m, const bool *damaged)
{
    for (size_t i = m->first; i < m->end; i++)
        if (damaged[i])
            return true;
    return false;
}

/* Repairs a part of the data set from the sources in `given`. If a table of keys is missing or
 * damaged, uses the plan of the first packing instead. */
static int remake_part(const struct remaking *given, bool *damaged, bool is_first,
                       struct sheaf_error *err)
{
    struct sheaf_error keys_fault = { .code = SHEAF_OK };
    bool lacks_keys = true;
    int code = SHEAF_OK;

    for (int tries = 0; tries < 2 && lacks_keys && code == SHEAF_OK; tries++) {
        struct remaking m = *given;

        m.is_placed = tries == 0;
        m.keys_fault = &keys_fault;
        if (open_remaking(&m, damaged, &m.plan_fault) == SHEAF_OK)
            m.plan_fault.code = SHEAF_OK;
        lacks_keys = m.places.lacks_keys;
        if (lacks_keys)
            keys_fault = m.plan_fault;
        else
            code = remake_shards(&m, damaged, is_first, err);
        close_remaking(&m);
    }
    return code;
}

/* Repairs a part of the data set. First uses all sources of the caller together, and then each
 * source alone. The reason is that the part may have been packed from all sources in one run, or
 * from only one source. The keys contain the name of the source only if one run packed several
 * sources. */
static int repair_part(struct repair *r, size_t part, bool *damaged, struct sheaf_error *err)
{
    const struct manifest *m = r->manifest;
    struct remaking making = {
        .repair = r, .part = part, .from = r->from, .from_count = r->from_count,
        .first = part == 0 ? 0 : (size_t)m->growths[part - 1].shards,
        .end = part == m->growth_count ? m->shard_count : (size_t)m->growths[part].shards,
    };
    int code = is_any_damaged(&making, damaged) ? remake_part(&making, damaged, true, err)
                                                : SHEAF_OK;

    making.from_count = 1;
    for (size_t i = 0; i < r->from_count && r->from_count > 1 && code == SHEAF_OK &&
                       is_any_damaged(&making, damaged); i++) {
        making.from = &r->from[i];
        code = remake_part(&making, damaged, false, err);
    }
    return code;
}

int repair_from_files(struct repair *r, struct sheaf_error *err)
{
    bool *damaged = calloc(r->manifest->shard_count + 1, sizeof(damaged[0])), is_any = false;
    int code = damaged == NULL ? err_memory(err, r->manifest->shard_count)
                               : SHEAF_OK;

    if (code == SHEAF_OK)
        code = repair_plan_find_shards(r, damaged, err);
    for (size_t i = 0; code == SHEAF_OK && i < r->manifest->shard_count && !is_any; i++)
        is_any = damaged[i];
    if (is_any)
        code = in_place_check_packed(r->dataset, r->directory, err);
    for (size_t part = 0; part <= r->manifest->growth_count && code == SHEAF_OK; part++)
        code = repair_part(r, part, damaged, err);
    free(damaged);
    return code == SHEAF_OK ? repair_check_again(r, err) : code;
}
