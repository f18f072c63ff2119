/* SPDX-License-Identifier: MIT
 *
 * Computes the memory that a read needs, and makes reads; see read.h. A read is a job that brings
 * records of a shard into memory. The job itself is in read_job.c. */
#include "reader/load/read.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/heap.h"
#include "base/huge.h"
#include "reader/load/unpack.h"

/* ---- Memory --------------------------------------------------------------------------------- */

static uint64_t piece_bytes(const struct shard *shard, uint64_t first, size_t count)
{
    const struct index_section *s = shard->section;
    const uint64_t end = first + count;

    return s->offsets[end] - s->offsets[first] + extent_names(s, first, count)
           + shard_columns_bytes(shard, first, count)
           + count * (item_bytes(shard->column_count) + HEAP_HEAD_BYTES);
}

size_t read_piece_bytes(const struct shard *shard, uint64_t record)
{
    return item_bytes(shard->column_count) + index_frame_bytes(shard->section, record)
           + extent_names(shard->section, record, 1) + shard_columns_bytes(shard, record, 1);
}

/* Returns the size in bytes of the tables of a read: the requests, the runs (ranges of records),
 * and the parts of codec blocks that are needed. */
static uint64_t tables_bytes(const struct read_plan *plan, size_t count)
{
    return (READ_PORTIONS + plan->runs[0].shard->column_count) * sizeof(struct fetch)
           + plan->run_count * sizeof(struct run)
           + (plan->step_bytes == 0 ? 0 : count * sizeof(struct unpack_part));
}

struct read_needs read_needs_of(const struct read_plan *plan)
{
    struct read_needs n = { .work = sizeof(struct work) + sizeof(struct read) };
    uint64_t stored = 0;

    for (size_t i = 0, row; i < plan->run_count; i += row) {
        struct run whole;
        struct extent e;
        uint64_t most;

        row = run_row(plan->runs + i, plan->run_count - i, &whole);
        e = extent_of(&whole, plan->step_bytes != 0);
        most = extent_stored(&whole, &e);
        if (plan->step_bytes == 0)
            n.data += e.end - e.begin;
        stored = MAX(stored, read_stored_room(plan->step_bytes, most));
        n.names += extent_beside(&whole);
        for (size_t k = i; k < i + row; k++) {
            const struct run *run = &plan->runs[k];

            if (plan->step_bytes != 0) {
                e = extent_of(run, true);
                n.data += e.end - e.begin;
            }
            if (plan->apart)
                n.pieces += piece_bytes(run->shard, run->first, run->count);
            n.count += run->count;
            n.span += run->skipped + run->count;
        }
    }
    n.work += tables_bytes(plan, n.count) + stored;
    if (plan->apart) {
        n.work += n.names + (plan->step_bytes == 0 ? n.data : 0);
        n.pieces += n.span * sizeof(struct item *) + HEAP_HEAD_BYTES;
    } else {
        n.block = n.span * item_bytes(plan->runs[0].shard->column_count) + n.data + n.names;
    }
    return n;
}

uint64_t read_most(const struct manifest_shard *m, bool is_packed, bool is_remote)
{
    return m->largest + (is_packed ? MIN(m->bytes, unpack_step(is_remote)) : 0) + m->names_bytes
           + sizeof(struct item) + sizeof(struct run) + sizeof(struct unpack_part)
           + READ_PORTIONS * sizeof(struct fetch) + sizeof(struct work) + sizeof(struct read);
}

uint64_t read_columns_most(const struct columns *columns, uint32_t shard)
{
    return columns == NULL ? 0 : columns_most(columns, shard)
           + columns->count * (sizeof(struct item_column) + sizeof(struct fetch));
}

void *work_room(struct buf *buf, size_t size, struct sheaf_error *err)
{
    if (buf->data != NULL && buf->capacity >= size)
        return buf->data;
    if (buf_map(buf, size, err) != SHEAF_OK)
        return NULL;
    huge_advise(buf->data, size);
    return buf->data;
}

uint64_t work_kept_bytes(const struct work *w)
{
    return w->data.capacity + w->names.capacity + w->stored.capacity + w->tables.capacity;
}

void work_free(struct work *w)
{
    if (w == NULL)
        return;
    buf_free(&w->data);
    buf_free(&w->names);
    buf_free(&w->stored);
    buf_free(&w->tables);
    free(w);
}

/* ---- Making --------------------------------------------------------------------------------- */

int read_open(struct read *r, struct work *w, const struct read_plan *plan,
              const struct sheaf_dataset *dataset, struct workers *workers,
              struct sheaf_error *err)
{
    const struct read_needs n = read_needs_of(plan);
    const size_t columns = plan->runs[0].shard->column_count;

    r->work = w;
    r->workers = workers;
    r->span = n.span;
    r->repeats = plan->repeats;
    r->is_remote = plan->runs[0].shard->object->is_remote;
    r->item_bytes = item_bytes(columns);
    w->read = r;
    w->dataset = dataset;
    w->step_bytes = plan->step_bytes;
    w->data_bytes = n.data;
    w->names_bytes = n.names;
    w->fetches = work_room(&w->tables, tables_bytes(plan, n.count), err);
    if (w->fetches == NULL)
        return SHEAF_ERR_MEMORY;
    w->fetch_count = READ_PORTIONS + columns;
    for (size_t i = 0; i < w->fetch_count; i++)
        w->fetches[i].read.object = NULL;
    w->runs = (struct run *)(void *)(w->fetches + w->fetch_count);
    memcpy(w->runs, plan->runs, plan->run_count * sizeof(w->runs[0]));
    w->run_count = plan->run_count;
    return SHEAF_OK;
}

void read_drop_shards(struct work *w, struct shards *shards)
{
    for (size_t i = 0; i < w->run_count; i++)
        shards_drop(shards, w->runs[i].shard);
    w->run_count = 0;
    w->fetch_count = 0;
}
