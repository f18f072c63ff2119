/* SPDX-License-Identifier: MIT
 *
 * Divides the memory budget of a reader for an epoch. There are five parts:
 * - tables, which are allocated when the epoch begins;
 * - the RESERVE: memory to read any single record alone, including the index section of its shard;
 * - index sections of open shards;
 * - buffers for reads;
 * - the heap for samples.
 *
 * Tables and reserve must fit into the budget. Because of the reserve, each sample can be read, so
 * the epoch can always continue. The rest of the budget is for the other three parts. If the heap
 * has no memory for a sample in the shuffle buffer, the buffer has only its number, and the sample
 * is read when it is drawn (lane.h).
 *
 * An example: one lane with a shuffle buffer of 10,000 samples reads remote shards of 1,500 images
 * of 110 kB on average. The budget is 1 GiB.
 * - The tables take 0.2 MB (16 bytes for each slot of the shuffle buffer, and 2.5 kB for the lane).
 * - The reserve takes 1 MB: one image of at most 900 kB, and the index section of its shard.
 * - The index sections of two open shards take 0.1 MB.
 * - The heap gets nearly all of the rest. It is too small for 10,000 images (1.1 GB in total). So
 * some of them are in the shuffle buffer only as numbers.
 * - Only a few reads run at the same time.
 *
 * With 2 GiB, all images fit into the heap, and many reads of 8 MiB run at the same time. */
#include "reader/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "reader/load/stream.h"
#include "reader/load/unpack.h"
#include "reader/epoch_order.h"
#include "store/read_ahead.h"

/* Usual number of uncompressed bytes of a read.
 *
 * A local read has few bytes, so that they are still in the CPU's cache when they are checked. With
 * still fewer bytes, threads would be woken too often. If each sample has an allocation of its own,
 * its bytes are copied into it. Local reads then have half this size, because there are two copies
 * of the bytes.
 *
 * A remote read is large enough to be worth a round trip. */
#define READ_LOCAL_BYTES   ((uint64_t)1 << 20)
#define READ_REMOTE_BYTES  ((uint64_t)8 << 20)
/* At most AHEAD_PIECES_MOST remote reads run at the same time. At the start of an epoch, this
 * number is smaller: REMOTE_FIRST_BYTES divided by the size of a read, but at least
 * REMOTE_FIRST_READS. */
#define REMOTE_FIRST_BYTES ((uint64_t)32 << 20)
#define REMOTE_FIRST_READS 4u
#define READ_LEAST_BYTES   ((uint64_t)64 << 10)
/* Smallest size of a read in bytes. Such small reads are used only if reads of READ_LEAST_BYTES for
 * all lanes (sequences of samples) would take too much memory. */
#define READ_TINY_BYTES    ((uint64_t)4 << 10)
/* Used if there is not enough memory for all samples of the shuffle buffer. A read then takes at
 * most 1 / READ_PART of the memory for samples. Larger reads would leave fewer samples of the
 * shuffle buffer in memory, because a read can begin only when the heap has room for all its
 * samples. */
#define READ_PART          128u
/* Used if codec blocks are decompressed in parts. Each lane (a sequence of samples) then has
 * samples that were decompressed but have not entered the shuffle buffer yet. A quarter of the
 * memory is for such samples, or half of it if there are more than PASSING_LANES lanes. */
#define PASSING_LANES      8u
/* Computing draws in advance (horizon.h) takes at most 1 / FORESIGHT_PART of the memory. */
#define FORESIGHT_PART     8u
/* A shard that is no longer in use stays open, because it may be needed again. When all open shards
 * together take more memory than a limit, shards that are not in use are closed. The limit is
 * 1 / IDLE_PART of the memory, but at least the memory that is planned for the indexes of shards.
 *
 * If memory has room for all samples of the shuffle buffer, shards are seldom needed again. Then
 * IDLE_BYTES is used if it is less than 1 / IDLE_PART of the memory. */
#define IDLE_BYTES         ((uint64_t)4 << 20)
#define IDLE_PART          8u
/* Used if the samples of the shuffle buffer may need more memory than the heap has. In this case, a
 * frame (stored record) that is larger than 1 / OUTSIZE_PART of the heap is not kept in the heap.
 * It is read when its sample is drawn. */
