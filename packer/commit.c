/* SPDX-License-Identifier: MIT
 *
 * Implements sheaf_commit, which publishes the shards of a stored plan as one data set, after
 * several processes have packed the parts of the plan.
 *
 * All shards are checked before anything is published. Each finished shard has a journal entry, in
 * which facts about the shard are stored. The entry must be valid and belong to this plan. The
 * shard and its index files must have the sizes and stamps in the entry. A stamp is a time and
 * inode, or an ETag. If only the stamps differ, for example because the files were copied, the
 * files are read and their hashes compared. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/column_record.h"
#include "publish/destination.h"
#include "publish/publish.h"
#include "packer/finished.h"
#include "packer/planned.h"

/* largest number of missing shards that the error message names */
#define NAMED_MOST 5

struct commit_run {
    struct planned planned;
    struct sheaf_progress progress;
    uint8_t *states;            /* for each shard, its enum output_shard_state, */
    uint64_t *sums;             /* and a hash that identifies its entry */
    size_t missing_count;
    /* Used only for a conversion or a column: true if at least one sample has a field `cls`. */
    bool has_cls;
    uint64_t without_value;     /* for a column: number of records without a value */
    uint64_t cls_words;         /* samples whose field `cls` does not consist of numbers */
};

/* ---- Checking -------------------------------------------------------------------------------- */

static bool is_column(const struct commit_run *c)
{
    return plan_facts_is_column(&c->planned.file.facts);
}

/* Returns whether the plan's samples come from a data set or a program (a conversion or a column),
 * and not from files. */
static bool is_without_files(const struct commit_run *c)
{
    return is_column(c) || c->planned.file.facts.fingerprint[0] != '\0';
}

/* Counts a finished shard, and takes over its lists of skipped and converted files. */
static int commit_take_shard(struct commit_run *c, const struct journal_entry *entry,
                             struct sheaf_error *err)
{
    c->has_cls |= entry->facts.has_cls;
    c->cls_words += entry->facts.cls_words;
    c->without_value += is_column(c) ? entry->source : 0;
    c->progress.done_bytes += entry->facts.bytes;
    c->progress.done_count += entry->facts.samples;
    watch_show(&c->planned.watch, &c->progress);
    return finished_take(entry, &c->planned.problems, &c->planned.result, err);
}

/* Checks the facts in a shard's journal entry against the plan. A shard may have fewer samples than
 * planned, but not more. It must not have more bytes than planned unless `is_larger` is set.
 * `is_larger` is set if images are converted, because they may grow, and for a column, because its
 * plan does not know the sizes of the values. */
static int check_facts(const struct plan_shard *shard, const struct shard_facts *facts,
                       bool is_larger, struct sheaf_error *err)
{
    if (facts->samples <= shard->sample_count &&
        (facts->payload_bytes <= shard->payload_bytes || is_larger))
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_CORRUPT, "%s: its entry says %llu samples with %llu bytes, the "
                   "plan has %llu with %llu", facts->name, (unsigned long long)facts->samples,
                   (unsigned long long)facts->payload_bytes,
                   (unsigned long long)shard->sample_count,
                   (unsigned long long)shard->payload_bytes);
}

/* Checks shard number `i` against its journal entry (the stored facts about a finished shard), and
 * counts the shard. `entry` is NULL if the shard has none. */
static int commit_check_shard(void *context, const struct finished *finished, size_t i,
                              const struct journal_entry *entry, struct sheaf_error *err)
{
    struct commit_run *c = context;
    const struct plan_shard *shard = &finished->plan->shards[i];
    enum output_shard_state state = SHARD_MISSING;
    int code = SHEAF_OK;

    if (entry != NULL)
        code = check_facts(shard, &entry->facts, setup_converts(&c->planned.setup) ||
                                                 is_column(c), err);
    if (entry != NULL && code == SHEAF_OK)
        code = output_listing_check(finished->listing, finished->output, shard->split, entry,
                                    &state, err);
    if (code != SHEAF_OK)
        return code;
    c->states[i] = (uint8_t)state;
    c->sums[i] = state == SHARD_THERE ? output_entry_sum(entry) : 0;
    c->missing_count += state != SHARD_THERE;
    if (state == SHARD_THERE)
        code = commit_take_shard(c, entry, err);
    return code == SHEAF_OK ? watch_check(&c->planned.watch, err) : code;
}

/* ---- What is missing ------------------------------------------------------------------------- */

/* Appends to the error message `text` the numbers of the parts that contain missing shards, so that
 * the user can pack these parts again. Appends nothing if the number of parts is unknown. */
