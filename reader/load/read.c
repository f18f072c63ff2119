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

    return s->offsets[end] - s->offsets[first] + extent_beside(shard, first, count)
           + count * (item_bytes(shard->column_count) + HEAP_HEAD_BYTES);
}

size_t read_piece_bytes(const struct shard *shard, uint64_t record)
{
    return item_bytes(shard->column_count) + index_frame_bytes(shard->section, record)
           + extent_beside(shard, record, 1);
}

struct read_needs read_needs_of(const struct read_plan *plan)
{
    struct read_needs n = { .work = sizeof(struct work) + sizeof(struct read) };

    for (size_t i = 0, row; i < plan->run_count; i += row) {
        struct run whole;
        struct extent e;
        uint64_t most;

        row = run_row(plan->runs + i, plan->run_count - i, &whole);
        e = extent_of(&whole, plan->step_bytes != 0);
        most = extent_stored(&whole, &e);
        if (plan->step_bytes == 0)
            n.data += e.end - e.begin;
        n.stored = MAX(n.stored, read_stored_room(plan->step_bytes, most));
        n.beside += extent_beside(whole.shard, whole.first, whole.count);
        for (size_t k = i; k < i + row; k++) {
            const struct run *run = &plan->runs[k];

            if (plan->step_bytes != 0 && !plan->apart) {
                e = extent_of(run, true);
                n.data += e.end - e.begin;
            }
            if (plan->apart)
                n.pieces += piece_bytes(run->shard, run->first, run->count);
            n.count += run->count;
            n.span += run->skipped + run->count;
        }
    }
    n.tables = (READ_PORTIONS + plan->runs[0].shard->column_count) * sizeof(struct portion)
               + plan->run_count * sizeof(struct run)
               + (plan->step_bytes == 0 ? 0 : n.count * sizeof(struct unpack_part));
    n.tables += to_line(n.tables);
    n.work += n.tables + n.stored;
    if (plan->apart) {
        n.work += n.data + n.beside;
        n.pieces += n.span * sizeof(struct item *) + HEAP_HEAD_BYTES;
    } else {
        n.block = n.span * item_bytes(plan->runs[0].shard->column_count) + CACHE_LINE + n.data
                  + n.beside;
    }
    return n;
}

uint64_t read_most(const struct manifest_shard *m, bool is_packed, bool is_remote)
{
    return m->largest + (is_packed ? MIN(m->bytes, unpack_step(is_remote)) : 0) + m->names_bytes
           + sizeof(struct item) + sizeof(struct run) + sizeof(struct unpack_part)
           + READ_PORTIONS * sizeof(struct portion) + sizeof(struct work) + sizeof(struct read)
           + 2 * CACHE_LINE;
}

uint64_t read_columns_most(const struct columns *columns, uint32_t shard)
{
    return columns == NULL ? 0 : columns_most(columns, shard)
           + columns->count * (sizeof(struct item_column) + sizeof(struct portion));
}

uint64_t work_kept_bytes(const struct work *w)
{
    return w->room.capacity + w->items.capacity;
}

void work_free(struct work *w)
{
    if (w == NULL)
        return;
    buf_free(&w->room);
    buf_free(&w->items);
    free(w);
}

/* ---- Making --------------------------------------------------------------------------------- */

/* Divides the buffer of a read among its tables and the memory for its bytes. */
static int work_divide(struct work *w, const struct read_plan *plan, const struct read_needs *n,
                       struct sheaf_error *err)
{
    const uint64_t bytes = n->tables + n->stored + (plan->apart ? n->data + n->beside : 0);

    if (w->room.data == NULL || w->room.capacity < bytes) {
        if (buf_map(&w->room, bytes, err) != SHEAF_OK)
            return SHEAF_ERR_MEMORY;
        huge_advise(w->room.data, bytes);
    }
    w->portion_count = READ_PORTIONS + plan->runs[0].shard->column_count;
    w->portions = (struct portion *)(void *)w->room.data;
    w->runs = (struct run *)(void *)(w->portions + w->portion_count);
    w->parts = (struct unpack_part *)(void *)(w->runs + plan->run_count);
    w->stored = w->room.data + n->tables;
    w->data = w->stored + n->stored;
    w->data_bytes = n->data;
    return SHEAF_OK;
}

int read_open(struct read *r, struct work *w, const struct read_plan *plan,
              const struct read_needs *n, const struct sheaf_dataset *dataset,
              struct workers *workers, struct sheaf_error *err)
{
    const int code = work_divide(w, plan, n, err);

    if (code != SHEAF_OK)
        return code;
    r->work = w;
    r->workers = workers;
    r->span = n->span;
    r->is_remote = plan->runs[0].shard->object->is_remote;
    r->item_bytes = item_bytes(plan->runs[0].shard->column_count);
    w->read = r;
    w->dataset = dataset;
    w->step_bytes = plan->step_bytes;
    memcpy(w->runs, plan->runs, plan->run_count * sizeof(w->runs[0]));
    w->run_count = plan->run_count;
    return SHEAF_OK;
}
