/* SPDX-License-Identifier: MIT
 *
 * The engine that packs shards: a ring of blocks that workers fill, and the writing of finished
 * blocks in order. */
#include "packer/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"

/* When a block is done, its buffers are kept for reuse if they have at most this total size. This
 * is enough for an ordinary block. */
#define KEEP_BYTES ((uint64_t)24 << 20)

/* The ring has SLOTS_PER_JOB blocks for each worker. It has SLOTS_MORE further blocks, which may
 * wait to be written. */
#define SLOTS_PER_JOB 2
#define SLOTS_MORE    2

/* On a local disk, at most this number of shards are being committed or wait to be committed. */
#define COMMITS_OF_DISK 2

/* The memory for data on its way to a remote store is 1 / SENT_PART of the run's memory. If that is
 * too little, it is more, but at most half of the run's memory. */
#define SENT_PART 4

/* ---- Life ------------------------------------------------------------------------------------ */

int engine_share(const char *dest, const struct block_setup *setup, uint64_t shard_bytes,
                 uint64_t memory_bytes, uint64_t *sent_bytes, struct sheaf_error *err)
{
    const uint64_t part = store_part_bytes(dest, shard_bytes);
    const uint64_t least = part * shard_writer_objects(setup);  /* one part of each object is
                                                                   sent or filled */
    const uint64_t good = MAX(memory_bytes / SENT_PART, least + part);

    *sent_bytes = part == 0 ? 0 : MAX(MIN(good, memory_bytes / 2), least) / part * part;
    if (part == 0 || *sent_bytes < memory_bytes)
        return SHEAF_OK;
    err_set(err, SHEAF_ERR_LIMIT, "%s: a shard of about %llu bytes is sent in parts of %llu bytes, "
            "which needs %llu bytes of memory and as much for the samples; the limit is %llu", dest,
            (unsigned long long)shard_bytes, (unsigned long long)part,
            (unsigned long long)*sent_bytes, (unsigned long long)memory_bytes);
    return err_because(err, SHEAF_ERR_LIMIT, SHEAF_REASON_MEMORY);
}

static int open_parts(struct engine *e, uint64_t shard_bytes, uint64_t memory_bytes,
                      struct sheaf_error *err)
{
    uint64_t sent;
    int code = engine_share(e->output->dest, e->setup, shard_bytes, memory_bytes, &sent, err);

    if (code == SHEAF_OK && sent != 0)
        code = part_memory_open(&e->parts, sent, err);
    e->budget.limit = memory_bytes - (code == SHEAF_OK ? sent : 0);
    return code;
}

uint64_t engine_peak(struct engine *e)
{
    return e->budget.peak + part_memory_peak(e->parts) + image_memory_peak(&e->images);
}

int engine_open(struct engine *e, const struct block_setup *setup, const struct output *output,
                struct problems *problems, struct watch *watch, unsigned jobs,
                uint64_t shard_bytes, uint64_t memory_bytes, struct sheaf_error *err)
{
    uint64_t images;
    int code;

    if (jobs == 0)
        jobs = MIN(workers_processors(), 8u);
    *e = (struct engine){
        .setup = setup, .output = output, .problems = problems, .watch = watch,
        .progress.stage = "pack",
        .commits_most = store_is_remote(output->dest) ? ENGINE_COMMITS : COMMITS_OF_DISK,
    };
    commit_window_open(&e->window, e->commits_most == ENGINE_COMMITS ? ENGINE_COMMITS : 1);
    e->slot_count = (size_t)jobs * SLOTS_PER_JOB + SLOTS_MORE;
    e->slots = calloc(e->slot_count, sizeof(e->slots[0]));
    if (e->slots == NULL) {
        e->slot_count = 0;
        return err_memory(err, jobs * SLOTS_PER_JOB * sizeof(e->slots[0]));
    }
    images = setup_image_bytes(setup, memory_bytes);
    image_memory_open(&e->images, images);
    code = open_parts(e, shard_bytes, memory_bytes - images, err);
    if (code == SHEAF_OK)
        code = workers_open(&e->workers, jobs, err);
    if (code == SHEAF_OK)
        code = workers_open(&e->hasher, 1, err);
    if (code == SHEAF_OK)
        code = workers_open(&e->committers, e->window.most, err);
    for (size_t i = 0; i < e->slot_count && code == SHEAF_OK; i++)
        code = block_open(&e->slots[i].block, setup, &e->images.room, err);
    return code;
}

