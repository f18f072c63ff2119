/* SPDX-License-Identifier: MIT
 *
 * Writes a column on several machines. sheaf_column_plan has stored a plan of the column's shards,
 * and each machine writes one part of these shards. Shards that are already finished are skipped.
 * When all shards exist, sheaf_commit publishes them as a layer: one of the data sets in which the
 * column is stored.
 *
 * The journal is a list with an entry for each finished shard. Each entry states how many records
 * of the shard have no value, and sheaf_commit adds up these numbers. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "columns/column_write.h"

struct column_part {
    struct sheaf_plan *plan;
    uint64_t first, end;        /* numbers of the part's samples */
    /* numbers of two shards in the plan: the shard that is being written, and the first shard after
     * the part of this machine */
    uint64_t shard, shard_end;
    uint64_t next_number;       /* number of the first sample after the present shard */
    /* value of facts.missing, the number of records without a value, at the beginning of the
     * present shard */
    uint64_t missing;
    uint64_t kept;
};

void column_part_range(const struct sheaf_column_writer *w, uint64_t *first, uint64_t *end)
{
    *first = w->part->first;
    *end = w->part->end;
}

uint64_t column_part_kept(const struct sheaf_column_writer *w)
{
    return w->part->kept;
}

void column_part_free(struct column_part *part)
{
    if (part != NULL)
        sheaf_plan_free(part->plan);
    free(part);
}

/* Sets w->end to the first sample of the next finished shard after the present shard. If no later
 * shard of the part is finished, sets w->end to the end of the part. All samples from the present
 * shard up to w->end still need a record. */
static int extend_range(struct sheaf_column_writer *w, struct sheaf_error *err)
{
    const struct column_part *p = w->part;
    struct sheaf_plan_shard shard;
    int done = 0, code = SHEAF_OK;

    w->end = p->next_number;
    for (uint64_t i = p->shard + 1; i < p->shard_end && !done && code == SHEAF_OK; i++) {
        code = sheaf_plan_shard(p->plan, i, &shard, &done, err);
        w->end += done ? 0 : shard.samples;
    }
    return code;
}

/* Begins to write the next unfinished shard of this machine's part of the plan. This is shard
 * p->shard, or a later shard if shard p->shard is already finished. The caller must have set
 * p->next_number to the number of the first sample in shard p->shard. */
static int begin_shard(struct sheaf_column_writer *w, struct sheaf_error *err)
{
    struct column_part *p = w->part;
    const bool is_there = sheaf_packer_is_there(w->packer);
    struct sheaf_plan_shard shard;
    int done, code = SHEAF_OK;

    for (; p->shard < p->shard_end; p->shard++) {
        code = sheaf_plan_shard(p->plan, p->shard, &shard, &done, err);
        if (code != SHEAF_OK)
            return code;
        w->next = p->next_number;
        p->next_number += shard.samples;
        if (!done && !is_there)
            break;
        p->kept++;
    }
    if (p->shard == p->shard_end) {
        w->next = w->end = p->end;
        return SHEAF_OK;
    }
    p->missing = w->facts.missing;
    code = column_packed(w, packer_begin_shard(w->packer, p->shard), err);
    return code == SHEAF_OK ? extend_range(w, err) : code;
}

int column_part_appended(struct sheaf_column_writer *w, struct sheaf_error *err)
{
    struct column_part *p = w->part;
    const uint64_t missing = w->facts.missing - p->missing;
    int code;

    if (w->next != p->next_number)
        return SHEAF_OK;
    /* Each shard is stored as soon as its last sample was appended. The program that makes the
     * values may be slow, so a crash should destroy the work on one shard at most. */
    code = column_packed(w, w->values.source == NULL ? packer_finish_shard(w->packer, missing)
                                                     : sheaf_packer_cut_at(w->packer, missing),
                                                     err);
    p->shard++;
    return code == SHEAF_OK ? begin_shard(w, err) : code;
}

/* ---- Opening --------------------------------------------------------------------------------- */