#define OUTSIZE_PART       16u
/* Size in bytes that is assumed for the largest codec block. The packer ends a block when its files
 * have a few MiB in total. The assumed size is larger, because the block also has the bytes that a
 * container adds to each file, such as headers. */
#define BLOCK_BYTES        ((uint64_t)10 << 20)
/* Number of bytes of the reserve that are for small tables. (The reserve is memory that is kept
 * free so that any single sample can be read.) The rest of the reserve is for the read itself. */
#define RESERVE_MORE       ((uint64_t)1 << 10)
/* Smallest size in bytes of samples that may be read alone when they are drawn. Smaller samples
 * wait in memory until they are drawn, because reading each of them alone would cost more. */
#define DRAW_LEAST_BYTES   ((uint64_t)16 << 10)
/* While a shard is open, the records that a column has for this shard are kept in memory only if
 * they have at most this number of bytes. */
#define KEPT_MOST          ((uint64_t)4 << 20)
/* Largest number of files (of shards and of their columns) that may be open at one time, if each
 * sample is read only when it is drawn. In this mode, the shards of all samples in the shuffle
 * buffer stay open. */
#define SHARDS_MOST        192u

struct needs {
    uint64_t slots;             /* number of samples in all shuffle buffers */
    /* approximate number of bytes that the samples in all shuffle buffers take in the heap,
     * increased by a quarter for safety */
    uint64_t frames;
    /* upper bound for the number of bytes that the samples in all shuffle buffers take in the
     * heap */
    uint64_t frames_most;
    /* The mean size in bytes of the samples in a shard, for the shard in which this mean is
     * largest. */
    uint64_t mean;
    /* Largest number of bytes by which a read grows. It must end where a codec block ends. */
    uint64_t block;
    /* memory in bytes for the index sections of all shards that are open at one time */
    uint64_t sections;
    uint64_t tables;
    /* memory in bytes for computing the draws of all lanes (sequences of samples) in advance
     * (horizon.h) */
    uint64_t foresight;
    uint64_t reserve;
};

/* ---- As drawn ------------------------------------------------------------------------------- */

static uint64_t mean_bytes(const struct sheaf_dataset *d)
{
    return d->total_bytes / MAX(dataset_samples(d), 1);
}

/* Returns an upper bound for the number of samples in all shuffle buffers of this reader. In a
 * view, there is a buffer with at least one slot for each lane (a sequence of samples) and each
 * source. */
static uint64_t numbers_drawn(const struct sheaf_reader *r)
{
    return r->own_lanes * order_buffer_slots(&r->load.order) + r->load.lane_count;
}

/* Returns the number of columns whose fields the reader adds to each sample. */
static size_t column_count(const struct loader *l)
{
    return l->shards.columns == NULL ? 0 : l->shards.columns->count;
}

/* Returns the largest number of shards that are open at one time. */
static uint64_t memory_open_shards(const struct sheaf_reader *r)
{
    const struct loader *l = &r->load;

    return MIN(r->dataset->manifest.shard_count,
               l->keep == 0 ? r->epoch_order->open_shards(r)
                            : 2 * (uint64_t)l->lane_count);
}

/* Returns true if the index sections and the columns of the open shards take at most a quarter of
 * the budget. If samples are read only when they are drawn, the tables that the lanes (sequences of
 * samples) need for this must fit into this quarter as well. Such a table has the numbers of the
 * samples in the shuffle buffer. */
static bool has_room(const struct sheaf_reader *r)
{
    const struct sheaf_dataset *d = r->dataset;
    const struct loader *l = &r->load;
    const uint64_t waiting = l->keep == 0 ? numbers_drawn(r) : 0;
    const uint64_t lanes = l->keep == 0 ? l->lane_count * (sequence_held_bytes(0)
                                                           + queue_as_drawn.own_bytes) : 0;
    uint64_t section = 0, alone = 0;

    for (uint32_t i = 0; i < d->manifest.shard_count; i++) {
        section = MAX(section, shards_memory(&l->shards, i));
        alone = MAX(alone, read_most(&d->manifest.shards[i], false, false)
                           + read_columns_most(l->shards.columns, i));
    }
    return section * (memory_open_shards(r) + 1) + alone + waiting * item_bytes(column_count(l))
           + lanes <= l->budget.limit / 4;
}

