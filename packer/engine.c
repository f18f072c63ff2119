/* SPDX-License-Identifier: MIT
 *
 * Implements the engine of the packer. Worker threads fill the blocks (about 4 MiB of samples each)
 * of a ring. The calling thread writes the finished blocks to the shards in order. */
#include "packer/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/flag.h"

/* After a block was written, its buffers may be kept for the next block. If the buffers have more
 * than this number of bytes in total, they are freed instead. An ordinary block needs less. */
#define KEEP_BYTES ((uint64_t)24 << 20)

/* The engine's ring has SLOTS_PER_JOB blocks for each worker thread, and SLOTS_MORE further blocks.
 * So the workers can continue while encoded blocks wait to be written. */
#define SLOTS_PER_JOB 2
#define SLOTS_MORE    2

/* Number of shards that are committed (given their final name) at the same time in a remote store.
 * A commit there takes several round trips that move few bytes, so several commits at once are
 * faster. The first shard is committed alone, so that a store which refuses everything is asked
 * only once. */
#define COMMITS_REMOTE 8
/* Number of finished shards on a local disk that do not have their final names yet: one is being
 * committed, and one waits. */
#define COMMITS_OF_DISK 2

/* Data on its way to a remote store gets 1 / SENT_PART of the run's memory. An upload consists of
 * parts, and each part must be in memory as a whole. If 1 / SENT_PART of the memory is too little
 * for these parts, they get more. */
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

static int engine_open_parts(struct engine *e, uint64_t shard_bytes, uint64_t memory_bytes,
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
    const bool is_remote = store_is_remote(output->dest);
    uint64_t images;
    int code;

    if (jobs == 0)
        jobs = MIN(workers_processors(), 8u);
    *e = (struct engine){
        .setup = setup, .output = output, .problems = problems, .watch = watch,
        .progress.stage = "pack",
        .commits_now = is_remote ? 1 : COMMITS_OF_DISK,
        .commits_most = is_remote ? COMMITS_REMOTE : COMMITS_OF_DISK,
    };
    inflight_open(&e->commits, INFLIGHT_OLDEST, NULL, NULL);
    e->slot_count = (size_t)jobs * SLOTS_PER_JOB + SLOTS_MORE;
    e->slots = calloc(e->slot_count, sizeof(e->slots[0]));
    if (e->slots == NULL) {
        e->slot_count = 0;
        return err_memory(err, jobs * SLOTS_PER_JOB * sizeof(e->slots[0]));
    }
    images = setup_image_bytes(setup, memory_bytes);
    image_memory_open(&e->images, images);
    code = engine_open_parts(e, shard_bytes, memory_bytes - images, err);
    if (code == SHEAF_OK)
        code = workers_open(&e->workers, jobs, err);
    if (code == SHEAF_OK)
        code = workers_open(&e->hasher, 1, err);
    if (code == SHEAF_OK)
        code = workers_open(&e->committers, is_remote ? COMMITS_REMOTE : 1, err);
    for (size_t i = 0; i < e->slot_count && code == SHEAF_OK; i++)
        code = block_open(&e->slots[i].block, setup, &e->images.room, err);
    return code;
}

/* A finished shard. */
struct commit {
    struct inflight_item item;
    const struct output *output;
    int *failed;                /* the engine's flag commit_failed */
    struct shard_writer *writer;
    uint32_t split;
    struct journal_entry entry;
    /* The lines about this shard in each of the engine's two lists (skipped files, converted
     * files). When another process has finished an earlier shard, the lines about that shard are
     * replaced, perhaps by more or fewer lines. This moves our lines by engine.adopted[i]. So in
     * list i, our first line has the index own[i].first + engine.adopted[i]. */
    struct engine_lines own[ENGINE_LISTS];
    /* true if another process finished the shard first, so that its journal entry replaced ours */
    bool is_others;
    int code;
    struct sheaf_error error;
};

