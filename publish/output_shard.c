/* SPDX-License-Identifier: MIT
 *
 * Publishes a shard. Writes four things, in this order:
 * 1. the journal entry (the facts about the shard);
 * 2. the files beside the shard;
 * 3. the shard;
 * 4. the journal entry again, with a stamp: a number by which these files are recognised without
 *    reading them.
 *
 * Several runs may make the same shard at the same time. Their shards may differ, for example if
 * only one run can read a source file. The shard of the run that finishes first is used. So a run
 * first looks at all these files, and then checks its claim (the file that says which run packs
 * here). It replaces a file only if the file is still as the run saw it.
 *
 * For example, runs A and B make the same shard:
 * - If A has finished before B looks, B uses the shard of A.
 * - If A writes a file after B has looked, B cannot replace this file. B then uses the shard of A
 *   if A has finished it, and fails otherwise.
 *
 * B always notices A, because A writes the journal entry first, and B itself must write this entry.
 *
 * On a local disk, runs also use a lock on the directory. Runs that find no files of the shard
 * share the lock. A run that replaces a file holds the lock alone. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/index.h"
#include "publish/destination.h"
#include "store/over.h"

/* Indexes in a table of files: the journal entry (the facts about a finished shard), the shard, and
 * then the files beside the shard. */
enum { ENTRY, SHARD, SIDES, NAMES_MOST = SIDES + SIDES_MOST };

/* A publication. */
struct publication {
    const struct output *output;
    struct shard_files *files;
    struct journal_entry *entry;
    uint32_t split;
    struct store_seen seen[NAMES_MOST];
    bool is_begun;                      /* the entry is written, and files may be */
};

static const char *split_of(const struct publication *p)
{
    return p->output->journal.plan.splits[p->split];
}

static size_t name_count(const struct publication *p)
{
    return SIDES + p->files->side_count;
}

static int see_all(struct publication *p, struct sheaf_error *err)
{
    const char *directory = p->output->directories[p->split], *shard = p->entry->facts.name;
    const size_t count = name_count(p);
    char *urls[NAMES_MOST] = { journal_entry_url(&p->output->journal, split_of(p), shard),
                               store_join(directory, shard) };
    bool has_memory = urls[ENTRY] != NULL && urls[SHARD] != NULL;
    int code;

    for (size_t i = SIDES; i < count; i++) {
        urls[i] = store_join(directory, p->files->sides[i - SIDES].name);
        has_memory &= urls[i] != NULL;
    }
    code = has_memory ? store_see_all((const char *const *)urls, count, p->seen, err)
                      : err_memory(err, SHARD_NAME_BYTES);
    for (size_t i = 0; i < count; i++)
        free(urls[i]);
    return code;
}

static bool is_anything(const struct publication *p)
{
    bool any = false;

    for (size_t i = 0; i < name_count(p); i++)
        any |= p->seen[i].is_there;
    return any;
}

/* Adds the stamp to the journal entry (the stored facts) of a shard whose hashes were checked. The
 * stamp is a number by which the files of the shard are recognised without reading them. The stamp
 * must belong to the files that were read, and not to files that have replaced them since. */
static int certify(const struct publication *p, struct journal_entry *entry, uint64_t stamp,
                   struct sheaf_error *err)
{
    struct store_seen now;
    int code;

    if (entry->stamp != 0 || stamp == 0)
        return SHEAF_OK;
    entry->stamp = stamp;
    code = journal_put(&p->output->journal, split_of(p), entry, &p->seen[ENTRY], &now, err);
    return code == SHEAF_ERR_CHANGED ? SHEAF_OK : code;     /* another run just did it */
}

/* Looks for another run that has already finished this shard from the same source files. If there
 * is such a run, *won becomes true, and the shard of that run is used. */
static int find_winner(struct publication *p, bool *won, struct sheaf_error *err)
{
    struct journal_entry found = { .facts = { .bytes = 0 } };
    uint64_t stamp;
    int code = output_find_shard(p->output, p->split, p->entry->facts.name, &found, won, &stamp,
                                 err);

    *won = code == SHEAF_OK && *won && found.source == p->entry->source;
    if (*won)
        code = certify(p, &found, stamp, err);
    if (*won) {
        struct journal_entry own = *p->entry;

        *p->entry = found;
        found = own;
    }
    journal_entry_free(&found);
    return code;
}

