/* SPDX-License-Identifier: MIT
 *
 * Finds the shards that an earlier, interrupted run of the same program finished; see resumed.h. */
#include "packer/resumed.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static int resumed_keep(struct resumed *r, const struct journal_entry *entry,
                        struct sheaf_error *err)
{
    const struct shard_facts *facts = &entry->facts;
    struct resumed_shard *grown = reallocarray(r->shards, r->count + 1, sizeof(*grown));

    if (grown == NULL)
        return err_memory(err, (r->count + 1) * sizeof(*grown));
    r->shards = grown;
    grown[r->count++] = (struct resumed_shard){
        .samples = facts->samples, .payload_bytes = facts->payload_bytes, .files = facts->files,
        .place = entry->source,
    };
    r->has_cls |= facts->has_cls;
    return r->drops_keys ? SHEAF_OK
                         : buf_append(&r->keys, entry->keys.data, entry->keys.size, err);
}

/* Returns whether this finished shard can be kept. When a program is resumed, it passes all samples
 * to the packer again. The packer counts them to find the end of a shard that is kept. So a shard
 * can be kept only if it contains samples, and if no sample was left out of it. */
static bool resumed_is_whole(const struct journal_entry *entry)
{
    return entry->skipped.size == 0 && entry->facts.samples != 0;
}

int resumed_find(struct resumed *r, const struct output *output, struct engine *e,
                 struct sheaf_error *err)
{
    struct journal_entry entry = { .facts = { .bytes = 0 } };
    bool found = true;
    int code = SHEAF_OK;

    r->keys.limit = SIZE_MAX / 4;
    while (code == SHEAF_OK && found && r->count < SHARD_LIMIT) {
        char name[SHARD_NAME_BYTES];
        uint64_t stamp;

        code = output_shard_name(output, 0, r->count, name, err);
        if (code == SHEAF_OK)
            code = watch_check(e->watch, err);
        if (code == SHEAF_OK)
            code = output_find_shard(output, 0, name, &entry, &found, &stamp, err);
        found = found && code == SHEAF_OK && resumed_is_whole(&entry);
        if (found)
            code = resumed_keep(r, &entry, err);
        if (found && code == SHEAF_OK)
            pack_output_count(&e->result, &entry.facts);
    }
    e->result.shards_kept = r->count;
    journal_entry_free(&entry);
    return code;
}

void resumed_free(struct resumed *r)
{
    free(r->shards);
    buf_free(&r->keys);
    *r = (struct resumed){ .shards = NULL };
}

int resumed_take(struct resumed *r, const struct plan_shard *shard, bool *ends,
                 struct sheaf_error *err)
{
    const struct resumed_shard *kept = &r->shards[r->at];

    *ends = shard->sample_count == kept->samples;
    if (!*ends)
        return SHEAF_OK;
    r->at++;
    if (shard->payload_bytes == kept->payload_bytes || r->converts)
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_CHANGED, "finished shard %u has samples of %" PRIu64 " byte%s, "
                   "but %" PRIu64 " were appended now", shard->number, kept->payload_bytes,
                   plural(kept->payload_bytes), shard->payload_bytes);
}

bool resumed_has_place(const struct resumed *r)
{
    return r->count != 0 && r->shards[r->count - 1].place != 0;
}

int resumed_check_end(const struct resumed *r, struct sheaf_error *err)
{
    if (!resumed_has_next(r))
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_CHANGED, "the samples end in shard %zu, but an earlier run "
                   "finished %zu shard%s", r->at, r->count, plural(r->count));
}