static int name_parts(const struct commit_run *c, struct buf *text, struct sheaf_error *err)
{
    const char *between = "";
    size_t first, end;
    uint32_t parts;
    int code = output_parts(&c->planned.output, &parts, err);

    if (code == SHEAF_OK && parts != 0)
        code = buf_printf(text, err, "; of %u parts, these are not finished: ", parts);

    for (uint32_t p = 0; p < parts && code == SHEAF_OK; p++) {
        bool any = false;

        code = planned_part(&c->planned.file.facts.plan, p, parts, &first, &end, err);
        for (size_t i = first; code == SHEAF_OK && i < end && !any; i++)
            any = c->states[i] != SHARD_THERE;
        if (any && code == SHEAF_OK)
            code = buf_printf(text, err, "%s%u", between, p);
        between = any ? ", " : between;
    }
    return code;
}

static int commit_name_missing(const struct commit_run *c, struct buf *text,
                               struct sheaf_error *err)
{
    const struct plan *plan = &c->planned.file.facts.plan;
    size_t named = 0;
    int code = SHEAF_OK;

    for (size_t i = 0; i < plan->shard_count && code == SHEAF_OK && named < NAMED_MOST; i++) {
        const char *split = plan->splits[plan->shards[i].split].name;
        char name[SHARD_NAME_BYTES];

        if (c->states[i] == SHARD_THERE)
            continue;
        code = pack_output_name(&c->planned.output, &plan->shards[i], name, err);
        if (code == SHEAF_OK)
            code = buf_printf(text, err, "%s%s%s%s%s", named++ == 0 ? "" : ", ", split,
                              split[0] == '\0' ? "" : "/", name,
                              c->states[i] == SHARD_ALTERED ? " (altered)" : "");
    }
    if (code == SHEAF_OK && c->missing_count > named)
        code = buf_printf(text, err, " and %zu more", c->missing_count - named);
    return code == SHEAF_OK ? name_parts(c, text, err) : code;
}

static int refuse_missing(const struct commit_run *c, struct sheaf_error *err)
{
    struct buf text = BUF_INIT((size_t)16 << 20);
    const size_t count = c->planned.file.facts.plan.shard_count;
    const bool altered = memchr(c->states, SHARD_ALTERED, count) != NULL;
    int code = commit_name_missing(c, &text, err);

    if (code == SHEAF_OK)
        code = err_set(err, altered ? SHEAF_ERR_CORRUPT : SHEAF_ERR_NOT_FOUND, "%s: %zu of %zu "
                       "shards are missing%s (pack their parts, then commit again): %.*s",
                       c->planned.output.dest, c->missing_count, count,
                       altered ? " or altered" : "", (int)MIN(text.size, 800u),
                       (const char *)text.data);
    buf_free(&text);
    return code;
}

static int commit_check_all(struct commit_run *c, struct sheaf_error *err)
{
    const struct plan *plan = &c->planned.file.facts.plan;
    struct finished finished = {
        .output = &c->planned.output, .plan = plan, .end = plan->shard_count,
    };
    int code;

    c->states = calloc(plan->shard_count, sizeof(c->states[0]));
    c->sums = calloc(plan->shard_count, sizeof(c->sums[0]));
    if (c->states == NULL || c->sums == NULL)
        return err_memory(err, plan->shard_count);
    c->progress.total_count = plan->sample_count;
    code = finished_each(&finished, commit_check_shard, c, err);
    if (code == SHEAF_OK && c->missing_count != 0)
        code = refuse_missing(c, err);
    return code;
}

/* ---- The sum --------------------------------------------------------------------------------- */

/* Returns an error if some of the source's files are neither packed nor skipped, or if no sample
 * was packed. The data set is then not published. A plan of version 1 does not state the number of
 * files, so the files are not checked for such a plan. */
static int commit_check_sum(const struct commit_run *c, struct sheaf_error *err)
{
    const struct plan_file *file = &c->planned.file;
    const struct problems *problems = &c->planned.problems;
    const struct sheaf_pack_result *result = &c->planned.result;
    int code = SHEAF_OK;

    if (is_without_files(c))
        code = problems_conserve(problems, file->facts.plan.sample_count, result->samples, err);
    else if (file->version > 1)
        code = problems_conserve(problems, file->facts.found, result->files_packed, err);
    if (code == SHEAF_OK && result->samples == 0)
        code = err_set(err, SHEAF_ERR_NOT_FOUND, "%s: no sample could be packed: all %llu files "
                       "were skipped", c->planned.output.dest,
                       (unsigned long long)file->facts.found);
    return code;
}

/* ---- Publishing ------------------------------------------------------------------------------ */

/* Checks that the data set still has the samples for which the column was planned. */
static int commit_check_base(const struct commit_run *c, struct sheaf_error *err)
{
    struct column_facts column;
    struct column_values values = { .source = NULL };
    int code = column_plan_read(c->planned.file.facts.options_json[0], &column, &values, err);

    if (code == SHEAF_OK)
        code = publish_check_base(c->planned.output.dest, column.base, err);
    column_values_free(&values);
    return code;
}