static void commit_free(struct commit *c)
{
    shard_writer_close(c->writer);
    journal_entry_free(&c->entry);
    free(c);
}

void engine_close(struct engine *e)
{
    struct inflight_item *item;

    inflight_cancel(&e->commits);
    workers_close(e->workers);
    workers_close(e->hasher);
    while ((item = inflight_next(&e->commits)) != NULL)
        commit_free((struct commit *)item);
    inflight_close(&e->commits);
    workers_close(e->committers);
    shard_writer_close(e->writer);
    for (size_t i = 0; i < e->slot_count; i++)
        block_close(&e->slots[i].block);
    free(e->slots);
    part_memory_close(e->parts);
    image_memory_close(&e->images);
    e->parts = NULL;
    e->workers = e->hasher = e->committers = NULL;
    e->writer = NULL;
    e->slots = NULL;
    e->slot_count = 0;
}

/* ---- Finished shards ------------------------------------------------------------------------- */

/* Commits a finished shard: gives it its final name and writes its journal entry. If another
 * process has finished the same shard meanwhile, uses the journal entry of that process instead of
 * its own. */
static void run_commit(struct inflight_item *item)
{
    struct commit *c = (struct commit *)item;
    const uint8_t *own = c->entry.skipped.data;

    if (flag_is_raised(c->failed)) {
        c->code = err_set(&c->error, SHEAF_ERR_INTERRUPTED, "an earlier shard has failed");
        return;
    }
    c->code = shard_writer_describe(c->writer, &c->entry, &c->error);
    if (c->code == SHEAF_OK)
        c->code = output_publish_shard(c->output, c->split, &c->writer->files, &c->entry,
                                       &c->error);
    c->is_others = c->entry.skipped.data != own;
    if (c->code != SHEAF_OK)
        flag_raise(c->failed);
}

/* Returns the engine's list of skipped files (ENGINE_SKIPPED) or of converted files
 * (ENGINE_CONVERTED). Returns NULL if the run has no such list. */
static struct problems *engine_list_of(const struct engine *e, int which)
{
    return which == ENGINE_SKIPPED ? e->problems : e->problems->converted;
}

static struct buf *lines_of(struct journal_entry *entry, int which)
{
    return which == ENGINE_SKIPPED ? &entry->skipped : &entry->converted;
}

/* Called if another process has finished a shard first. Replaces the lines about this shard in one
 * of the engine's lists by the lines in the journal entry of the other process. `which` is
 * ENGINE_SKIPPED or ENGINE_CONVERTED. */
static int adopt_lines(struct engine *e, struct commit *c, int which, struct sheaf_error *err)
{
    struct problems *list = engine_list_of(e, which);
    const struct buf *lines = lines_of(&c->entry, which);
    const size_t before = list == NULL ? 0 : list->count;
    int code;

    if (list == NULL)
        return SHEAF_OK;
    code = problems_replace(list, c->own[which].first + e->adopted[which], c->own[which].count,
                            (const char *)lines->data, lines->size, err);
    e->adopted[which] += list->count - before;
    e->first[which] += list->count - before;
    return code;
}

/* Waits for the oldest of the shards that are being committed (given their final names). Counts the
 * shard, or returns the error of its commit. */
static int reap_commit(struct engine *e, struct sheaf_error *err)
{
    struct commit *c = (struct commit *)inflight_next(&e->commits);
    int code = c->code;

    if (code != SHEAF_OK)
        *err = c->error;
    else {
        pack_output_count(&e->result, &c->entry.facts);
        e->commits_now = e->commits_most;
    }
    for (int i = 0; i < ENGINE_LISTS && code == SHEAF_OK && c->is_others; i++)
        code = adopt_lines(e, c, i, err);
    commit_free(c);
    return code;
}

/* Returns the error of a commit that has failed, or SHEAF_OK if no commit has failed. A commit
 * gives a shard its final name. */
