/* SPDX-License-Identifier: MIT
 *
 * Begins and ends reads, and manages their memory. A read is a job that brings records of a shard
 * into memory. Its memory is taken from the budget before it begins. Afterwards its buffers are
 * kept for another read if the budget has room. */
#include "reader/load/loader.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "reader/load/unpack.h"

/* A read that needs n bytes may use the buffers of an earlier read, but only if these are not much
 * too large: they have at most 2 * n + KEPT_MORE_BYTES bytes. */
#define KEPT_MORE_BYTES ((uint64_t)64 << 10)

/* ---- Waiting -------------------------------------------------------------------------------- */

bool loader_shard_is_open(struct loader *l, struct shard *shard)
{
    return workers_is_done(l->workers, &shard->job);
}

/* Waits until a job has finished. If the data set is local, this thread runs jobs meanwhile. */
static int loader_wait_for_job(struct loader *l, struct workers *workers, struct job *job,
                               struct sheaf_error *err)
{
    if (!workers_wait_or(workers, job, dataset_is_local(l->dataset), &l->watch, &l->stall_ns))
        return err_set(err, SHEAF_ERR_INTERRUPTED, "interrupted");
    return SHEAF_OK;
}

int loader_open_shard(struct loader *l, struct shard *shard, struct sheaf_error *err)
{
    const int code = loader_wait_for_job(l, shard->owner->workers, &shard->job, err);

    if (code != SHEAF_OK)
        return code;
    if (shard->code != SHEAF_OK)
        *err = shard->error;
    return shard->code;
}

/* ---- What reads work with ------------------------------------------------------------------- */

/* Makes the work of a read that needs `memory` bytes. The work takes the largest spare buffer that
 * has at most 2 * `memory` + KEPT_MORE_BYTES bytes, and at most `room` bytes more than the read
 * needs. If there is no such buffer, the work has no buffer yet.
 *
 * Small reads may not take very large buffers. Otherwise a later large read would find only small
 * buffers. It would then allocate new buffers, and the spare memory would grow more and more. */
static struct work *new_work(struct loader *l, uint64_t memory, uint64_t room)
{
    struct work *w = calloc(1, sizeof(*w));

    if (w != NULL)
        spares_take(&l->shards.spares, memory + MIN(memory + KEPT_MORE_BYTES, room), &w->room);
    return w;
}

/* Takes memory from the budget and returns buffers for a read that needs `bytes` bytes. If spare
 * buffers have more bytes, takes the difference from the budget as well. The memory for the records
 * that the read returns is not included. Returns NULL if there is not enough memory. */
static struct work *take_work(struct loader *l, uint64_t bytes, enum loader_share share)
{
    struct work *w;
    uint64_t more;
    bool reserved;

    if (!shards_take(&l->shards, bytes, share == LOADER_NOW, &reserved))
        return NULL;
    w = new_work(l, bytes, budget_room(&l->budget));
    if (w == NULL) {
        shards_give(&l->shards, bytes, reserved);
        return NULL;
    }
    more = MAX(work_kept_bytes(w), bytes) - bytes;
    budget_add(&l->budget, more);
    w->code = SHEAF_ERR_INTERRUPTED;        /* The job replaces this code when it runs. */
    w->memory_bytes = more + (reserved ? 0 : bytes);
    w->reserved_bytes = reserved ? bytes : 0;
    return w;
}

static void end_work(struct loader *l, struct work *w)
{
    budget_give(&l->budget, w->memory_bytes);
    budget_give_reserved(&l->budget, w->reserved_bytes);
    for (size_t i = 0; i < w->run_count; i++)
        shards_drop(&l->shards, w->runs[i].shard);
    if (work_kept_bytes(w) <= l->spare_most_bytes) {    /* larger only for a very large sample */
        spares_give(&l->shards.spares, &w->items);
        spares_give(&l->shards.spares, &w->room);
    }
    work_free(w);
    shards_trim_spares(&l->shards);
}

/* ---- Beginning ------------------------------------------------------------------------------ */

static void free_block(struct loader *l, struct read *r)
{
    if (r->alone_bytes == 0) {
        heap_give(l->heap, r->table);
        return;
    }
    free(r->table);
    shards_give(&l->shards, r->alone_bytes, r->is_reserved);
}

/* Returns the result for a read whose items could not be allocated. If the loader has a heap, the
 * read can begin later, when other reads have given back memory. Otherwise malloc has failed. */
static int not_allocated(const struct loader *l, uint64_t bytes, struct sheaf_error *err)
{
    return l->heap != NULL ? SHEAF_END : err_memory(err, bytes);
}

/* Allocates memory for the items (records) of a read: one block that has all of them. Returns
 * SHEAF_END if the heap or the budget has too little room. */