void engine_close(struct engine *e)
{
    commit_window_shut(&e->window);
    workers_close(e->workers);
    workers_close(e->hasher);
    workers_close(e->committers);
    for (size_t i = 0; i < ENGINE_COMMITS; i++) {
        shard_writer_close(e->commits[i].writer);
        journal_entry_free(&e->commits[i].entry);
    }
    shard_writer_close(e->writer);
    for (size_t i = 0; i < e->slot_count; i++)
        block_close(&e->slots[i].block);
    free(e->slots);
    part_memory_close(e->parts);
    image_memory_close(&e->images);
    e->parts = NULL;
    e->workers = e->hasher = e->committers = NULL;
    commit_window_close(&e->window);
    e->writer = NULL;
    e->slots = NULL;
    e->slot_count = 0;
}

void engine_count(struct engine *e, const struct shard_facts *facts)
{
    e->result.shards++;
    e->result.samples += facts->samples;
    e->result.files_packed += facts->files;
    e->result.payload_bytes += facts->payload_bytes;
    e->result.stored_bytes += facts->bytes;
    e->result.multipart_records += facts->multipart;
    e->result.resized += facts->resized;
}

/* ---- Finished shards ------------------------------------------------------------------------- */

/* Commits a finished shard. If another process has finished the same shard meanwhile, this process
 * uses the journal entry of the other process instead of its own. */
static void run_commit(struct job *job)
{
    struct commit *c = (struct commit *)((char *)job - offsetof(struct commit, job));
    const uint8_t *own = c->entry.skipped.data;

    if (!commit_window_begin(c->window)) {
        c->code = commit_window_check(c->window, &c->error);
        return;
    }
    c->code = shard_writer_describe(c->writer, &c->entry, &c->error);
    if (c->code == SHEAF_OK)
        c->code = output_publish_shard(c->output, c->split, &c->writer->files, &c->entry,
                                       &c->error);
    c->is_others = c->entry.skipped.data != own;
    commit_window_end(c->window, c->code == SHEAF_OK ? NULL : &c->error);
}

/* Replaces this process's list of files skipped in a shard by the list of the process that finished
 * the shard first. */
static int adopt_problems(struct engine *e, const struct commit *c, struct sheaf_error *err)
{
    const struct buf *skipped = &c->entry.skipped;
    const size_t before = e->problems->count;
    const int code = problems_replace(e->problems, c->first_problem, c->problem_count,
                                      (const char *)skipped->data, skipped->size, err);
    const size_t more = e->problems->count - before;    /* modulo 2^64 */

    for (size_t i = 0; i < e->commit_count; i++)
        e->commits[(e->commit_head + i) % ENGINE_COMMITS].first_problem += more;
    e->first_problem += more;
    return code;
}

/* Replaces the converted files in the same way. */
static int adopt_converted(struct engine *e, const struct commit *c, struct sheaf_error *err)
{
    struct problems *all = e->problems->converted;
    const struct buf *lines = &c->entry.converted;
    const size_t before = all == NULL ? 0 : all->count;
    const int code = all == NULL ? SHEAF_OK
                   : problems_replace(all, c->first_converted, c->converted_count,
                                      (const char *)lines->data, lines->size, err);
    const size_t more = all == NULL ? 0 : all->count - before;

    for (size_t i = 0; i < e->commit_count; i++)
        e->commits[(e->commit_head + i) % ENGINE_COMMITS].first_converted += more;
    e->first_converted += more;
    return code;
}