static int check_commits(struct engine *e, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    while (code == SHEAF_OK && e->commits.count > 0 && flag_is_raised(&e->commit_failed))
        code = reap_commit(e, err);
    return code;
}

/* Fills `c` for the commit of the current shard, which is complete. Moves the shard's writer from
 * the engine to `c`, so that the engine can begin the next shard. */
static int engine_take_commit(struct engine *e, const struct plan_shard *shard, struct commit *c,
                              struct sheaf_error *err)
{
    int code = SHEAF_OK;

    *c = (struct commit){
        .item.run = run_commit, .output = e->output, .failed = &e->commit_failed,
        .writer = e->writer, .split = shard->split, .entry.source = shard->source,
        .entry.skipped = BUF_INIT(SIZE_MAX / 4), .entry.converted = BUF_INIT(SIZE_MAX / 4),
    };
    e->writer = NULL;
    for (int i = 0; i < ENGINE_LISTS && code == SHEAF_OK; i++) {
        struct problems *list = engine_list_of(e, i);

        if (list == NULL)
            continue;
        c->own[i] = (struct engine_lines){ e->first[i] - e->adopted[i],
                                           list->count - e->first[i] };
        code = problems_write(list, e->first[i], lines_of(&c->entry, i), err);
    }
    return code;
}

static int engine_end_shard(struct engine *e, const struct plan_shard *shard,
                            struct sheaf_error *err)
{
    struct commit *c;
    int code = shard_writer_end(e->writer, err);

    while (code == SHEAF_OK && e->commits.count >= e->commits_now)
        code = reap_commit(e, err);
    if (code != SHEAF_OK)
        return code;
    c = malloc(sizeof(*c));
    if (c == NULL)
        return err_memory(err, sizeof(*c));
    code = engine_take_commit(e, shard, c, err);
    if (code == SHEAF_OK)
        inflight_run(&e->commits, e->committers, &c->item);
    else
        commit_free(c);
    return code;
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

static struct slot *slot_at(struct engine *e, size_t index)
{
    return &e->slots[(e->head + index) % e->slot_count];
}

static void engine_release(struct engine *e, struct slot *slot)
{
    block_release(&slot->block);
    budget_give(&e->budget, slot->charged);
    slot->charged = 0;
}

/* Returns the total size that a block's buffers will have after they have grown to the sizes in
 * `need`. A buffer that is already larger keeps its size. */
static uint64_t held(const struct block *b, const struct block_need *need)
{
    return MAX(need->raw, b->raw.capacity) + MAX(need->names, b->names.capacity) +
           MAX(need->stored, b->stored.capacity) + MAX(need->scratch, b->scratch.capacity) +
           MAX(need->samples, b->samples.capacity) +
           MAX(need->converted, b->converted.capacity);
}

/* Takes from the budget the memory that a block needs, and enlarges the block's buffers. `slot` is
 * the block's entry in the engine's ring. Returns SHEAF_END if the budget has too little memory
 * left. */
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

static int engine_consume(struct engine *e, struct sheaf_error *err);

/* Takes from the budget the memory that a block needs. `slot` is the block's entry in the engine's
 * ring. The block must not be submitted to the workers yet. Samples that are already in the block
 * are kept.
 *
 * If the budget has too little left, first frees the buffers of blocks that are not in use. If this
 * is not enough, waits for blocks that are being encoded, and writes them, so that their memory can
 * be used. */
int engine_charge(struct engine *e, struct slot *slot, struct block_need *need,
                  struct sheaf_error *err)
{
    const uint64_t total = block_need_total(need, e->setup);

    int code;