/* Decides whether the records of small columns are kept in memory while a shard is open. If they
 * are not kept, each read of samples needs another read for the records that the column has for
 * these samples. This other read costs little if it brings the records of consecutive samples from
 * a local file. The records are then also in the CPU's cache when they are checked. So they are not
 * kept in this case. In all other cases they are kept if there is enough memory. */
static void choose_kept_columns(struct sheaf_reader *r)
{
    struct shards *shards = &r->load.shards;

    shards->kept_most = shards->columns != NULL
                        && (r->load.keep == 0 || !dataset_is_local(r->dataset)) ? KEPT_MOST : 0;
    if (shards->kept_most != 0 && !has_room(r))
        shards->kept_most = 0;
}

void memory_choose(struct sheaf_reader *r)
{
    const struct sheaf_dataset *d = r->dataset;
    struct loader *l = &r->load;
    const uint64_t slots = order_buffer_slots(&l->order);
    const uint64_t shards = slots > 1 && !d->is_stream ? r->epoch_order->open_shards(r) : 0;

    l->keep = dataset_is_local(d) && d->codec == NULL && slots > 1
              && mean_bytes(d) >= DRAW_LEAST_BYTES && shards <= SHARDS_MOST ? 0 : slots;
    l->shards.keep_lines = l->keep == 0;
    choose_kept_columns(r);
    if (l->keep == 0 && l->shards.kept_most == 0)   /* Each column is a file that stays open. */
        l->keep = shards * (1 + column_count(l)) <= SHARDS_MOST && has_room(r) ? 0 : slots;
    if (l->keep != 0) {
        l->shards.keep_lines = false;
        choose_kept_columns(r);
    }
    l->step_bytes[false] = l->step_bytes[true] = 0;
    l->lead = d->is_stream || l->keep <= 1 ? 1 : MAX(LANE_DUE / l->lane_count, 2);
    l->queue_ops = d->is_stream ? &queue_streamed
                 : l->keep == 0 ? &queue_as_drawn : &queue_in_order;
}

/* ---- What there is to read ------------------------------------------------------------------ */

static int compare_means(const void *a, const void *b)
{
    const struct manifest_shard *x = *(const struct manifest_shard *const *)a;
    const struct manifest_shard *y = *(const struct manifest_shard *const *)b;
    const uint64_t mean_x = x->raw_bytes / MAX(x->samples, 1);
    const uint64_t mean_y = y->raw_bytes / MAX(y->samples, 1);

    return mean_x < mean_y ? 1 : mean_x > mean_y ? -1 : 0;
}

/* Sets *bytes to an estimate, usually too high, for the total size of the samples in a shuffle
 * buffer with `slots` slots. Assumes that all these samples come from the shards with the largest
 * samples, by their mean size. */
static int bytes_of_slots(const struct sheaf_reader *r, uint64_t slots, uint64_t *bytes,
                          struct sheaf_error *err)
{
    const struct sheaf_dataset *d = r->dataset;
    const size_t count = d->manifest.shard_count;
    const struct manifest_shard **shards = calloc(count + 1, sizeof(shards[0]));

    if (shards == NULL)
        return err_memory(err, count * sizeof(shards[0]));
    for (size_t i = 0; i < count; i++)
        shards[i] = &d->manifest.shards[i];
    qsort(shards, count, sizeof(shards[0]), compare_means);
    *bytes = 0;
    for (size_t i = 0; i < count && slots != 0; i++) {
        const uint64_t taken = MIN(slots, shards[i]->samples);

        if (taken != 0)
            *bytes += (uint64_t)((double)shards[i]->raw_bytes * (double)taken
                                 / (double)shards[i]->samples) + shards[i]->names_bytes
                      + columns_usual(r->load.shards.columns,
                                      (uint32_t)(shards[i] - d->manifest.shards), taken);
        slots -= taken;
    }
    free(shards);
    return SHEAF_OK;
}