static int column_part_check_kind(const struct sheaf_plan_info *info, const char *url,
                                  struct sheaf_error *err)
{
    const bool is_conversion = info->fingerprint[0] != '\0';

    if (strcmp(info->source, COLUMN_PLAN_SOURCE) == 0)
        return SHEAF_OK;
    return err_because(err, err_set(err, SHEAF_ERR_ARGUMENT, "%s: is a plan of %s, expected one of "
                                    "a column", url, is_conversion ? "a conversion" : "files"),
                       is_conversion ? SHEAF_REASON_CONVERSION_PLAN : SHEAF_REASON_FILES_PLAN);
}

/* Opens the base data set, to which the column belongs. Samples may have been appended to the base
 * since the plan was made. But the samples in the plan must still be there, with the same numbers.
 */
static int open_base(struct sheaf_column_writer *w, const struct sheaf_plan_info *info,
                     struct sheaf_error *err)
{
    const struct dataset_part *part;
    int code = column_base_open(info->root, &w->base, err);

    if (code != SHEAF_OK)
        return code;
    part = column_base_part(w->base, w->facts.base);
    if (part != NULL && w->facts.first + info->samples == part->first_number + part->samples)
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_CHANGED, "%s: has changed since the plan was made: expected data "
                   "set %s, found %s", info->root, w->facts.base, w->base->manifest.fingerprint);
}

/* Finds the samples of the part. */
static int find_range(struct column_part *p, uint64_t number, uint32_t part, uint32_t parts,
                      struct sheaf_error *err)
{
    uint64_t first;
    int code = sheaf_plan_part(p->plan, part, parts, &first, &p->shard_end, err);

    p->shard = first;
    p->first = p->end = number;
    for (uint64_t i = 0; i < p->shard_end && code == SHEAF_OK; i++) {
        struct sheaf_plan_shard shard;
        int done;

        code = sheaf_plan_shard(p->plan, i, &shard, &done, err);
        p->end += shard.samples;
        p->first += i < first ? shard.samples : 0;
    }
    p->next_number = p->first;
    return code;
}

static int column_part_open(struct sheaf_column_writer *w, const char *plan, uint32_t part,
                            uint32_t parts, struct sheaf_error *err)
{
    struct sheaf_pack_options options;
    struct sheaf_plan_info info;
    int code;

    w->part = calloc(1, sizeof(*w->part));
    if (w->part == NULL)
        return err_memory(err, sizeof(*w->part));
    code = sheaf_plan_open(plan, &w->part->plan, err);
    if (code != SHEAF_OK)
        return code;
    sheaf_plan_get_info(w->part->plan, &info, sizeof(info));
    code = column_part_check_kind(&info, plan, err);
    column_packing(&w->options, NULL, &options);
    options.resume = 0;
    if (code == SHEAF_OK)
        code = packer_open_part(plan, parts, &options, &w->packer, err);
    if (code == SHEAF_OK)
        code = column_plan_read(w->packer->file.facts.options_json[0], &w->facts, &w->values, err);
    if (code == SHEAF_OK)
        code = open_base(w, &info, err);
    if (code == SHEAF_OK)
        code = find_range(w->part, w->facts.first, part, parts, err);
    if (code == SHEAF_OK)
        code = begin_shard(w, err);
    if (code == SHEAF_OK)
        column_writer_start(w);
    return code;
}

int sheaf_column_open_part(const char *plan, uint32_t part, uint32_t parts,
                           const struct sheaf_column_options *options,
                           struct sheaf_column_writer **writer, struct sheaf_error *error)
{
    struct sheaf_column_writer *w = calloc(1, sizeof(*w));
    struct sheaf_error own_error;
    int code;

    error = error != NULL ? error : &own_error;
    code = w == NULL ? err_memory(error, sizeof(*w))
                     : column_options_take(options, &w->options, error);
    if (code == SHEAF_OK)
        code = column_part_open(w, plan, part, parts, error);
    if (code != SHEAF_OK) {
        sheaf_column_free(w);
        return code;
    }
    *writer = w;
    return SHEAF_OK;
}
