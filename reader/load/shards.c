/* SPDX-License-Identifier: MIT
 *
 * Opens shards; see shards.h. */
#include "reader/load/shards.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/interop_index.h"
#include "reader/dataset/joined.h"
#include "store/interrupt.h"

int shards_init(struct shards *s, const struct sheaf_dataset *dataset, struct workers *workers,
                struct budget *budget, struct cache *cache, struct sheaf_error *err)
{
    memset(s, 0, sizeof(*s));
    s->dataset = dataset;
    s->workers = workers;
    s->budget = budget;
    s->cache = cache;
    s->open = calloc(dataset->manifest.shard_count + 1, sizeof(s->open[0]));
    if (s->open == NULL)
        return err_memory(err, dataset->manifest.shard_count * sizeof(s->open[0]));
    return index_files_open(&s->indexes, dataset, budget, cache, err);
}

static void shards_close_shard(struct shard *shard)
{
    store_close(shard->object);
    store_close(shard->names);
    free(shard->lines);
    index_section_free(shard->own_section);
    shards_close_columns(shard);
    shards_trim_spares(shard->owner);
    free(shard);
}

void shards_free(struct shards *s)
{
    if (s->open != NULL)
        (void)shards_trim(s);
    for (size_t i = 0; s->open != NULL && i < s->dataset->manifest.shard_count; i++)
        if (s->open[i] != NULL)
            shards_close_shard(s->open[i]);
    free(s->open);
    s->open = NULL;
    spares_trim(&s->spares, 0);
    index_files_close(&s->indexes);
}

static int load_lines(struct shard *shard, uint64_t bytes, struct sheaf_error *err)
{
    const struct index_section *s = shard->section;
    int code;

    if (s->name_offsets != NULL && s->name_offsets[s->samples] > bytes)
        return err_set(err, SHEAF_ERR_TRUNCATED, "%s: has %" PRIu64 " byte%s, but the index %u",
                       shard->names->url, bytes, plural(bytes), s->name_offsets[s->samples]);
    shard->lines = malloc(bytes + 1);
    if (shard->lines == NULL)
        return err_memory(err, bytes);
    code = store_read(shard->names, 0, shard->lines, bytes, err);
    store_close(shard->names);
    shard->names = NULL;
    return code;
}

/* Opens the .lst file of a shard (the names of its records) in the directory of the manifest.
 * Called if there is no .lst file in the directory of the shard. A platform such as SageMaker may
 * divide files among hosts in such a way that a shard and its .lst file are on different hosts. */
static int open_names_beside_manifest(struct shard *shard, const char *name,
                                      struct sheaf_error *err)
{
    const struct sheaf_dataset *source = dataset_source(shard->owner->dataset, shard->number);
    const struct manifest_shard *m = &shard->owner->dataset->manifest.shards[shard->number];
    const char *index_url = source->parts[0].index_url;
    char *url = NULL;
    int code;

    if (asprintf(&url, "%.*s%s", (int)(strrchr(index_url, '/') + 1 - index_url), index_url,
                 name) < 0)
        return err_memory(err, strlen(index_url));
    code = listed_open(shard->owner->cache, source, url, m->xxh3, m->names_bytes, &shard->names,
                       err);
    free(url);
    return code;
}

/* Opens the .lst beside a RecordIO shard. */
static int shards_open_names(struct shard *shard, struct sheaf_error *err)
{
    const struct sheaf_dataset *d = shard->owner->dataset;
    const struct sheaf_dataset *source = dataset_source(d, shard->number);
    const struct manifest_shard *m = &d->manifest.shards[shard->number];
    const char *url = d->urls[shard->number];
    const size_t stem = strlen(url) - strlen(m->name)
                      + interop_stem(source->manifest.container, source->manifest.codec, m->name);
    char *names = NULL;
    int code;

    if (asprintf(&names, "%.*s.lst", (int)stem, url) < 0)
        return err_memory(err, stem);
    code = listed_open(shard->owner->cache, source, names, m->xxh3, m->names_bytes, &shard->names,
                       err);
    if (code == SHEAF_ERR_NOT_FOUND && source->hosts != 0)
        code = open_names_beside_manifest(shard, names + (strlen(url) - strlen(m->name)), err);
    free(names);
    return code == SHEAF_OK && shard->owner->keep_lines ? load_lines(shard, m->names_bytes, err)
                                                        : code;
}