static int loader_take_block(struct loader *l, struct read *r, uint64_t bytes,
                             enum loader_share share, struct sheaf_error *err)
{
    if (l->heap != NULL)
        r->table = heap_take(l->heap, bytes);
    if (r->table != NULL)
        return SHEAF_OK;
    if ((share == LOADER_AHEAD && l->heap != NULL)
        || !shards_take(&l->shards, bytes, share == LOADER_NOW, &r->is_reserved))
        return SHEAF_END;
    r->alone_bytes = bytes;
    r->table = malloc(bytes);
    if (r->table != NULL)
        return SHEAF_OK;
    free_block(l, r);
    return not_allocated(l, bytes, err);
}

static void *take_piece(struct loader *l, size_t bytes)
{
    return l->heap != NULL ? heap_take(l->heap, bytes) : malloc(bytes);
}

static void give_piece(struct loader *l, void *piece)
{
    if (l->heap != NULL)
        heap_give(l->heap, piece);
    else
        free(piece);
}

/* Frees the items of a read that were not returned. Each of them has an allocation of its own. */
static void give_pieces(struct loader *l, struct read *r)
{
    for (size_t i = r->taken; i < r->span; i++)
        give_piece(l, r->each[i]);
    give_piece(l, r->each);
    r->each = NULL;
}

/* Allocates memory for the items (records) of a read, with one allocation for each item. So each
 * item can be freed alone. Returns SHEAF_END if the heap has too little room. */
static int loader_take_pieces(struct loader *l, struct read *r, const struct read_plan *plan,
                              struct sheaf_error *err)
{
    size_t at = 0;

    r->each = take_piece(l, r->span * sizeof(r->each[0]));
    if (r->each == NULL)
        return not_allocated(l, r->span * sizeof(r->each[0]), err);
    memset(r->each, 0, r->span * sizeof(r->each[0]));
    for (size_t i = 0; i < plan->run_count; i++) {
        const struct run *run = &plan->runs[i];

        at += run->skipped;
        for (uint64_t k = run->first; k < run->first + run->count; k++, at++) {
            const size_t bytes = read_piece_bytes(run->shard, k);

            r->each[at] = take_piece(l, bytes);
            if (r->each[at] == NULL) {
                give_pieces(l, r);
                return not_allocated(l, bytes, err);
            }
        }
    }
    return SHEAF_OK;
}

static void add_read(struct loader *l, struct read *r)
{
    r->users = 1;
    r->older = l->reads;
    if (l->reads != NULL)
        l->reads->newer = r;
    l->reads = r;
}

int loader_new_read(struct loader *l, uint64_t memory, struct read **result,
                    struct sheaf_error *err)
{
    struct read *r = calloc(1, sizeof(*r));

    if (r == NULL)
        return err_memory(err, sizeof(*r));
    r->work = new_work(l, memory, UINT64_MAX);
    if (r->work == NULL) {
        free(r);
        return err_memory(err, sizeof(*r->work));
    }
    spares_take(&l->shards.spares, memory, &r->work->items);
    r->item_bytes = sizeof(struct item);
    r->work->read = r;
    r->work->dataset = l->dataset;
    add_read(l, r);
    *result = r;
    return SHEAF_OK;
}

/* Begins a read. Returns SHEAF_END if there is not enough memory for it at the moment. */
static int try_to_begin(struct loader *l, const struct read_plan *plan, enum loader_share share,
                        struct read **result, struct sheaf_error *err)
{
    const struct read_needs n = read_needs_of(plan);
    const uint64_t unheaped = l->heap == NULL ? n.pieces : 0;
    struct read *r;
    struct work *w;
    int code;

    if (plan->apart && l->heap != NULL && heap_room(l->heap) < n.pieces)
        return SHEAF_END;
    if (!budget_take(&l->budget, unheaped))
        return SHEAF_END;
    w = take_work(l, n.work, share);
    if (w == NULL) {
        budget_give(&l->budget, unheaped);
        return SHEAF_END;
    }
    r = calloc(1, sizeof(*r));
    code = r == NULL ? err_memory(err, sizeof(*r))
                     : read_open(r, w, plan, &n, l->dataset, l->workers, err);
    if (code == SHEAF_OK)
        code = plan->apart ? loader_take_pieces(l, r, plan, err)
             : loader_take_block(l, r, n.block, share, err);
    shards_trim_spares(&l->shards);
    if (code != SHEAF_OK) {
        budget_give(&l->budget, unheaped);
        w->run_count = 0;           /* The caller still uses the shards. */
        end_work(l, w);
        free(r);
        return code;
    }
    add_read(l, r);
    read_start(r);
    *result = r;
    return SHEAF_OK;
}

int loader_begin(struct loader *l, const struct read_plan *plan, enum loader_share share,
                 struct read **read, struct sheaf_error *err)
{
    const int code = try_to_begin(l, plan, share, read, err);

    if (code != SHEAF_END)
        return code;
    loader_shrink(l);
    return try_to_begin(l, plan, share, read, err);
}

/* Plans a read of a run of a single record that needs as little memory as possible. */
static struct read_plan plan_alone(const struct run *run)
{
    return (struct read_plan){ .runs = run, .run_count = 1,
                               .step_bytes = extent_is_in_block(run)
                                   ? unpack_step(run->shard->object->is_remote) : 0 };
}