static void memory_add_shard(const struct sheaf_reader *r, uint32_t number, struct needs *n,
                             uint64_t *section)
{
    const struct sheaf_dataset *d = r->dataset;
    const struct manifest_shard *m = &d->manifest.shards[number];
    const uint64_t memory = shards_memory(&r->load.shards, number);
    const bool is_packed = dataset_source(d, number)->codec != NULL;
    const struct columns *columns = r->load.shards.columns;

    if (m->samples != 0)
        n->mean = MAX(n->mean, (m->raw_bytes + columns_usual(columns, number, m->samples))
                               / m->samples);
    if (is_packed)
        n->block = MAX(n->block, MIN(BLOCK_BYTES, m->raw_bytes + m->bytes));
    n->reserve = MAX(n->reserve, memory + read_most(m, is_packed, d->is_remote)
                                 + read_columns_most(columns, number));
    n->frames_most = MAX(n->frames_most, m->largest + columns_most(columns, number));
    *section = MAX(*section, memory);
}

static int needs_of(const struct sheaf_reader *r, struct needs *n, struct sheaf_error *err)
{
    const struct sheaf_dataset *d = r->dataset;
    const struct loader *l = &r->load;
    uint64_t section = 0, bytes = 0, heads;
    int code = SHEAF_OK;

    *n = (struct needs){ 0 };
    n->tables = l->queue_count * (sizeof(struct lane) + sizeof(struct queue))
              + r->epoch_order->table_bytes(r);
    for (uint32_t i = 0; i < l->lane_count; i++) {
        n->slots += r->lanes[i].slot_count;
        n->foresight += horizon_bytes(r->lanes[i].slot_count);
    }
    for (uint32_t i = 0; !d->is_stream && i < d->manifest.shard_count; i++)
        memory_add_shard(r, i, n, &section);
    n->reserve += RESERVE_MORE;
    if (r->alone_bytes != 0)
        n->reserve = r->alone_bytes;
    n->sections = section * memory_open_shards(r);
    if (loader_is_apart(l))
        code = bytes_of_slots(r, n->slots, &bytes, err);
    if (l->shards.columns != NULL)
        n->tables += r->options.threads * l->shards.columns->opening_bytes;
    heads = n->slots * (HEAP_HEAD_BYTES + item_bytes(column_count(l)));
    n->frames = loader_is_apart(l) ? (bytes + heads) * 5 / 4 : 0;
    n->frames_most = n->frames_most > (bytes + heads) / MAX(n->slots, 1)
                   ? n->slots * n->frames_most + heads : bytes + heads;
    return code;
}

/* Returns the memory in bytes for reading one record of an open shard alone. It is enough for each
 * record of the shard. */
static uint64_t alone_in(struct shard *shard)
{
    uint64_t most = 0;

    for (uint64_t i = 0; i < shard->section->samples; i++) {
        const struct run run = { .shard = shard, .first = i, .count = 1 };

        most = MAX(most, loader_alone_bytes(&run));
    }
    return most;
}

/* Computes the exact size of the reserve from the index. (The reserve is memory that is kept free
 * to read any single record.) A shard that cannot be opened is ignored. Its error is reported when
 * the shard is read. */
static void memory_find_alone(struct sheaf_reader *r, struct needs *n)
{
    struct shards *shards = &r->load.shards;
    struct sheaf_error ignored;
    struct shard *shard;
    uint64_t most = 0;

    for (uint32_t i = 0; i < r->dataset->manifest.shard_count; i++) {
        if (shards_use(shards, i, true, &shard, &ignored) != SHEAF_OK)
            return;
        workers_wait(r->load.workers, &shard->job);
        if (shard->code == SHEAF_OK)
            most = MAX(most, shards_memory(shards, i) + alone_in(shard));
        shards_drop(shards, shard);
    }
    n->reserve = r->alone_bytes = most + RESERVE_MORE;
}

/* ---- Sharing it out ------------------------------------------------------------------------- */

