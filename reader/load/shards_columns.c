/* SPDX-License-Identifier: MIT
 *
 * Opens the columns of a shard. A shard of a column may have the records for several shards of the
 * base, the data set to which the column was added. So only a part of the column's index section is
 * read.
 *
 * If a column is small, all its records may be read into memory when the shard is opened. Otherwise
 * the records of a column are read together with their samples. */
#include "reader/load/shards.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "store/interrupt.h"

/* smallest memory for kept records */
#define ROOM_LEAST ((uint64_t)4 << 10)

/* ---- Memory --------------------------------------------------------------------------------- */

/* Returns the memory in bytes for the kept records of one column. */
static uint64_t kept_most(const struct shards *s, uint32_t number, size_t column)
{
    return columns_kept_most(s->columns, number, column,
                             s->dataset->manifest.shards[number].samples, s->kept_most);
}

/* Returns the memory in bytes for the kept records of the first `count` columns. */
static uint64_t kept_bytes(const struct shards *s, uint32_t number, size_t count)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < count; i++)
        bytes += kept_most(s, number, i);
    return bytes;
}

uint64_t shards_kept_bytes(const struct shards *s, uint32_t number)
{
    const uint64_t bytes = s->columns == NULL ? 0 : kept_bytes(s, number, s->columns->count);
    uint64_t unit = ROOM_LEAST;

    /* The size is rounded up by at most an eighth. So shards of about equal size can use the same
     * memory one after another. */
    while (unit <= bytes / 16)
        unit *= 2;
    return (bytes + unit - 1) / unit * unit;
}

/* Gives memory for kept records to the shard: spare memory of the same size, or else new memory. */
static int take_room(struct shard *shard, struct sheaf_error *err)
{
    const uint64_t bytes = shards_kept_bytes(shard->owner, shard->number);

    if (bytes == 0)
        return SHEAF_OK;
    spares_take(&shard->owner->spares, bytes, &shard->room);
    return shard->room.capacity == bytes ? SHEAF_OK : buf_map(&shard->room, bytes, err);
}

/* ---- Opening -------------------------------------------------------------------------------- */

int shard_column_check(const struct shard_column *c, uint64_t record, const uint8_t *data,
                       struct sheaf_error *err)
{
    const size_t size = (size_t)shard_column_bytes(c, record, 1);
    uint32_t crc = 0;
    int code = format_of(SHEAF_TFRECORD)->check(data, size, &crc, err);

    if (code == SHEAF_OK && crc != c->crcs[record])
        code = err_set(err, SHEAF_ERR_CORRUPT, "CRC-32C 0x%08x, but the index has 0x%08x", crc,
                       c->crcs[record]);
    return code;
}

/* Reads the part of a column's index for the open shard, which has `samples` samples. */
static int read_index(struct shard *shard, size_t column, uint64_t samples,
                      struct sheaf_error *err)
{
    const size_t offsets = (size_t)(samples + 1) * sizeof(uint64_t);
    struct shard_column *c = &shard->columns[column];
    int code;

    c->offsets = malloc(offsets + (size_t)samples * sizeof(c->crcs[0]));
    if (c->offsets == NULL)
        return err_memory(err, offsets);
    c->crcs = (uint32_t *)(void *)((char *)c->offsets + offsets);
    code = columns_read_index(shard->owner->columns, shard->number, column, shard->owner->cache,
                              c->offsets, c->crcs, err);
    for (uint64_t i = 0; code == SHEAF_OK && i < samples; i++)
        if (c->offsets[i + 1] - c->offsets[i] > COLUMN_RECORD_MOST)
            code = err_set(err, SHEAF_ERR_LIMIT, "%s: record %" PRIu64 " has %" PRIu64 " bytes, "
                           "the limit is %" PRIu64, c->url, c->first + i,
                           c->offsets[i + 1] - c->offsets[i], COLUMN_RECORD_MOST);
    return code;
}

/* Returns true if each record in `data` has the checksum that the index section states. */
static bool are_right(const struct shard_column *c, const uint8_t *data, uint64_t samples)
{
    for (uint64_t i = 0; i < samples; i++)
        if (shard_column_check(c, i, data + (c->offsets[i] - c->offsets[0]), NULL) != SHEAF_OK)
            return false;
    return true;
}

/* Returns true if all records of a column fit into the memory for kept records. In this case,
 * prepares c->read, which reads the records into this memory. */
static bool plan_kept(struct shard_column *c)
{
    const struct shards *s = c->shard->owner;
    const uint64_t samples = s->dataset->samples[c->shard->number];
    const uint64_t bytes = c->offsets[samples] - c->offsets[0];

    if (c->shard->room.data == NULL || bytes == 0
        || bytes > kept_most(s, c->shard->number, c->number))
        return false;
    c->read.object = c->object;
    c->read.offset = c->offsets[0];
    c->read.size = (size_t)bytes;
    c->read.data = c->shard->room.data + kept_bytes(s, c->shard->number, c->number);
    return true;
}

