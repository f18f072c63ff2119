/* SPDX-License-Identifier: MIT
 *
 * Reads the journal entries of a plan's shards; see finished.h. */
#include "packer/finished.h"

#include "packer/pack_output.h"
#include "publish/entries.h"

/* Sets *found to the shard with number `number` of f. Returns SHEAF_END if the listing shows that
 * the shard is not finished. */
static int finished_shard(const void *context, uint64_t number, struct entries_shard *found,
                          struct sheaf_error *err)
{
    const struct finished *f = context;
    const struct plan_shard *shard = &f->plan->shards[f->first + number];
    char name[SHARD_NAME_BYTES];
    bool has = true;
    int code = pack_output_name(f->output, shard, name, err);

    *found = (struct entries_shard){ shard->split, shard->number };
    if (code == SHEAF_OK && f->listing != NULL)
        has = output_listing_has(f->listing, shard->split, name);
    if (code == SHEAF_OK && f->listing != NULL && has)
        code = output_listing_has_entry(f->listing, f->output, shard->split, name, &has, err);
    return code != SHEAF_OK || has ? code : SHEAF_END;
}

int finished_take(const struct journal_entry *entry, struct problems *problems,
                  struct sheaf_pack_result *result, struct sheaf_error *err)
{
    int code = problems_read(problems, (const char *)entry->skipped.data, entry->skipped.size, err);

    if (code == SHEAF_OK && problems->converted != NULL)
        code = problems_read(problems->converted, (const char *)entry->converted.data,
                             entry->converted.size, err);
    if (code == SHEAF_OK)
        pack_output_count(result, &entry->facts);
    return code;
}

static int finished_take_all(const struct finished *f, finished_fn *take, void *context,
                             struct sheaf_error *err)
{
    struct entries *entries = NULL;
    int code = entries_open(f->output, f->end - f->first, finished_shard, f, &entries, err);

    for (size_t i = f->first; i < f->end && code == SHEAF_OK; i++) {
        const struct journal_entry *entry;

        code = entries_next(entries, &entry, err);
        if (code == SHEAF_OK || code == SHEAF_END)
            code = take(context, f, i, code == SHEAF_OK ? entry : NULL, err);
    }
    entries_close(entries);
    return code;
}

int finished_each(struct finished *f, finished_fn *take, void *context, struct sheaf_error *err)
{
    int code = output_list(f->output, &f->listing, err);

    if (code == SHEAF_OK || (code == SHEAF_ERR_ACCESS && f->may_lack_listing))
        code = finished_take_all(f, take, context, err);
    output_listing_free(f->listing);
    return code;
}