static int shards_open_parts(struct shard *shard)
{
    const struct sheaf_dataset *d = shard->owner->dataset;
    const struct sheaf_dataset *source = dataset_source(d, shard->number);
    const struct manifest_shard *m = &d->manifest.shards[shard->number];
    struct sheaf_error *err = &shard->error;
    /* If bad records are skipped, a shard that is too short is opened as well. Each missing record
     * is then reported as a bad record. */
    int code = shard->owner->keep_short && d->offline == NULL
                   ? listed_open_any(shard->owner->cache, d->urls[shard->number], &shard->object,
                                     err)
                   : listed_open_known(shard->owner->cache, source, d->urls[shard->number],
                                       m->xxh3, m->bytes, &shard->object, err);

    if (code == SHEAF_OK && !shard->owner->keep_short)
        code = listed_check_kind(shard->object, d->urls[shard->number], m->bytes, err);
    if (code == SHEAF_OK && shard->object->bytes < m->bytes && !shard->owner->keep_short)
        code = err_set(err, SHEAF_ERR_TRUNCATED, "%s: has %" PRIu64 " byte%s, but %" PRIu64 " "
                       "are expected", d->urls[shard->number], shard->object->bytes,
                       plural(shard->object->bytes), m->bytes);
    if (code == SHEAF_OK && shard->object->bytes > m->bytes)
        code = err_set(err, SHEAF_ERR_CHANGED, "%s: has %" PRIu64 " byte%s, but %" PRIu64 " are "
                       "expected: the shard has changed", d->urls[shard->number],
                       shard->object->bytes, plural(shard->object->bytes), m->bytes);
    if (code == SHEAF_OK && source->part_count != 0)
        code = index_files_section(&shard->owner->indexes, shard->number, &shard->own_section,
                                   err);
    shard->section = source->part_count != 0 ? shard->own_section : d->sections[shard->number];
    if (code == SHEAF_OK)
        code = joined_wrap(&shard->object, shard->section, err);
    if (code == SHEAF_OK && source->manifest.ours && source->format->has_names)
        code = shards_open_names(shard, err);
    return code;
}

/* Opens a shard that has no columns. */
static void shards_open_shard(struct job *job)
{
    struct shard *shard = (struct shard *)(void *)job;
    const volatile int *before = interrupt_watch(&shard->owner->cancelled);

    shard->code = shards_open_parts(shard);
    interrupt_watch(before);
}

/* ---- Side by side --------------------------------------------------------------------------- */

/* Opens the shard itself while other jobs open its columns. */
static void open_shard_base(struct job *job)
{
    struct shard *shard = (struct shard *)(void *)((char *)job - offsetof(struct shard, base));

    shards_open_shard(&shard->job);
    shards_end_job(shard);
}

/* Runs when the shard itself and its columns have been opened. */
static void join_parts(struct job *job)
{
    struct shard *shard = (struct shard *)(void *)job;

    if (shard->code == SHEAF_OK)
        shard->code = shards_check_columns(shard, &shard->error);
}

/* Begins to open a shard. Each column of a remote shard takes at least one request, so the columns
 * are opened side by side. */
static void begin_open(struct shard *shard)
{
    struct workers *workers = shard->owner->workers;

    shard->job.run = shard->columns == NULL ? shards_open_shard : join_parts;
    if (shard->columns == NULL) {
        workers_submit(workers, &shard->job);
        return;
    }
    shard->base.run = open_shard_base;
    atomic_init(&shard->jobs_left, 1 + (unsigned)shard->column_count);
    workers_submit(workers, &shard->base);
    shards_begin_columns(shard);
}

/* Waits until the jobs of a shard have ended. A job that was cancelled before it ran has not called
 * shards_end_job, so this function calls it instead. */
static void end_open(struct shard *shard)
{
    struct workers *workers = shard->owner->workers;

    if (shard->columns != NULL) {
        workers_wait(workers, &shard->base);
        if (shard->base.cancelled)
            shards_end_job(shard);
        shards_stop_columns(shard);
    }
    workers_wait(workers, &shard->job);
}

uint64_t shards_memory(const struct shards *s, uint32_t number)
{
    const struct manifest_shard *m = &s->dataset->manifest.shards[number];
    const struct sheaf_dataset *source = dataset_source(s->dataset, number);
    uint64_t bytes = sizeof(struct shard) + (s->keep_lines ? m->names_bytes : 0);

    if (source->part_count != 0)  /* A block has at least one sample. */
        bytes += m->index_bytes + index_memory(m->samples, source->format->has_names,
                                               source->codec != NULL ? m->index_bytes / 8 : 0);
    if (source->manifest.joined)  /* A piece takes at least two bytes. */
        bytes += m->index_bytes / 2 * sizeof(struct index_block);
    if (s->columns != NULL)
        bytes += s->columns->count * sizeof(struct shard_column);
    return bytes + shards_kept_bytes(s, number) + columns_index_bytes(s->columns, m->samples);
}

bool shards_take(struct shards *s, uint64_t bytes, bool may_reserve, bool *is_reserved)
{
    *is_reserved = false;
    if (budget_take(s->budget, bytes) || (shards_trim(s) && budget_take(s->budget, bytes)))
        return true;
    *is_reserved = may_reserve;
    return may_reserve && budget_take_reserved(s->budget, bytes);
}