/* Waits until the oldest of the shards that are being committed is done. */
static int reap_commit(struct engine *e, struct sheaf_error *err)
{
    struct commit *c = &e->commits[e->commit_head];
    int code;

    workers_wait(e->committers, &c->job);
    e->commit_head = (e->commit_head + 1) % ENGINE_COMMITS;
    e->commit_count--;
    code = c->code;
    if (code == SHEAF_OK)
        engine_count(e, &c->entry.facts);
    else
        code = commit_window_check(&e->window, err);    /* the first failure, of any shard */
    if (code == SHEAF_OK && c->is_others)
        code = adopt_problems(e, c, err);
    if (code == SHEAF_OK && c->is_others)
        code = adopt_converted(e, c, err);
    shard_writer_close(c->writer);
    c->writer = NULL;
    journal_entry_free(&c->entry);
    return code;
}

static int end_shard(struct engine *e, const struct plan_shard *shard, struct sheaf_error *err)
{
    const size_t converted = e->problems->converted == NULL ? 0 : e->problems->converted->count;
    struct commit *c;
    int code = shard_writer_end(e->writer, err);

    if (code == SHEAF_OK && e->commit_count == e->commits_most)
        code = reap_commit(e, err);
    if (code != SHEAF_OK)
        return code;
    c = &e->commits[(e->commit_head + e->commit_count) % ENGINE_COMMITS];
    *c = (struct commit){
        .job.run = run_commit, .output = e->output, .window = &e->window, .writer = e->writer,
        .split = shard->split, .entry.source = shard->source,
        .entry.skipped = BUF_INIT(SIZE_MAX / 4), .first_problem = e->first_problem,
        .problem_count = e->problems->count - e->first_problem,
        .entry.converted = BUF_INIT(SIZE_MAX / 4), .first_converted = e->first_converted,
        .converted_count = converted - e->first_converted,
    };
    e->writer = NULL;
    e->commit_count++;
    code = problems_write(e->problems, e->first_problem, &c->entry.skipped, err);
    if (code == SHEAF_OK && converted != 0)
        code = problems_write(e->problems->converted, e->first_converted, &c->entry.converted,
                              err);
    if (code != SHEAF_OK) {
        e->commit_count--;      /* engine_close() frees it */
        return code;
    }
    workers_submit(e->committers, &c->job);
    return SHEAF_OK;
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

static struct slot *slot_at(struct engine *e, size_t index)
{
    return &e->slots[(e->head + index) % e->slot_count];
}

static void release(struct engine *e, struct slot *slot)
{
    block_release(&slot->block);
    budget_give(&e->budget, slot->charged);
    slot->charged = 0;
}

/* Returns the size that a block's buffers will have. For each buffer, this is the larger one of its
 * needed and its present size. */
static uint64_t held(const struct block *b, const struct block_need *need)
{
    return MAX(need->raw, b->raw.capacity) + MAX(need->names, b->names.capacity) +
           MAX(need->stored, b->stored.capacity) + MAX(need->scratch, b->scratch.capacity) +
           MAX(need->samples, b->samples.capacity) +
           MAX(need->converted, b->converted.capacity);
}

/* Takes the memory for the block of a slot (an entry of the engine's ring of blocks) from the
 * budget. Returns SHEAF_END if the budget has no room for it. */
static int try_charge(struct engine *e, struct slot *slot, const struct block_need *need,
                      struct sheaf_error *err)
{
    const uint64_t wanted = MAX(held(&slot->block, need), slot->charged);

    if (!budget_take(&e->budget, wanted - slot->charged))
        return SHEAF_END;
    slot->charged = wanted;
    return block_allow(&slot->block, need, err);
}

static int refuse_memory(const struct engine *e, uint64_t total, struct sheaf_error *err)
{
    return err_because(err, err_set(err, SHEAF_ERR_LIMIT, "a block needs %llu bytes of memory, the "
                                    "limit is %llu", (unsigned long long)total,
                                    (unsigned long long)e->budget.limit), SHEAF_REASON_MEMORY);
}

static int consume(struct engine *e, struct sheaf_error *err);

/* Takes the memory for the block of a slot (an entry of the engine's ring of blocks) from the
 * budget. If there is no room, frees the buffers of idle slots. If there is still no room, waits
 * for other blocks to be encoded and writes them. The slot must be idle, or its block must keep its
 * samples. */
int engine_charge(struct engine *e, struct slot *slot, struct block_need *need,
                  struct sheaf_error *err)
{
    const uint64_t total = block_need_total(need, e->setup);

    int code;

    while ((code = try_charge(e, slot, need, err)) == SHEAF_END) {
        const uint64_t used = e->budget.used;

        for (size_t i = e->in_flight; i < e->slot_count; i++)
            if (slot_at(e, i) != slot || block_sample_count(&slot->block) == 0)
                release(e, slot_at(e, i));
        if (e->budget.used < used)
            continue;
        if (e->in_flight == 0)
            return refuse_memory(e, total, err);
        code = consume(e, err);
        if (code != SHEAF_OK)
            return code;
    }
    return code;
}

int engine_take(struct engine *e, struct slot **slot, struct sheaf_error *err)
{
    int code = watch_check(e->watch, err);

    while (code == SHEAF_OK && e->in_flight == e->slot_count)
        code = consume(e, err);
    if (code != SHEAF_OK)
        return code;
    *slot = slot_at(e, e->in_flight);
    block_clear(&(*slot)->block);
    (*slot)->submitted = false;
    return SHEAF_OK;
}

void engine_submit(struct engine *e, struct slot *slot)
{
    slot->block.shard = &slot->shard;
    slot->submitted = true;
    e->in_flight++;
    workers_submit(e->workers, &slot->block.job);
}

/* Encodes a block a second time, because it needed more memory than estimated. Now it gets the
 * memory for the worst case. If necessary, later blocks in the ring give up their memory for this
 * block, and must then be encoded again as well. */
static int run_again(struct engine *e, struct slot *slot, struct sheaf_error *err)
{
    struct block_need need;
    uint64_t total;
    int code;

    workers_cancel(e->workers);
    for (size_t i = 0; i < e->in_flight; i++) {
        release(e, slot_at(e, i));
        slot_at(e, i)->submitted = false;
    }
    for (size_t i = e->in_flight; i < e->slot_count; i++)
        release(e, slot_at(e, i));
    slot->block.at_worst = true;
    need = block_need_planned(&slot->block, BLOCK_WORST);
    total = block_need_total(&need, e->setup);
    code = try_charge(e, slot, &need, err);
    if (code == SHEAF_END)
        return refuse_memory(e, total, err);
    if (code != SHEAF_OK)
        return code;
    slot->submitted = true;
    workers_submit(e->workers, &slot->block.job);
    workers_wait(e->workers, &slot->block.job);
    return SHEAF_OK;
}

/* Takes memory for a block that had given up its memory for another block, and submits the block to
 * the workers again. The budget had room for this block before. */
static int resubmit(struct engine *e, struct slot *slot, struct sheaf_error *err)
{
    struct block_need need = block_need_planned(&slot->block, BLOCK_USUAL);

    int code;

    block_need_total(&need, e->setup);
    while ((code = try_charge(e, slot, &need, err)) == SHEAF_END) {
        const uint64_t used = e->budget.used;

        for (size_t i = e->in_flight; i < e->slot_count; i++)
            release(e, slot_at(e, i));
        if (e->budget.used == used)
            return err_set(err, SHEAF_ERR_LIMIT, "no memory left in the budget of %llu bytes",
                           (unsigned long long)e->budget.limit);
    }
    if (code != SHEAF_OK)
        return code;
    slot->submitted = true;
    workers_submit(e->workers, &slot->block.job);
    return SHEAF_OK;
}

static int add_all(struct problems *to, const struct block *b, const struct buf *from,
                   struct sheaf_error *err)
{
    const struct block_problem *found = (const void *)from->data;
    const char *texts = (const char *)b->texts.data;
    int code = SHEAF_OK;

    for (size_t i = 0; i < from->size / sizeof(*found) && code == SHEAF_OK; i++) {
        struct sheaf_error why = { .code = found[i].code, .reason = found[i].because };

        snprintf(why.message, sizeof(why.message), "%s", texts + found[i].reason);
        code = problems_add_found(to, err, texts + found[i].path, &why);
    }
    return code;
}

static int take_problems(struct engine *e, const struct block *b, struct sheaf_error *err)
{
    int code = add_all(e->problems, b, &b->problems, err);

    cls_words_add(&e->problems->unread, &b->unread);
    cls_words_add(&e->problems->kept_labels, &b->kept_labels);
    cls_words_add(&e->problems->replaced, &b->replaced);
    if (code == SHEAF_OK && e->problems->converted != NULL)
        code = add_all(e->problems->converted, b, &b->conversions, err);
    return code == SHEAF_OK ? problems_verdict(e->problems, err) : code;
}

static void run_hash(struct job *job)
{
    struct slot *slot = (struct slot *)((char *)job - offsetof(struct slot, hash));

    shard_writer_hash(slot->hashing, &slot->block);
}

/* Writes the block to the shard while another thread computes its hash. If no thread has begun to
 * hash the block when it is written, this thread hashes it, which takes less time than waiting. */
static int write_and_hash(struct engine *e, struct slot *slot, struct sheaf_error *err)
{
    const volatile int never = 0;
    uint64_t waited = 0;
    int code;

    slot->hashing = e->writer;
    slot->hash = (struct job){ .run = run_hash };
    workers_submit(e->hasher, &slot->hash);
    code = shard_writer_add(e->writer, &slot->block, err);
    workers_wait_or(e->hasher, &slot->hash, true, &never, &waited);
    return code;
}

static int write_block(struct engine *e, struct slot *slot, struct sheaf_error *err)
{
    const struct plan_shard *shard = &slot->shard;
    int code = SHEAF_OK;

    if (slot->begins_shard) {
        e->first_problem = e->problems->count;
        e->first_converted = e->problems->converted == NULL ? 0 : e->problems->converted->count;
        code = pack_output_open_shard(e->output, e->setup, shard, e->parts, &e->writer, err);
    }
    if (code == SHEAF_OK)
        code = take_problems(e, &slot->block, err);
    if (code == SHEAF_OK)
        code = write_and_hash(e, slot, err);
    if (code == SHEAF_OK && slot->block.ends_shard)
        code = end_shard(e, shard, err);
    return code;
}

/* Waits until a block is filled. Blocks whose files are remote objects may take long. */
static int wait_for(struct engine *e, struct block *b, struct sheaf_error *err)
{
    uint64_t waited = 0;

    if (e->watch->interrupt != NULL &&
        !workers_wait_or(e->workers, &b->job, false, e->watch->interrupt, &waited))
        return watch_check(e->watch, err);
    workers_wait(e->workers, &b->job);
    return SHEAF_OK;
}

/* Waits for the oldest block and writes it. */
static int consume(struct engine *e, struct sheaf_error *err)
{
    struct slot *slot = slot_at(e, 0);
    int code = watch_check(e->watch, err);

    if (code == SHEAF_OK)
        code = commit_window_check(&e->window, err);
    if (code == SHEAF_OK && !slot->submitted)
        code = resubmit(e, slot, err);
    if (code != SHEAF_OK)
        return code;
    code = wait_for(e, &slot->block, err);
    if (code != SHEAF_OK)
        return code;
    while (code == SHEAF_OK && slot->block.outgrown)
        code = run_again(e, slot, err);
    if (code == SHEAF_OK && slot->block.code != SHEAF_OK) {
        *err = slot->block.error;
        code = slot->block.code;
    }
    if (code == SHEAF_OK)
        code = write_block(e, slot, err);
    if (code != SHEAF_OK)
        return code;
    e->progress.done_bytes += slot->planned_bytes;
    e->progress.done_count += slot->planned_samples;
    watch_show(e->watch, &e->progress);
    e->head = (e->head + 1) % e->slot_count;
    e->in_flight--;
    e->consumed++;
    if (slot->charged > KEEP_BYTES)
        release(e, slot);
    return SHEAF_OK;
}

void engine_stop(struct engine *e)
{
    workers_cancel(e->workers);
}

int engine_drain(struct engine *e, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    while (code == SHEAF_OK && e->in_flight > 0)
        code = consume(e, err);
    while (code == SHEAF_OK && e->commit_count > 0)
        code = reap_commit(e, err);
    return code;
}