/* Commits the writer *writer, and sets *writer to NULL, because a commit frees the writer even if
 * it fails. */
static int put_writer(const struct publication *p, struct store_writer **writer,
                      const struct store_seen *seen, uint64_t *stamp, struct sheaf_error *err)
{
    struct store_writer *w = *writer;
    struct store_seen now;
    const int code = journal_commit(&p->output->journal, w, seen, &now, err);

    *writer = NULL;
    *stamp = now.stamp;
    return code;
}

static int put_side(const struct publication *p, struct shard_side *side,
                    const struct store_seen *seen, struct sheaf_error *err)
{
    struct store_seen now = { .is_there = false };
    char *url;
    int code;

    if (side->writer != NULL)
        return put_writer(p, &side->writer, seen, &side->stamp, err);
    url = store_join(p->output->directories[p->split], side->name);
    code = url == NULL ? err_memory(err, strlen(side->name))
                       : journal_put_file(&p->output->journal, url, side->data.data,
                                          side->data.size, NULL, seen, &now, err);
    free(url);
    side->stamp = now.stamp;
    return code;
}

static int publish_over(struct publication *p, struct sheaf_error *err)
{
    const struct journal *journal = &p->output->journal;
    struct shard_files *f = p->files;
    struct store_seen now, entry;
    uint64_t stamp = 0;
    int code;

    p->entry->stamp = 0;
    code = journal_put(journal, split_of(p), p->entry, &p->seen[ENTRY], &entry, err);
    p->is_begun = code == SHEAF_OK;
    for (size_t i = 0; i < f->side_count && code == SHEAF_OK; i++)
        code = put_side(p, &f->sides[i], &p->seen[SIDES + i], err);
    if (code == SHEAF_OK)
        code = put_writer(p, &f->shard, &p->seen[SHARD], &stamp, err);
    for (size_t i = 0; i < f->side_count; i++)
        stamp = output_stamp_add(stamp, f->sides[i].stamp);
    if (code != SHEAF_OK || stamp == 0)
        return code;
    p->entry->stamp = stamp;
    return journal_put(journal, split_of(p), p->entry, &entry, &now, err);
}

/* Returns an error if the data set is already published. A commit publishes the manifest and then
 * removes the journal entries (the facts about a finished shard). So a shard without a journal
 * entry may belong to a complete data set, which must not change. */
static int refuse_finished(const struct publication *p, struct sheaf_error *err)
{
    bool finished;
    int code = destination_is_finished(p->output, &finished, err);

    if (code == SHEAF_OK && finished)
        code = err_set(err, SHEAF_ERR_CHANGED, "%s/%s: another process has published the data set",
                       p->output->dest, p->entry->facts.name);
    return code;
}

/* Tries once to publish the shard. `alone` says whether the caller holds the lock of the
 * destination exclusively.
 *
 * If `alone` is false, the function returns SHEAF_END if files of the shard exist already, or if
 * another run has just begun to publish it. The caller must then take the lock exclusively and try
 * again. */
static int publish_once(struct publication *p, bool alone, struct sheaf_error *err)
{
    bool won = false;
    int code = see_all(p, err);

    if (code == SHEAF_OK && !alone && is_anything(p))
        return SHEAF_END;
    if (code == SHEAF_OK && p->seen[ENTRY].is_there)
        code = find_winner(p, &won, err);
    /* Before this run replaces the shard of another run, it looks once more whether that shard is
     * complete. The first answer of the store may have been damaged in transit. A complete shard
     * must stay, because the other run has already reported success. */
    if (code == SHEAF_OK && !won && p->seen[ENTRY].is_there && p->output->is_shared)
        code = find_winner(p, &won, err);
    if (code == SHEAF_OK && !won)
        code = journal_check(&p->output->journal, err);
    if (code == SHEAF_OK && !won && !p->seen[ENTRY].is_there && is_anything(p))
        code = refuse_finished(p, err);
    if (code != SHEAF_OK || won)
        return code;
    code = publish_over(p, err);
    if (code != SHEAF_ERR_CHANGED)
        return code;
    if (!alone && !p->is_begun)
        return SHEAF_END;
    code = find_winner(p, &won, err);
    if (code != SHEAF_OK || won)
        return code;
    return err_set(err, SHEAF_ERR_CHANGED, "%s/%s: another run is writing this shard with "
                   "different content: run this one again when that has ended", p->output->dest,
                   p->entry->facts.name);
}

