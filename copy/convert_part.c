/* SPDX-License-Identifier: MIT
 *
 * Converts one part of a stored plan. A part consists of some shards of a data set, so several
 * machines can convert one data set together. */
#include <string.h>

#include "base/error.h"
#include "copy/convert.h"
#include "packer/packer.h"

/* Opens the plan's data set, which must be unchanged. */
static int convert_part_open_source(const struct sheaf_plan_info *plan, const char *url,
                                    struct sheaf_dataset **dataset, struct sheaf_error *err)
{
    struct sheaf_dataset_info info;
    int code;

    if (strcmp(plan->source, COLUMN_PLAN_SOURCE) == 0)
        return err_because(err, err_set(err, SHEAF_ERR_ARGUMENT, "%s: is a plan of a column, "
                                        "expected one of a conversion", url),
                           SHEAF_REASON_COLUMN_PLAN);
    if (plan->fingerprint[0] == '\0')
        return err_because(err, err_set(err, SHEAF_ERR_ARGUMENT, "%s: is a plan of files, expected "
                                        "one of a conversion", url), SHEAF_REASON_FILES_PLAN);
    code = sheaf_dataset_open(&plan->root, 1, dataset, err);
    if (code != SHEAF_OK)
        return code;
    sheaf_dataset_get_info(*dataset, &info, sizeof(info));
    if (strcmp(info.fingerprint, plan->fingerprint) == 0)
        return SHEAF_OK;
    /* The plan states the fingerprint that the data set had when the plan was made. If samples were
     * appended or edited since then, the manifest lists the plan's fingerprint as an earlier
     * fingerprint. */
    if (info.manifest_json != NULL && strstr(info.manifest_json, plan->fingerprint) != NULL)
        return err_set(err, SHEAF_ERR_CHANGED, "%s: has grown or was edited since the plan was "
                       "made: make the plan of its conversion again", plan->root);
    return err_set(err, SHEAF_ERR_CHANGED, "%s: has changed since the plan was made: expected data "
                   "set %s, found %s", plan->root, plan->fingerprint, info.fingerprint);
}

/* Copies `samples` samples of the data set, beginning with sample number `first`, to a new shard.
 * *at is the number of the sample that the reader returns next; if it is not `first`, the reader
 * must seek. */
static int copy_shard(struct convert *c, uint64_t shard, uint64_t first, uint64_t samples,
                      uint64_t *at, struct sheaf_error *err)
{
    int code = convert_packed(c, packer_begin_shard(c->packer, shard), err);

    if (code == SHEAF_OK && first != *at) {
        code = sheaf_reader_seek(c->in.reader, 0, first);
        if (code != SHEAF_OK)
            *err = *sheaf_reader_error(c->in.reader);
    }
    for (*at = first; *at < first + samples && code == SHEAF_OK; ) {
        const struct sheaf_sample *given;
        size_t count = 0;

        code = copying_next(&c->in, (size_t)(first + samples - *at), &given, &count, err);
        if (code == SHEAF_END)
            return err_set(err, SHEAF_ERR_CHANGED, "the data set ends at sample %llu, before the "
                           "plan's end", (unsigned long long)*at);
        if (code == SHEAF_OK)
            code = convert_append_all(c, given, count, NULL, err);
        *at += count;
    }
    return code;
}

/* Converts the shards that belong to one part of the plan. Leaves out shards that an earlier run
 * has finished. */
static int copy_part(struct convert *c, const struct sheaf_plan *plan, uint32_t part,
                     uint32_t parts, struct sheaf_pack_result *result, struct sheaf_error *err)
{
    uint64_t first, end, place = 0, kept = 0, at = UINT64_MAX;
    int code = sheaf_plan_part(plan, part, parts, &first, &end, err);

    for (uint64_t i = 0; code == SHEAF_OK && i < end; i++) {
        struct sheaf_plan_shard shard;
        int done;

        code = sheaf_plan_shard(plan, i, &shard, &done, err);
        kept += i >= first && done;
        if (code == SHEAF_OK && i >= first && !done)
            code = copy_shard(c, i, place, shard.samples, &at, err);
        place += shard.samples;
    }
    if (code == SHEAF_OK)
        code = convert_packed(c, sheaf_packer_finish(c->packer, result), err);
    if (code == SHEAF_OK && sheaf_packer_is_there(c->packer))
        *result = (struct sheaf_pack_result){ .shards = 0 };
    result->shards_kept = kept;
    return code;
}

int sheaf_convert_part(const char *plan, uint32_t part, uint32_t parts,
                       const struct sheaf_pack_options *options,
                       const struct sheaf_reader_options *reading,
                       struct sheaf_pack_result *result, struct sheaf_error *error)
{
    struct sheaf_pack_result own_result;
    struct sheaf_error own_error;
    struct sheaf_dataset *dataset = NULL;
    struct sheaf_plan *opened = NULL;
    struct sheaf_plan_info info;
    struct convert c;
    int code;

    result = result != NULL ? result : &own_result;
    error = error != NULL ? error : &own_error;
    code = sheaf_plan_open(plan, &opened, error);
    if (code != SHEAF_OK)
        return code;
    sheaf_plan_get_info(opened, &info, sizeof(info));
    code = convert_part_open_source(&info, plan, &dataset, error);
    if (code == SHEAF_OK) {
        convert_init(&c, dataset, options, reading);
        code = packer_open_part(plan, parts, &c.packing, &c.packer, error);
        if (code == SHEAF_OK)
            code = copying_open(&c.in, &c.reading, error);
        if (code == SHEAF_OK)
            convert_keep(&c, info.container);
        if (code == SHEAF_OK)
            code = copy_part(&c, opened, part, parts, result, error);
        if (code == SHEAF_OK)
            convert_tell(&c);
        convert_close(&c, NULL);
    }
    sheaf_dataset_free(dataset);
    sheaf_plan_free(opened);
    return code;
}