    while ((code = try_charge(e, slot, need, err)) == SHEAF_END) {
        const uint64_t used = e->budget.used;

        for (size_t i = e->in_flight; i < e->slot_count; i++)
            if (slot_at(e, i) != slot || block_sample_count(&slot->block) == 0)
                engine_release(e, slot_at(e, i));
        if (e->budget.used < used)
            continue;
        if (e->in_flight == 0)
            return refuse_memory(e, total, err);
        code = engine_consume(e, err);
        if (code != SHEAF_OK)
            return code;
    }
    return code;
}

int engine_take(struct engine *e, struct slot **slot, struct sheaf_error *err)
{
    int code = watch_check(e->watch, err);

    while (code == SHEAF_OK && e->in_flight == e->slot_count)
        code = engine_consume(e, err);
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

/* Encodes a block again, because it needed more memory than estimated. This time the block gets the
 * memory for the worst case. To make this memory available, the later blocks in the ring are
 * cancelled. They must be encoded again as well. */
static int run_again(struct engine *e, struct slot *slot, struct sheaf_error *err)
{
    struct block_need need;
    uint64_t total;
    int code;

    workers_cancel(e->workers);
    for (size_t i = 0; i < e->in_flight; i++) {
        engine_release(e, slot_at(e, i));
        slot_at(e, i)->submitted = false;
    }
    for (size_t i = e->in_flight; i < e->slot_count; i++)
        engine_release(e, slot_at(e, i));
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

/* Gives a block to the workers again, after it was cancelled because another block needed its
 * memory. First takes memory for the block from the budget. If the budget has too little left,
 * frees the buffers of idle slots. Returns SHEAF_ERR_LIMIT if this is not enough. */
static int resubmit(struct engine *e, struct slot *slot, struct sheaf_error *err)
{
    struct block_need need = block_need_planned(&slot->block, BLOCK_USUAL);

    int code;

    block_need_total(&need, e->setup);
    while ((code = try_charge(e, slot, &need, err)) == SHEAF_END) {
        const uint64_t used = e->budget.used;

        for (size_t i = e->in_flight; i < e->slot_count; i++)
            engine_release(e, slot_at(e, i));
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

/* Writes a block to the shard. The hasher thread is asked to compute the block's hash meanwhile. If
 * it has not begun when the block is written, the calling thread computes the hash, because that
 * takes less time than waiting. */
static int write_and_hash(struct engine *e, struct slot *slot, struct sheaf_error *err)
{
    struct watch never = { .interrupt = NULL };
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
        for (int i = 0; i < ENGINE_LISTS; i++)
            e->first[i] = engine_list_of(e, i) == NULL ? 0 : engine_list_of(e, i)->count;
        code = pack_output_open_shard(e->output, e->setup, shard, e->parts, &e->writer, err);
    }
    if (code == SHEAF_OK)
        code = take_problems(e, &slot->block, err);
    if (code == SHEAF_OK)
        code = write_and_hash(e, slot, err);
    if (code == SHEAF_OK && slot->block.ends_shard)
        code = engine_end_shard(e, shard, err);
    return code;
}

/* Waits until a worker has filled the block, or until the user interrupts the run. The wait can be
 * long if the files are remote objects. */
static int engine_wait_for(struct engine *e, struct block *b, struct sheaf_error *err)
{
    struct watch watch = { .interrupt = e->watch->interrupt };
    uint64_t waited = 0;

    if (watch.interrupt != NULL && !workers_wait_or(e->workers, &b->job, false, &watch, &waited))
        return watch_check(&watch, err);
    workers_wait(e->workers, &b->job);
    return SHEAF_OK;
}

/* Waits for the oldest block and writes it. */
static int engine_consume(struct engine *e, struct sheaf_error *err)
{
    struct slot *slot = slot_at(e, 0);
    int code = watch_check(e->watch, err);

    if (code == SHEAF_OK)
        code = check_commits(e, err);
    if (code == SHEAF_OK && !slot->submitted)
        code = resubmit(e, slot, err);
    if (code != SHEAF_OK)
        return code;
    code = engine_wait_for(e, &slot->block, err);
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
        engine_release(e, slot);
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
        code = engine_consume(e, err);
    while (code == SHEAF_OK && e->commits.count > 0)
        code = reap_commit(e, err);
    return code;
}