int memory_open_heap(struct sheaf_reader *r, bool memory_is_free, struct sheaf_error *err)
{
    const struct heap_memory memory = { r->options.memory, r->options.memory_needed,
                                        r->options.memory_context };
    struct loader *l = &r->load;

    if (!memory_is_free)
        /* The memory that the program has provided in the options belongs to an earlier heap. The
         * program may still use samples in it, so this heap cannot use it. */
        r->options.memory = NULL;
    if (r->options.memory == NULL)
        return heap_open(&l->heap, &l->budget, l->budget.limit, err);
    if ((uintptr_t)memory.base % (uintptr_t)sysconf(_SC_PAGESIZE) != 0)
        return err_set(err, SHEAF_ERR_ARGUMENT, "memory for samples at %p: expected the start of "
                       "a page", memory.base);
    return heap_open_in(&l->heap, &l->budget, l->budget.limit, &memory, err);
}

/* Limits for the heap of samples. `heap_bytes` is the size to which it may grow. `lend_bytes` is
 * the largest part of it that may be lent to the program. */
struct shares {
    uint64_t heap_bytes, lend_bytes;
};

/* Sets the limits of the heap for this epoch. Uses the heap of the last epoch again, unless it has
 * grown beyond its new limit. In this case, replaces it by a new heap. */
static int fit_heap(struct sheaf_reader *r, const struct shares *shares)
{
    struct loader *l = &r->load;
    int code = SHEAF_OK;

    if (l->heap->size > shares->heap_bytes) {
        const bool memory_is_free = heap_is_alone(l->heap);

        heap_close(l->heap);
        l->heap = NULL;
        code = memory_open_heap(r, memory_is_free, &r->error);
    }
    if (code != SHEAF_OK)
        return code;
    l->heap->most_bytes = shares->heap_bytes;
    l->lend_bytes = shares->lend_bytes;
    return SHEAF_OK;
}

/* Sets the limits for the window, which is the number of remote reads that run at the same time.
 * The window is small at first. It may grow as far as memory allows. */
static void fit_window(struct loader *l)
{
    const unsigned most = (unsigned)l->queued_most - l->lane_count;
    const uint64_t first = MAX(REMOTE_FIRST_BYTES / l->read_most, REMOTE_FIRST_READS);

    window_fit(&l->window, (unsigned)MIN(first, most), most, l->read_most);
    l->queued_most = l->lane_count + l->window.now;
}

/* Returns the memory for `reads` reads of `bytes` bytes. */
static uint64_t reads_memory(const struct needs *n, uint64_t bytes, uint64_t reads)
{
    return reads * (MAX(bytes, n->mean) + n->block) * 5 / 4;
}

/* `left` is an amount of memory in bytes. Returns the part of it for samples that were decompressed
 * but have not entered the shuffle buffer yet. Used if not all samples of the shuffle buffer fit
 * into memory. */
static uint64_t passing_bytes(const struct loader *l, uint64_t left)
{
    return l->lane_count > PASSING_LANES ? left / 2 : left / 4;
}

/* Sets the size and the number of reads if memory has no room for whole codec blocks. Each block is
 * then decompressed several times: first for the samples that are needed soon, and later for its
 * other samples. */
static void fit_blocks(struct sheaf_reader *r, struct needs *n, uint64_t left)
{
    struct loader *l = &r->load;
    const uint64_t reads = l->lane_count + 1u;
    const uint64_t bytes = passing_bytes(l, left) * 3 / 4 / reads;

    /* Blocks are decompressed in small steps. If a whole block were decompressed, it would stay in
     * memory until its last sample is returned. */
    l->step_bytes[false] = unpack_step(false);
    l->step_bytes[true] = unpack_step(true);
    l->queued_most = reads;
    l->read_most = MIN(MAX(bytes, READ_TINY_BYTES), BLOCK_BYTES / 2);
    if (l->keep <= 1 || n->foresight > left / FORESIGHT_PART)
        n->foresight = 0;
    n->tables += n->foresight;
}

/* Chooses the size and the number of reads for an epoch. `left` is the memory in bytes for reads
 * and for samples in the shuffle buffer. Returns true if this memory has room for all samples of
 * the shuffle buffer. */