void shards_give(struct shards *s, uint64_t bytes, bool is_reserved)
{
    if (is_reserved)
        budget_give_reserved(s->budget, bytes);
    else
        budget_give(s->budget, bytes);
}

static int shards_no_room(const struct shards *s, uint32_t number, struct sheaf_error *err)
{
    return err_set(err, SHEAF_ERR_LIMIT, "%s: its index takes %" PRIu64 " bytes of memory, but "
                   "only %" PRIu64 " of %" PRIu64 " are left",
                   s->dataset->manifest.shards[number].name, shards_memory(s, number),
                   budget_room(s->budget), s->budget->limit);
}

/* ---- Idle ones ------------------------------------------------------------------------------ */

static void leave_idle(struct shards *s, struct shard *shard)
{
    *(shard->newer != NULL ? &shard->newer->older : &s->newest) = shard->older;
    *(shard->older != NULL ? &shard->older->newer : &s->oldest) = shard->newer;
    shard->newer = shard->older = NULL;
    s->idle_count--;
}

static void become_idle(struct shards *s, struct shard *shard)
{
    shard->older = s->newest;
    *(s->newest != NULL ? &s->newest->newer : &s->oldest) = shard;
    s->newest = shard;
    s->idle_count++;
}

/* Closes a shard that is not in use. */
static void shards_end_shard(struct shards *s, struct shard *shard)
{
    end_open(shard);
    s->open[shard->number] = NULL;
    s->bytes -= shard->memory_bytes;
    shards_give(s, shard->memory_bytes, shard->is_reserved);
    shards_close_shard(shard);
}

static void end_oldest(struct shards *s)
{
    struct shard *shard = s->oldest;

    leave_idle(s, shard);
    shards_end_shard(s, shard);
}

/* Closes unused shards if there are too many, or if the open shards take too much memory. Begins
 * with the shard that was unused for the longest time. */
static void end_excess(struct shards *s)
{
    while (s->idle_count > s->idle_most
           || (s->idle_count != 0 && s->bytes > s->idle_most_bytes))
        end_oldest(s);
}

bool shards_trim(struct shards *s)
{
    const bool any = s->oldest != NULL;

    while (s->oldest != NULL)
        end_oldest(s);
    return any;
}

void shards_trim_spares(struct shards *s)
{
    spares_trim(&s->spares, s->budget->limit - s->budget->used);
}

/* ---- Use ------------------------------------------------------------------------------------ */

/* Adds a user to an open shard. `needed` is true if this user needs a sample now, and false if it
 * reads in advance.
 *
 * A user that reads in advance must not hold memory of the reserve. So if the memory for the
 * shard's index section was taken from the reserve, this memory is now counted in the rest of the
 * budget. Returns false if the rest of the budget does not have enough room for this memory. */
static bool shards_join(struct shards *s, struct shard *shard, bool needed)
{
    if (shard->is_reserved && !needed) {
        if (!budget_unreserve(s->budget, shard->memory_bytes))
            return false;
        shard->is_reserved = false;
    }
    if (shard->users++ == 0)
        leave_idle(s, shard);
    return true;
}

int shards_use(struct shards *s, uint32_t number, bool needed, struct shard **result,
               struct sheaf_error *err)
{
    struct shard *shard = s->open[number];
    uint64_t memory;

    *result = NULL;
    if (shard != NULL) {
        if (!shards_join(s, shard, needed))
            return shards_no_room(s, number, err);
        *result = shard;
        return SHEAF_OK;
    }
    memory = shards_memory(s, number);
    shard = calloc(1, sizeof(*shard));
    if (shard == NULL)
        return err_memory(err, sizeof(*shard));
    if (!shards_take(s, memory, needed, &shard->is_reserved)) {
        free(shard);
        return shards_no_room(s, number, err);
    }
    shard->owner = s;
    shard->number = number;
    if (shards_add_columns(shard, err) != SHEAF_OK) {
        shards_give(s, memory, shard->is_reserved);
        shards_close_shard(shard);
        return SHEAF_ERR_MEMORY;
    }
    shards_trim_spares(s);
    shard->users = 1;
    shard->code = SHEAF_ERR_INTERRUPTED;    /* The job replaces this code when it runs. */
    shard->memory_bytes = memory;
    s->bytes += memory;
    s->open[number] = shard;
    end_excess(s);
    begin_open(shard);
    *result = shard;
    return SHEAF_OK;
}

void shards_drop(struct shards *s, struct shard *shard)
{
    if (shard == NULL || --shard->users != 0)
        return;
    if (s->idle_most == 0 || shard->is_reserved || !workers_is_done(s->workers, &shard->job)
        || shard->code != SHEAF_OK) {
        shards_end_shard(s, shard);
        return;
    }
    become_idle(s, shard);
    end_excess(s);
}