/* Opens a column, without the records that are kept. */
static int open_column(struct shard_column *c, struct sheaf_error *err)
{
    const struct shards *s = c->shard->owner;
    const struct column_place *place = columns_place(s->columns, c->shard->number, c->number);
    const struct manifest_shard *m;
    int code;

    if (place->layer == NULL)
        return SHEAF_OK;
    m = &place->layer->manifest.shards[place->shard];
    c->url = place->layer->urls[place->shard];
    c->first = place->first;
    code = read_index(c->shard, c->number, s->dataset->samples[c->shard->number], err);
    return code != SHEAF_OK ? code : listed_open(s->cache, place->layer, c->url, m->xxh3,
                                                 m->bytes, &c->object, err);
}

/* ---- Side by side --------------------------------------------------------------------------- */

void shards_end_job(struct shard *shard)
{
    if (atomic_fetch_sub(&shard->jobs_left, 1) == 1)
        workers_submit(shard->owner->workers, &shard->job);
}

static void kept_are_read(struct store_read *read)
{
    const struct shard_column *c =
        (struct shard_column *)(void *)((char *)read - offsetof(struct shard_column, read));

    shards_end_job(c->shard);
}

static void run_column(struct job *job)
{
    struct shard_column *c = (struct shard_column *)(void *)job;
    const volatile int *before = interrupt_watch(&c->shard->owner->cancelled);

    c->code = open_column(c, &c->error);
    if (c->code == SHEAF_OK && c->offsets != NULL && plan_kept(c))
        store_read_start(&c->read);
    else
        shards_end_job(c->shard);
    interrupt_watch(before);
}

void shards_begin_columns(struct shard *shard)
{
    for (size_t i = 0; i < shard->column_count; i++) {
        struct shard_column *c = &shard->columns[i];

        c->job.run = run_column;
        c->read.done = kept_are_read;
        workers_submit(shard->owner->workers, &c->job);
    }
}

/* Returns true if reads of kept records may be cancelled. Their objects then stay open. */
static bool is_cancellable(const struct shard *shard)
{
    return dataset_source(shard->owner->dataset, shard->number)->is_remote;
}

void shards_stop_columns(struct shard *shard)
{
    for (size_t i = 0; i < shard->column_count; i++) {
        struct shard_column *c = &shard->columns[i];

        workers_wait(shard->owner->workers, &c->job);
        if (c->job.cancelled)
            shards_end_job(shard);
        else if (c->read.object != NULL && is_cancellable(shard))
            store_read_cancel(&c->read);
    }
}

/* ---- The result ----------------------------------------------------------------------------- */

/* Keeps the records of a column that were read into memory. If a record is damaged, keeps none of
 * them. Each record is then read together with its sample, and the damage is reported at that
 * time. */
static int keep_records(struct shard_column *c, struct sheaf_error *err)
{
    const struct store_read *r = &c->read;

    if (r->object == NULL)
        return SHEAF_OK;
    if (r->code != SHEAF_OK
        || !are_right(c, r->data, c->shard->owner->dataset->samples[c->shard->number])) {
        store_distrust(c->object, r->offset, r->size);
        if (r->code != SHEAF_OK)
            *err = r->error;
        return r->code;
    }
    c->kept = r->data;
    if (!is_cancellable(c->shard)) {
        store_close(c->object);
        c->object = NULL;
    }
    return SHEAF_OK;
}

int shards_check_columns(struct shard *shard, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    if (shard->section->crcs == NULL)
        return err_because(err, err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: its index has no "
                                        "checksums, which show the records of a column to belong "
                                        "to its samples", shard->object->url),
                           SHEAF_REASON_NOT_INDEXED);
    for (size_t i = 0; i < shard->column_count && code == SHEAF_OK; i++) {
        struct shard_column *c = &shard->columns[i];

        code = c->code;
        if (code != SHEAF_OK)
            *err = c->error;
        else
            code = keep_records(c, err);
    }
    return code;
}

/* ---- Beginning and end ---------------------------------------------------------------------- */

int shards_add_columns(struct shard *shard, struct sheaf_error *err)
{
    const struct columns *columns = shard->owner->columns;

    if (columns == NULL)
        return SHEAF_OK;
    shard->columns = calloc(columns->count, sizeof(shard->columns[0]));
    if (shard->columns == NULL)
        return err_memory(err, columns->count * sizeof(shard->columns[0]));
    for (; shard->column_count < columns->count; shard->column_count++) {
        struct shard_column *c = &shard->columns[shard->column_count];

        c->shard = shard;
        c->number = shard->column_count;
        c->code = SHEAF_ERR_INTERRUPTED;        /* The job replaces this code when it runs. */
    }
    return take_room(shard, err);
}

void shards_close_columns(struct shard *shard)
{
    for (size_t i = 0; i < shard->column_count; i++) {
        store_close(shard->columns[i].object);
        free(shard->columns[i].offsets);
    }
    free(shard->columns);
    spares_give(&shard->owner->spares, &shard->room);
}