static bool fit_chunks(struct sheaf_reader *r, struct needs *n, uint64_t left)
{
    struct loader *l = &r->load;
    const uint64_t least = l->lane_count + 2u;

    l->queued_most = l->lane_count + 2 * r->options.threads + 2;
    l->read_most = MAX(READ_LOCAL_BYTES / (loader_is_apart(l) ? 2 : 1), r->dataset->read_bytes);
    if (r->dataset->is_remote) {
        l->queued_most = l->lane_count + AHEAD_PIECES_MOST;
        l->read_most = READ_REMOTE_BYTES;
    }
    while (l->read_most > READ_LEAST_BYTES
           && reads_memory(n, l->read_most, l->queued_most) + n->frames > left) {
        /* Reduces the memory for reads in three phases. First, reads become smaller, down to 1 MiB.
         * Second, fewer reads run at the same time, because a still smaller remote read would take
         * a round trip for few bytes. Third, when few reads are left, they become smaller again. */
        if (l->read_most <= 1 << 20 && l->queued_most > l->lane_count + 4)
            l->queued_most -= 2;
        else
            l->read_most /= 2;
    }
    if (reads_memory(n, READ_LEAST_BYTES, least) + n->frames <= left)
        return true;
    l->queued_most = least;
    l->read_most = MIN(left / 2 / least, MAX(left / READ_PART, READ_LEAST_BYTES));
    l->read_most = MAX(l->read_most, READ_TINY_BYTES);
    if (r->dataset->codec != NULL)
        fit_blocks(r, n, left);
    return false;
}

/* Returns the memory in bytes for the buffers of all reads, if each read brings records of one
 * codec block that is decompressed in small steps. */
static uint64_t works_memory(const struct loader *l)
{
    const uint64_t each = 2 * sizeof(struct work) + l->step_bytes[l->dataset->is_remote]
                          + l->read_most / 32;

    return (l->lane_count + 4u) * each;
}

/* Divides memory (`left` bytes) between reads and the heap for samples. Also decides how much of
 * the heap the program may borrow.
 *
 * With a shuffle buffer, the heap gets all memory that the buffers of reads do not need. The
 * program may borrow the part that the samples in the shuffle buffer do not need.
 *
 * Without a shuffle buffer, reads put their samples directly into the heap, so the heap gets all
 * memory. The program may borrow the part that reads do not need. */
static struct shares share_out(struct loader *l, const struct needs *n, uint64_t left)
{
    const uint64_t least = reads_memory(n, READ_LEAST_BYTES, l->lane_count + 2u);
    const uint64_t usual = reads_memory(n, l->read_most, l->queued_most);
    struct shares s = { left, left - MIN(left, usual) };

    l->outsize_bytes = UINT64_MAX;
    if (!loader_is_apart(l))
        return s;
    s.heap_bytes = left - MIN(left / 4, loader_reads_in_steps(l) ? works_memory(l) : least);
    s.lend_bytes = s.heap_bytes - MIN(s.heap_bytes, n->frames);
    if (n->frames_most > s.heap_bytes)
        l->outsize_bytes = s.heap_bytes / OUTSIZE_PART;
    return s;
}

static int memory_refuse(struct sheaf_reader *r, const struct needs *n, uint64_t least)
{
    const uint64_t cache = r->options.memory_bytes - r->load.budget.limit;

    err_set(&r->error, SHEAF_ERR_LIMIT, "the memory budget is %" PRIu64 " byte%s, but at least %"
            PRIu64 " are needed: %" PRIu64 " for the largest sample and its index, the rest for a "
            "shuffle buffer of %" PRIu64 " sample%s in %u lane%s", r->options.memory_bytes,
            plural(r->options.memory_bytes), least + cache, n->reserve, n->slots, plural(n->slots),
            r->own_lanes, plural(r->own_lanes));
    return err_because(&r->error, SHEAF_ERR_LIMIT, SHEAF_REASON_MEMORY);
}

/* Checks that the tables and the reserve (memory to read any single record) fit into the budget. If
 * they do not fit, frees the index files that are kept in memory. If they still do not fit,
 * computes the exact size of the reserve, which may be smaller than the estimate. */
