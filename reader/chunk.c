/* SPDX-License-Identifier: MIT
 *
 * The memory of a chunk, from its making to its end; see chunk.h.  chunk_read.c has its job. */
#include "reader/chunk.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/huge.h"

void item_free(struct item *item, struct heap *heap)
{
    if (item->owns)
        heap_give(heap, item->piece);
    free(item->bad);
    memset(item, 0, sizeof(*item));
}

void chunk_reset(struct chunk *chunk, struct heap *heap)
{
    struct chunk empty = { .kept_data = chunk->kept_data, .kept_names = chunk->kept_names,
                           .kept_items = chunk->kept_items, .kept_stored = chunk->kept_stored,
                           .kept_runs = chunk->kept_runs };

    for (size_t i = chunk->taken; chunk->items != NULL && i < chunk->count; i++)
        item_free(&chunk->items[i], heap);
    heap_give(heap, chunk->piece);
    *chunk = empty;
}

void chunk_free(struct chunk *chunk, struct heap *heap)
{
    if (chunk == NULL)
        return;
    chunk_reset(chunk, heap);
    buf_free(&chunk->kept_data);
    buf_free(&chunk->kept_names);
    buf_free(&chunk->kept_items);
    buf_free(&chunk->kept_stored);
    buf_free(&chunk->kept_runs);
    free(chunk);
}

void chunk_drop_shards(struct chunk *chunk, struct shards *shards)
{
    for (size_t i = 0; i < chunk->run_count; i++)
        shards_drop(shards, chunk->runs[i].shard);
    chunk->run_count = 0;
    chunk->data_fetch.read.object = chunk->names_fetch.read.object = NULL;
}

size_t chunk_kept_bytes(const struct chunk *chunk)
{
    return chunk->kept_data.capacity + chunk->kept_names.capacity + chunk->kept_items.capacity
           + chunk->kept_stored.capacity + chunk->kept_runs.capacity;
}

void *chunk_room(struct buf *kept, size_t size, struct sheaf_error *err)
{
    if (kept->data != NULL && kept->capacity >= size)
        return kept->data;
    if (buf_map(kept, size, err) != SHEAF_OK)
        return NULL;
    huge_advise(kept->data, size);
    return kept->data;
}

static int take_pieces(struct chunk *chunk, struct heap *heap)
{
    struct item *item = chunk->items;

    for (size_t r = 0; r < chunk->run_count; r++) {
        const struct run *run = &chunk->runs[r];
        const struct index_section *s = run->shard->section;

        for (uint64_t i = run->first; i < run->first + run->count; i++, item++) {
            item->piece = heap_take(heap, index_frame_bytes(s, i) + chunk_names_bytes(s, i, 1));
            item->owns = true;
            if (item->piece == NULL)
                return SHEAF_END;
        }
    }
    return SHEAF_OK;
}

/* Its tables. */
static int prepare(struct chunk *chunk, const struct run *runs, size_t run_count, size_t count,
                   struct sheaf_error *err)
{
    chunk->runs = chunk_room(&chunk->kept_runs, run_count * sizeof(runs[0]), err);
    chunk->items = chunk_room(&chunk->kept_items, count * sizeof(chunk->items[0]), err);
    if (chunk->runs == NULL || chunk->items == NULL)
        return SHEAF_ERR_MEMORY;
    memcpy(chunk->runs, runs, run_count * sizeof(runs[0]));
    memset(chunk->items, 0, count * sizeof(chunk->items[0]));
    chunk->run_count = run_count;
    chunk->count = count;
    return SHEAF_OK;
}

int chunk_prepare(struct chunk *chunk, const struct run *runs, size_t run_count,
                  struct heap *heap, struct sheaf_error *err)
{
    const struct chunk_sizes z = chunk_sizes(runs, run_count, chunk->in_pieces);
    const int code = prepare(chunk, runs, run_count, z.count, err);

    if (code != SHEAF_OK)
        return code;
    if (chunk->is_alone || chunk->is_passing || chunk->is_picked)
        return SHEAF_OK;
    if (chunk->own_frames)
        return take_pieces(chunk, heap);
    chunk->piece = heap_take(heap, z.data);
    return chunk->piece == NULL ? SHEAF_END : SHEAF_OK;
}

int chunk_prepare_shared(struct chunk *chunk, const struct run *runs, size_t run_count,
                         uint8_t *const *pieces, struct sheaf_error *err)
{
    const int code = prepare(chunk, runs, run_count, run_count, err);

    for (size_t i = 0; code == SHEAF_OK && i < run_count; i++) {
        chunk->items[i].piece = pieces[i];
        chunk->items[i].owns = true;
    }
    return code;
}

int chunk_prepare_deferred(struct chunk *chunk, uint32_t shard, uint64_t record,
                           struct sheaf_error *err)
{
    chunk->items = chunk_room(&chunk->kept_items, sizeof(chunk->items[0]), err);
    if (chunk->items == NULL)
        return SHEAF_ERR_MEMORY;
    chunk->items[0] = (struct item){ .shard = shard, .record = record, .deferred = true };
    chunk->count = 1;
    chunk->own_frames = true;
    chunk->is_done = true;
    return SHEAF_OK;
}

bool chunk_take_memory(struct chunk *chunk, struct budget *budget, uint64_t bytes, bool reserved)
{
    if (!(reserved ? budget_take_reserved(budget, bytes) : budget_take(budget, bytes)))
        return false;
    *(reserved ? &chunk->reserved_bytes : &chunk->memory_bytes) = bytes;
    return true;
}

void chunk_give_memory(struct chunk *chunk, struct budget *budget)
{
    budget_give(budget, chunk->memory_bytes);
    budget_give_reserved(budget, chunk->reserved_bytes);
    chunk->memory_bytes = chunk->reserved_bytes = 0;
}

/* What its job needed, and nothing else does. */
static uint64_t passing_bytes(const struct chunk *chunk)
{
    if (chunk->is_passing)
        return chunk_sizes(chunk->runs, chunk->run_count, chunk->in_pieces).stored;
    if (chunk->shares_block)
        return chunk_shared_passing(chunk->runs, chunk->in_pieces);
    return chunk_passing_bytes(chunk->runs, chunk->run_count, chunk->in_pieces);
}

void chunk_shrink(struct chunk *chunk, struct budget *budget)
{
    if ((!chunk->own_frames && !chunk->is_passing) || chunk->is_shrunk || chunk->run_count == 0)
        return;
    if (!chunk->is_passing)
        buf_free(&chunk->kept_data);
    buf_free(&chunk->kept_stored);
    chunk->is_shrunk = true;
    if (chunk->reserved_bytes == 0) {
        const uint64_t bytes = passing_bytes(chunk);

        chunk->memory_bytes -= bytes;
        budget_give(budget, bytes);
    }
    budget_give_reserved(budget, chunk->reserved_bytes);
    chunk->reserved_bytes = 0;
}