/* ---- Locks ----------------------------------------------------------------------------------- */

#define LOCK_WAIT_NS 20000000l

/* Waits for the lock of the destination. Other processes hold the lock for a short time, while they
 * publish a shard or commit. The wait ends early only if the caller's interrupt flag is set.
 *
 * A run with a single process holds the lock as long as it packs a new data set. This function
 * never waits for such a run, because output_join was called before. output_join reads the claim of
 * that run (the file that says which run packs here), and refuses to join. */
int output_lock(const struct output *o, bool shared, int *lock, struct sheaf_error *err)
{
    const struct timespec wait = { .tv_nsec = LOCK_WAIT_NS };
    int code;

    *lock = -1;
    if (o->lock >= 0 || !o->is_shared)
        return SHEAF_OK;
    while ((code = store_lock(o->dest, shared, lock, err)) == SHEAF_ERR_EXISTS) {
        code = journal_check(&o->journal, err);
        if (code == SHEAF_OK && o->interrupt != NULL && *o->interrupt != 0)
            code = err_set(err, SHEAF_ERR_INTERRUPTED, "%s: interrupted while it waited for "
                           "another process there", o->dest);
        if (code != SHEAF_OK)
            return code;
        nanosleep(&wait, NULL);
    }
    return code;
}

/* ---- Repairs --------------------------------------------------------------------------------- */

static const struct manifest_shard *output_shard_find(const struct manifest *m, const char *name)
{
    for (size_t i = 0; i < m->shard_count; i++)
        if (strcmp(m->shards[i].name, name) == 0)
            return &m->shards[i];
    return NULL;
}

/* Checks a shard that a repair has made again: its hash must equal the hash in the manifest.
 * Otherwise returns SHEAF_ERR_CHANGED.
 *
 * The hash of the shard does not cover its .lst file. But the shard's section of the index has CRCs
 * of the lines of the .lst file. So if the shard has a .lst file, the new section must equal the
 * old section.
 *
 * Without a .lst file, the two sections are not compared, because they may differ although the
 * shards are equal. For example, the old section of an edited shard may lack labels that the new
 * section has. */
static int check_repaired(const struct output *o, const struct journal_entry *entry,
                          struct sheaf_error *err)
{
    const struct manifest_shard *m = output_shard_find(o->grows, entry->facts.name);
    char sum[INDEX_SUM_BYTES];

    index_sum(entry->section.data, entry->section.size, sum);
    if (m != NULL && m->bytes == entry->facts.bytes && strcmp(m->xxh3, entry->facts.xxh3) == 0 &&
        (m->names_bytes == 0 || m->index_xxh3[0] == '\0' || strcmp(m->index_xxh3, sum) == 0))
        return SHEAF_OK;
    if (o->refused != NULL)
        o->refused(o->refused_context, entry);
    return err_set(err, SHEAF_ERR_CHANGED, "the shard that was made again has %llu byte%s and "
                   "the XXH3-128 %s, expected %llu and %s", (unsigned long long)entry->facts.bytes,
                   plural(entry->facts.bytes), entry->facts.xxh3,
                   m == NULL ? 0 : (unsigned long long)m->bytes, m == NULL ? "" : m->xxh3);
}

int output_publish_shard(const struct output *o, uint32_t split, struct shard_files *files,
                         struct journal_entry *entry, struct sheaf_error *err)
{
    struct publication p = { .output = o, .files = files, .entry = entry, .split = split };
    int lock = -1, code = o->is_repair ? check_repaired(o, entry, err) : SHEAF_OK;

    /* The last bytes of the shard are sent while this function looks at the destination. */
    if (code == SHEAF_OK)
        code = store_end(files->shard, err);
    if (code == SHEAF_OK)
        code = output_lock(o, true, &lock, err);
    if (code == SHEAF_OK)
        code = publish_once(&p, lock < 0, err);
    store_unlock(lock);
    if (code != SHEAF_END)
        return code;
    code = output_lock(o, false, &lock, err);
    if (code == SHEAF_OK)
        code = publish_once(&p, true, err);
    store_unlock(lock);
    return code;
}