static int commit_publish(struct commit_run *c, struct sheaf_error *err)
{
    struct plan_facts *facts = &c->planned.file.facts;
    char *column_options = NULL;
    int code = problems_read(&c->planned.problems, facts->skipped, facts->skipped_bytes, err);

    if (code == SHEAF_OK)
        code = commit_check_sum(c, err);
    if (code == SHEAF_OK && facts->options.on_error == SHEAF_SKIP)
        code = problems_verdict(&c->planned.problems, err);
    if (code == SHEAF_OK && c->cls_words != 0)
        problems_note(&c->planned.problems, SHEAF_REASON_NONE, "", "%llu sample%s with a file .cls "
                      "that is not numbers", (unsigned long long)c->cls_words,
                      plural(c->cls_words));
    if (is_without_files(c))    /* the samples have their own labels */
        facts->plan.splits[0].cls_is_label = !c->has_cls;
    if (code == SHEAF_OK && is_column(c))
        code = commit_check_base(c, err);
    if (code == SHEAF_OK && is_column(c)) {
        column_options = column_layer_options(facts->options_json[0], c->without_value);
        code = column_options == NULL ? err_memory(err, strlen(facts->options_json[0])) : SHEAF_OK;
        facts->options_json[0] = column_options;
    }
    if (code == SHEAF_OK)
        code = pack_output_publish_plan(&c->planned.output, &c->planned.problems, &facts->plan,
                                        facts->options.label_base, facts->options_json, err);
    free(column_options);
    return code;
}

/* Removes the temporary files of this plan's parts, and keeps the files of other runs. Another
 * commit of the plan may do the same at the same time, so a file that has vanished is not an
 * error. */
static int commit_clean(struct commit_run *c, struct sheaf_error *err)
{
    struct output *output = &c->planned.output;
    struct destination d = { .claim = CLAIM_ABSENT };
    int code = destination_inspect(output, INSPECT_CLAIM, &d, err);

    if (code != SHEAF_OK || d.claim == CLAIM_OF_OTHER_PLAN)
        return code;
    if (d.claim == CLAIM_ABSENT)
        return output_sweep(output, err);
    if (d.claim == CLAIM_DAMAGED)
        return destination_refuse_no_run(output, &d, err);
    code = journal_join(&output->journal, &d.holder, err);
    if (code == SHEAF_OK)
        code = output_clean(output, err);
    if (code == SHEAF_OK)
        code = journal_clear(&output->journal, err);
    return code == SHEAF_ERR_CHANGED ? SHEAF_OK : code;
}

/* Checks the shards and publishes the data set. In a store without locks, another commit of the
 * same plan may finish first. In that case, sets *finished and publishes nothing. */
static int check_and_publish(struct commit_run *c, bool *finished, struct sheaf_error *err)
{
    struct output *output = &c->planned.output;
    int code = output_lock(output, false, &output->lock, err);

    if (code == SHEAF_OK)
        code = commit_check_all(c, err);
    if (code == SHEAF_OK)
        code = destination_is_finished(output, finished, err);
    if (code == SHEAF_OK && *finished)
        return SHEAF_OK;
    if (code == SHEAF_OK && c->planned.file.facts.plan.sample_count != 0)
        code = problems_check_packed(&c->planned.problems, c->planned.result.samples, err);
    output->checked = c->sums;
    if (code == SHEAF_OK)
        code = commit_publish(c, err);
    c->planned.result.skipped = c->planned.problems.count;
    c->planned.result.converted = c->planned.converted.count;
    return code;
}

/* Checks and publishes the data set, unless it is published already. Several commits of the same
 * plan may run at the same time. */
static int commit_plan(void *context, struct sheaf_error *err)
{
    struct commit_run *c = context;
    const struct plan_facts *facts = &c->planned.file.facts;
    struct sheaf_pack_result *result = &c->planned.result;
    struct output *output = &c->planned.output;
    bool finished = false;
    int code = output_join(output, 0, &finished, err);

    if (code == SHEAF_OK && !finished) {
        code = check_and_publish(c, &finished, err);
        finished |= destination_excuses(output, code);
    }
    if (finished) {
        *result = (struct sheaf_pack_result){ .shards = 0 };
        code = destination_result(output, result, err);
        if (facts->found != 0)
            result->files_packed = facts->found - result->skipped;
    }
    result->files = facts->found;
    result->duplicates = facts->repeat_count;
    return code == SHEAF_OK ? commit_clean(c, err) : code;
}

int sheaf_commit(const char *plan, const struct sheaf_pack_options *options,
                 struct sheaf_pack_result *result, struct sheaf_error *error)
{
    struct commit_run c = { .progress.stage = "commit" };
    const int code = planned_run(&c.planned, plan, options, commit_plan, &c, result, error);

    free(c.states);
    free(c.sums);
    return code;
}