int loader_begin_alone(struct loader *l, const struct run *run, enum loader_share share,
                       struct read **read, struct sheaf_error *err)
{
    const struct read_plan plan = plan_alone(run);
    struct read_plan whole = plan;
    int code = SHEAF_END;

    /* A remote codec block is read with one request if there is enough memory, because many small
     * requests would take longer. */
    whole.step_bytes = UINT64_MAX;
    if (plan.step_bytes != 0 && run->shard->object->is_remote)
        code = try_to_begin(l, &whole, LOADER_SOON, read, err);
    return code == SHEAF_END ? try_to_begin(l, &plan, share, read, err) : code;
}

uint64_t loader_alone_bytes(const struct run *run)
{
    const struct read_plan plan = plan_alone(run);
    const struct read_needs n = read_needs_of(&plan);

    return n.work + n.block;
}

/* ---- Landing -------------------------------------------------------------------------------- */

static void land(struct loader *l, struct read *r)
{
    struct work *w = r->work;

    r->work = NULL;
    r->code = w->code;
    r->bytes = w->read_bytes;
    l->read_bytes += w->read_bytes;
    stream_counts_add(&l->counts, &w->counts, 1);
    if (w->code != SHEAF_OK || r->tail_code < 0) {
        r->error = malloc(sizeof(*r->error));
        if (r->error != NULL)
            *r->error = w->error;
    }
    if (r->stream == NULL)
        end_work(l, w);
    else
        r->work = w;                /* The items of the stream are in this buffer. */
}

bool loader_has(struct loader *l, struct read *r)
{
    if (r->has_landed)
        return true;
    if (r->workers != NULL && !workers_is_done(r->workers, &r->work->job))
        return false;
    r->has_landed = true;
    land(l, r);
    return true;
}

int loader_wait(struct loader *l, struct read *r, struct sheaf_error *err)
{
    if (!loader_has(l, r)) {
        const int code = loader_wait_for_job(l, r->workers, &r->work->job, err);

        if (code != SHEAF_OK)
            return code;
        (void)loader_has(l, r);
    }
    if (r->code == SHEAF_OK)
        return SHEAF_OK;
    if (r->error == NULL)
        return err_memory(err, sizeof(*r->error));
    *err = *r->error;
    return r->code;
}

void loader_shrink(struct loader *l)
{
    for (struct read *r = l->reads; r != NULL; r = r->older)
        (void)loader_has(l, r);
    (void)shards_trim(&l->shards);
}

/* ---- The end -------------------------------------------------------------------------------- */

/* Frees a read, which must have landed. */
static void end_read(struct loader *l, struct read *r)
{
    if (r->newer != NULL)
        r->newer->older = r->older;
    else
        l->reads = r->older;
    if (r->older != NULL)
        r->older->newer = r->newer;
    /* If an item has an allocation of its own, its user frees the item together with its error. */
    for (size_t i = r->each == NULL ? 0 : r->taken; r->bad_count != 0 && i < r->span; i++)
        if (read_item(r, i) != NULL)
            item_free_error(read_item(r, i));
    if (r->each != NULL) {
        give_pieces(l, r);
        if (l->heap == NULL)    /* The items themselves stay in memory. */
            budget_give(&l->budget, r->span * sizeof(r->each[0]));
    }
    if (r->stream != NULL) {
        budget_give(&l->budget, r->alone_bytes);
        end_work(l, r->work);
    } else {
        free_block(l, r);
    }
    free(r->error);
    free(r);
}

void loader_leave(struct loader *l, struct read *r)
{
    if (--r->users == 0)
        end_read(l, r);
}

void loader_release(struct loader *l, struct ref *ref)
{
    struct item *item = ref->item;
    struct read *read = item == NULL ? NULL : ref->read;

    ref->item = NULL;
    if (item != NULL && (read == NULL || read->table == NULL)) {
        if (read == NULL || read->bad_count != 0)
            item_free_error(item);
        give_piece(l, item);
    }
    if (read != NULL)
        loader_leave(l, read);
}

uint8_t *loader_piece(const struct ref *ref)
{
    if (ref->read == NULL)
        return (uint8_t *)ref->item;
    return ref->read->alone_bytes == 0 && ref->read->stream == NULL ? (uint8_t *)ref->read->table
                                                                    : NULL;
}

void loader_cancel_reads(struct loader *l)
{
    for (struct read *r = l->reads; r != NULL; r = r->older)
        read_cancel(r);
}

void loader_wait_for_all(struct loader *l)
{
    for (struct read *r = l->reads; r != NULL; r = r->older)
        if (!loader_has(l, r)) {
            workers_wait(r->workers, &r->work->job);
            (void)loader_has(l, r);
        }
}

void loader_cancel(struct loader *l)
{
    loader_cancel_reads(l);
    workers_cancel(l->workers);
    loader_wait_for_all(l);
}

void loader_clear(struct loader *l)
{
    while (l->reads != NULL)
        end_read(l, l->reads);
}

void loader_free(struct loader *l)
{
    spares_trim(&l->shards.spares, 0);
    heap_close(l->heap);
}