static int fit_least(struct sheaf_reader *r, struct needs *n)
{
    const uint64_t limit = r->load.budget.limit;
    uint64_t least = n->tables + n->reserve;

    if (least > limit - (r->load.budget.used - r->load.heap->size)) {
        index_files_drop(&r->load.shards.indexes);
        columns_drop_indexes(r->columns);
    }
    if (least > limit && r->alone_bytes == 0)
        memory_find_alone(r, n);
    least = n->tables + n->reserve;
    return least <= limit ? SHEAF_OK : memory_refuse(r, n, least);
}

static int fit_indexed(struct sheaf_reader *r, struct needs *n, struct shares *shares)
{
    struct loader *l = &r->load;
    const int code = fit_least(r, n);
    uint64_t left, sections, idle;

    if (code != SHEAF_OK)
        return code;
    left = l->budget.limit - (l->budget.used - l->heap->size) - n->tables - n->reserve;
    l->coming_count = n->sections > left / 2 ? 0 : l->queue_count - l->lane_count;
    l->shards.idle_most = SHARDS_MOST;
    sections = MIN(n->sections, left / 2);
    idle = left / IDLE_PART;
    left -= sections;
    if (fit_chunks(r, n, left) && l->keep != 0)
        idle = MIN(idle, IDLE_BYTES);
    l->shards.idle_most_bytes = MAX(sections, idle);
    if (loader_reads_in_steps(l)) {
        l->coming_count = 0;
        left -= n->foresight;
    }
    *shares = share_out(l, n, left);
    if (r->dataset->is_remote)
        fit_window(l);
    return SHEAF_OK;
}

static void fit_streams(struct sheaf_reader *r, struct needs *n, struct shares *shares)
{
    struct loader *l = &r->load;
    const uint64_t limit = l->budget.limit;

    l->read_most = STREAM_READ_BYTES;
    for (uint32_t i = 0; i < l->lane_count; i++)
        n->tables += stream_memory(l->queues[i].stream);
    shares->heap_bytes = limit - MIN(n->tables, limit);
    shares->lend_bytes = shares->heap_bytes - MIN(shares->heap_bytes, n->frames);
}

/* Returns a limit for one lane (a sequence of samples): how many samples of its shuffle buffer may
 * be in memory. Samples that were read but have not entered the buffer are not included. */
static uint64_t lane_most(const struct loader *l, const struct needs *n)
{
    const uint64_t bytes = l->heap->most_bytes - passing_bytes(l, l->heap->most_bytes);
    const uint64_t each = MAX(n->frames * 4 / 5 / MAX(n->slots, 1), 1);

    return MAX(bytes / l->lane_count / each, 1);
}

int memory_share_out(struct sheaf_reader *r)
{
    struct loader *l = &r->load;
    struct shares shares = { 0 };
    struct needs n;
    int code = needs_of(r, &n, &r->error);

    if (code != SHEAF_OK)
        return code;
    if (r->dataset->is_stream)
        fit_streams(r, &n, &shares);
    else
        code = fit_indexed(r, &n, &shares);
    /* The buffers of a finished read are kept for a later read if they have at most
     * spare_most_bytes. This is a rough estimate of what a read of usual size needs. Larger buffers
     * had an unusually large sample, and are freed. */
    l->spare_most_bytes = 3 * l->read_most + 2 * n.block;
    if (code == SHEAF_OK)
        code = fit_heap(r, &shares);
    if (code == SHEAF_OK && !budget_take(&l->budget, n.tables))
        code = err_set(&r->error, SHEAF_ERR_LIMIT, "a shuffle buffer of %" PRIu64 " samples does "
                       "not fit into the memory budget of %" PRIu64 " bytes", n.slots,
                       l->budget.limit);
    if (code != SHEAF_OK)
        return code;
    r->table_bytes = n.tables;
    r->lane_most = n.foresight == 0 || !loader_reads_in_steps(l) ? 0 : lane_most(l, &n);
    for (uint32_t i = 0; code == SHEAF_OK && r->lane_most != 0 && i < l->lane_count; i++)
        code = lane_foresee(&r->lanes[i], r->lane_most, &r->error);
    if (code != SHEAF_OK)
        return code;
    l->budget.reserve = r->dataset->is_stream ? 0 : n.reserve;
    return SHEAF_OK;
}
