/* SPDX-License-Identifier: MIT
 *
 * Reads journal entries ahead on several threads, and returns them in the order of their shards. A
 * journal entry is a file with the facts about a finished shard. */
#include "publish/entries.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/inflight.h"

/* Number of journal entries (the facts about finished shards) that are read at the same time. An
 * entry in a remote store takes about 20 ms, so this makes 1,600 entries per second. */
#define AT_ONCE 32u
/* Limit in bytes for the journal entries that are read ahead. An entry has the facts about a
 * finished shard. It may be large, because it contains the shard's part of the index. Its size is
 * unknown before it is read. Therefore each entry is assumed to be as large as the largest entry so
 * far. */
#define AHEAD_BYTES ((size_t)32 << 20)

struct entry_slot {
    struct inflight_item item;  /* the first member */
    const struct output *output;
    struct entries_shard shard;
    bool is_read;               /* whether there is an entry to be read */
    struct journal_entry entry;
    int code;                   /* as journal_get's */
    struct sheaf_error error;
};

struct entries {
    entries_shard_fn *shard;
    const void *context;
    uint64_t count, begun;
    /* size in bytes of the largest journal entry (the facts about a finished shard) that was read
     * so far; 0 before the first entry */
    size_t largest;
    struct workers *workers;
    struct inflight window;
    struct entry_slot *given;         /* the entry that entries_next returned last */
    struct entry_slot slots[AT_ONCE];
};

static void entries_read_entry(struct inflight_item *item)
{
    struct entry_slot *s = (struct entry_slot *)item;
    const struct journal *journal = &s->output->journal;
    char name[SHARD_NAME_BYTES];

    if (s->is_read)
        s->code = output_shard_name(s->output, s->shard.split, s->shard.number, name, &s->error);
    if (s->code == SHEAF_OK)
        s->code = journal_get(journal, journal->plan.splits[s->shard.split], name, &s->entry,
                              &s->error);
}

static void entries_begin(struct entries *e)
{
    struct entry_slot *s = (struct entry_slot *)inflight_idle(&e->window);

    s->code = e->shard(e->context, e->begun++, &s->shard, &s->error);
    s->is_read = s->code == SHEAF_OK;
    inflight_run(&e->window, s->is_read ? e->workers : NULL, &s->item);
}

int entries_open(const struct output *output, uint64_t count, entries_shard_fn *shard,
                 const void *context, struct entries **entries, struct sheaf_error *err)
{
    struct entries *e = calloc(1, sizeof(*e));
    int code;

    if (e == NULL)
        return err_memory(err, sizeof(*e));
    *e = (struct entries){ .shard = shard, .context = context, .count = count };
    code = workers_open(&e->workers, (unsigned)MAX(MIN(count, AT_ONCE), 1), err);
    if (code != SHEAF_OK) {
        free(e);
        return code;
    }
    inflight_open(&e->window, INFLIGHT_OLDEST, NULL, NULL);
    for (size_t i = 0; i < AT_ONCE; i++) {
        e->slots[i] = (struct entry_slot){ .item.run = entries_read_entry, .output = output };
        inflight_add(&e->window, &e->slots[i].item);
    }
    *entries = e;
    return SHEAF_OK;
}

static uint64_t entries_at_once(const struct entries *e)
{
    return e->largest == 0 ? 1 : MAX(MIN(AHEAD_BYTES / e->largest, AT_ONCE), 1);
}

int entries_next(struct entries *e, const struct journal_entry **entry, struct sheaf_error *err)
{
    struct entry_slot *s;

    if (e->given != NULL)
        inflight_add(&e->window, &e->given->item);
    while (e->begun < e->count && e->window.count < entries_at_once(e))
        entries_begin(e);
    s = e->given = (struct entry_slot *)inflight_next(&e->window);
    if (s->code != SHEAF_OK && s->code != SHEAF_END)
        *err = s->error;
    if (!s->is_read)
        return s->code;
    e->largest = MAX(e->largest, sizeof(*s) + s->entry.section.size + s->entry.skipped.size +
                                 s->entry.sides.size + s->entry.converted.size);
    *entry = &s->entry;
    return s->code;
}

void entries_close(struct entries *e)
{
    if (e == NULL)
        return;
    inflight_close(&e->window);
    workers_close(e->workers);
    for (size_t i = 0; i < AT_ONCE; i++)
        journal_entry_free(&e->slots[i].entry);
    free(e);
}
