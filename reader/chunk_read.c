/* SPDX-License-Identifier: MIT
 *
 * The job that reads and checks a chunk; see chunk.h. */
#include "reader/chunk.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "base/flag.h"
#include "reader/unpack.h"
#include "store/interrupt.h"

/* Runs that are one read, on their way through the job. */
struct pass {
    struct chunk *chunk;
    const struct run *runs;
    size_t run_count;
    struct run whole;           /* from their first record to their last */
    const struct index_section *section;
    struct chunk_extent extent; /* of the whole */
    struct item *items;         /* of the runs, in the chunk's table */
    uint8_t *data;              /* where the whole's bytes go */
    char *names;                /* and its .lst lines; NULL: it has none */
};

static const char *url_of(const struct pass *p)
{
    return p->chunk->dataset->urls[p->whole.shard->number];
}

/* What the manifest says that the shard has. */
static uint64_t expected_bytes(const struct pass *p)
{
    return p->chunk->dataset->manifest.shards[p->whole.shard->number].bytes;
}

/* Notes that the record of this item is bad; what `error` says is put behind its place. */
static int mark_bad(struct pass *p, struct item *item, uint64_t record,
                    const struct sheaf_error *error)
{
    struct sheaf_error *bad = malloc(sizeof(*bad));

    if (bad == NULL)
        return err_memory(&p->chunk->error, sizeof(*bad));
    bad->code = error->code;
    err_set(bad, error->code, "%s: offset %" PRIu64 ", record %" PRIu64 ": %s", url_of(p),
            p->section->offsets[record], record, error->message);
    item->bad = bad;
    return SHEAF_OK;
}

/* How much of the stored bytes [begin, end) there is: a truncated shard has less. */
static uint64_t stored_there(const struct shard *shard, uint64_t begin, uint64_t end)
{
    const uint64_t there = shard->object->bytes;

    return MIN(end, there) - MIN(begin, there);
}

/* Reads, unless it was fetched. */
static int read_object(struct chunk *chunk, struct store_object *object,
                       const struct fetch *fetch, uint64_t offset, void *data, uint64_t size)
{
    chunk->read_bytes += size;
    if (size == 0)
        return SHEAF_OK;
    if (!chunk->is_fetched)
        return store_read(object, offset, data, (size_t)size, &chunk->error);
    if (fetch->read.code != SHEAF_OK)
        chunk->error = fetch->read.error;
    return fetch->read.code;
}

static int read_stored(struct pass *p, uint64_t begin, uint64_t end, uint8_t *data,
                       uint64_t *have)
{
    *have = stored_there(p->whole.shard, begin, end);
    return read_object(p->chunk, p->whole.shard->object, &p->chunk->data_fetch, begin, data,
                       *have);
}

/* Marks the records that reach into raw bytes [begin, end) as bad. */
static int mark_range(struct pass *p, uint64_t begin, uint64_t end,
                      const struct sheaf_error *error)
{
    struct item *item = p->items;
    int code = SHEAF_OK;

    for (size_t r = 0; r < p->run_count; r++) {
        const struct run *run = &p->runs[r];

        for (size_t i = 0; code == SHEAF_OK && i < run->count; i++, item++) {
            const uint64_t record = run->first + i, from = p->section->offsets[record];
            const uint64_t to = from + index_frame_bytes(p->section, record);

            if (from < end && to > begin && item->bad == NULL)
                code = mark_bad(p, item, record, error);
        }
    }
    return code;
}

/* The shard does not have raw bytes [begin, end). */
static int mark_truncated(struct pass *p, uint64_t begin, uint64_t end)
{
    struct sheaf_error error;

    err_set(&error, SHEAF_ERR_TRUNCATED, "the shard has %" PRIu64 " byte%s, but %" PRIu64 " are "
            "expected", p->whole.shard->object->bytes, plural(p->whole.shard->object->bytes),
            expected_bytes(p));
    return mark_range(p, begin, end, &error);
}

static int read_plain(struct pass *p)
{
    const struct chunk_extent *e = &p->extent;
    uint64_t have = 0;
    int code = read_stored(p, e->begin, e->end, p->data, &have);

    if (code == SHEAF_OK && have < e->end - e->begin)
        code = mark_truncated(p, e->begin + have, e->end);
    return code;
}

static const struct sheaf_dataset *source_of(const struct pass *p)
{
    return dataset_source(p->chunk->dataset, p->whole.shard->number);
}

/* Unpacks parts of a block, a little at a time. */
static int unpack(struct pass *p, struct unpack *u, struct sheaf_error *error)
{
    int code;

    u->codec = source_of(p)->codec;
    u->single = source_of(p)->manifest.single_member;
    code = unpack_parts(u, error);
    p->chunk->read_bytes += u->read_bytes;
    if (code != SHEAF_OK && !u->is_damaged)
        p->chunk->error = *error;
    return code;
}

/* Marks the records that did not come with a part of the block. */
static int mark_missing(struct pass *p, uint64_t block, const struct unpack *u,
                        const struct unpack_part *part, const struct sheaf_error *error)
{
    const struct index_block *b = &p->section->blocks[block];
    const uint64_t begin = b[0].raw_offset + part->skip;
    struct sheaf_error placed = *error;

    if (u->end < b[1].stored_offset)
        return mark_truncated(p, begin + part->got, begin + part->size);
    err_prefix(&placed, "the %s block at stored offset %" PRIu64 ": ", u->codec->name,
               b[0].stored_offset);
    return mark_range(p, begin + part->got, begin + part->size, &placed);
}

/* Unpacks raw bytes [begin, begin + size) of a block, and marks the records that do not come. */
static int unpack_some(struct pass *p, uint64_t block, uint64_t begin, uint64_t size,
                       struct unpack *u)
{
    struct unpack_part part = { .skip = begin - p->section->blocks[block].raw_offset,
                                .raw = p->data + (begin - p->extent.begin), .size = size };
    struct sheaf_error error;
    int code;

    u->parts = &part;
    u->count = 1;
    code = unpack(p, u, &error);
    return code != SHEAF_OK && u->is_damaged ? mark_missing(p, block, u, &part, &error) : code;
}

/* `stored` begins with the run's first block, and has `have` bytes.  Of a block that is not whole,
 * or damaged, what can be unpacked is. */
static int unpack_block(struct pass *p, uint64_t block, const uint8_t *stored, uint64_t have)
{
    const struct index_block *b = &p->section->blocks[block];
    const struct sheaf_dataset *d = source_of(p);
    const uint64_t skip = b[0].stored_offset - p->section->blocks[p->extent.block].stored_offset;
    const size_t size = b[1].stored_offset - b[0].stored_offset;
    const uint64_t raw_size = b[1].raw_offset - b[0].raw_offset;
    const uint64_t there = MIN(size, have - MIN(have, skip));
    struct unpack u = { .stored = stored + skip, .begin = b[0].stored_offset,
                        .end = b[0].stored_offset + there };
    struct sheaf_error error;

    if (there == size
        && d->codec->decompress(d->manifest.single_member, stored + skip, size,
                                p->data + (b[0].raw_offset - p->extent.begin), (size_t)raw_size,
                                &error) == SHEAF_OK)
        return SHEAF_OK;
    return unpack_some(p, block, b[0].raw_offset, raw_size, &u);
}

static int read_packed(struct pass *p)
{
    const struct chunk_extent *e = &p->extent;
    const uint64_t begin = p->section->blocks[e->block].stored_offset;
    const uint64_t end = p->section->blocks[e->block_end].stored_offset;
    uint8_t *stored = chunk_room(&p->chunk->kept_stored,
                                 chunk_stored_memory(&p->whole, e, p->chunk->in_pieces),
                                 &p->chunk->error);
    struct unpack pieces = { .object = p->whole.shard->object, .begin = begin, .room = stored,
                             .end = begin + stored_there(p->whole.shard, begin, end) };
    uint64_t have;
    int code;

    if (stored == NULL)
        return SHEAF_ERR_MEMORY;
    if (p->chunk->in_pieces)
        return unpack_some(p, e->block, e->begin, e->end - e->begin, &pieces);
    code = read_stored(p, begin, end, stored, &have);
    for (uint64_t i = e->block; code == SHEAF_OK && i < e->block_end; i++)
        code = unpack_block(p, i, stored, have);
    return code;
}

static int read_names(struct pass *p)
{
    const struct shard *shard = p->whole.shard;
    const uint64_t size = chunk_names_bytes(p->section, p->whole.first, p->whole.count);
    const uint64_t offset = size == 0 ? 0 : p->section->name_offsets[p->whole.first];

    if (size == 0 || (shard->names == NULL && shard->lines == NULL)) {
        p->names = NULL;
        return SHEAF_OK;
    }
    if (shard->lines == NULL)
        return read_object(p->chunk, shard->names, &p->chunk->names_fetch, offset, p->names,
                           size);
    memcpy(p->names, shard->lines + offset, size);
    return SHEAF_OK;
}

/* ---- Checking ------------------------------------------------------------------------------- */

/* Where the record's item lies in the chunk's buffers. */
static void place_item(struct pass *p, struct item *item, uint64_t record)
{
    const struct index_section *s = p->section;

    item->shard = p->whole.shard->number;
    item->record = record;
    item->data = p->data + (s->offsets[record] - p->extent.begin);
    item->size = index_frame_bytes(s, record);
    if (!item->owns)
        item->piece = p->chunk->piece;
    item->has_name = p->names != NULL;
    item->offset = s->offsets[record];
    if (item->has_name) {       /* each line with its newline */
        item->name = p->names + (s->name_offsets[record] - s->name_offsets[p->whole.first]);
        item->name_size = (uint32_t)(s->name_offsets[record + 1] - s->name_offsets[record]) - 1;
    }
}

static int check_item(struct pass *p, struct item *item)
{
    const struct index_section *s = p->section;
    struct sheaf_error error;
    uint32_t crc;

    if (item->bad != NULL)
        return SHEAF_OK;
    if (dataset_source(p->chunk->dataset, item->shard)->format->check(item->data, item->size, &crc,
                                                                       &error) != SHEAF_OK)
        return mark_bad(p, item, item->record, &error);
    if (item->has_name && item->name[item->name_size] != '\n') {
        err_set(&error, SHEAF_ERR_CORRUPT, "its line in the .lst ends with byte 0x%02x, not with a "
                "newline", (uint8_t)item->name[item->name_size]);
        return mark_bad(p, item, item->record, &error);
    }
    if (item->has_name)
        crc = crc32c(crc, item->name, item->name_size);
    if (s->crcs != NULL && crc != s->crcs[item->record]) {
        err_set(&error, SHEAF_ERR_CORRUPT, "CRC-32C 0x%08x, but the index has 0x%08x", crc,
                s->crcs[item->record]);
        return mark_bad(p, item, item->record, &error);
    }
    return SHEAF_OK;
}

/* Moves a frame, and its name, into the piece that is there for it. */
static void move_item(struct item *item)
{
    if (item->data != item->piece)
        memcpy(item->piece, item->data, item->size);
    item->data = item->piece;
    if (item->has_name)
        item->name = memcpy(item->piece + item->size, item->name, item->name_size);
}

static int finish_item(struct pass *p, struct item *item, uint64_t record)
{
    int code;

    if (p->chunk->is_picked && !item->owns)
        return SHEAF_OK;
    place_item(p, item, record);
    code = check_item(p, item);
    if (p->chunk->own_frames && item->bad == NULL)
        move_item(item);
    return code;
}

static int finish_items(struct pass *p)
{
    struct item *item = p->items;
    int code = SHEAF_OK;

    for (size_t r = 0; r < p->run_count; r++)
        for (size_t i = 0; code == SHEAF_OK && i < p->runs[r].count; i++)
            code = finish_item(p, item++, p->runs[r].first + i);
    return code;
}

static int read_row_once(struct pass *p)
{
    int code = p->section->blocks == NULL ? read_plain(p) : read_packed(p);

    if (code == SHEAF_OK)
        code = read_names(p);
    return code == SHEAF_OK ? finish_items(p) : code;
}

/* ---- Damage on the way ----------------------------------------------------------------------- */

/* Returns whether bytes of a shard in a store afar have proved damaged, and forgets that they have:
 * they may have been damaged on their way, in which case they come right when they are read again,
 * past what a cache has kept of them. */
static bool forgives(struct pass *p, size_t item_count)
{
    const struct shard *shard = p->whole.shard;
    const struct index_section *s = p->section;
    const uint64_t begin = s->blocks == NULL ? p->extent.begin
                                             : s->blocks[p->extent.block].stored_offset;
    const uint64_t end = s->blocks == NULL ? p->extent.end
                                           : s->blocks[p->extent.block_end].stored_offset;
    bool found = false;

    for (size_t i = 0; shard->object->is_remote && i < item_count; i++) {
        struct item *item = &p->items[i];

        if (item->bad == NULL || item->bad->code != SHEAF_ERR_CORRUPT)
            continue;
        free(item->bad);
        item->bad = NULL;
        found = true;
    }
    if (!found)
        return false;
    store_distrust(shard->object, begin, end - begin);
    if (shard->names != NULL && shard->lines == NULL)
        store_distrust(shard->names, s->name_offsets[p->whole.first],
                       chunk_names_bytes(s, p->whole.first, p->whole.count));
    p->chunk->is_fetched = false;
    return true;
}

static int read_row(struct pass *p)
{
    size_t count = 0;
    int code = read_row_once(p);

    for (size_t i = 0; i < p->run_count; i++)
        count += p->runs[i].count;
    return code == SHEAF_OK && forgives(p, count) ? read_row_once(p) : code;
}

/* Where the chunk's frames go first. */
static uint8_t *data_room(struct chunk *chunk, uint64_t bytes)
{
    if (chunk->own_frames || chunk->is_alone || chunk->is_passing)
        return chunk_room(&chunk->kept_data, bytes, &chunk->error);
    return chunk->piece;
}

static int read_runs(struct chunk *chunk)
{
    const struct chunk_sizes z = chunk_sizes(chunk->runs, chunk->run_count, chunk->in_pieces);
    struct item *items = chunk->items;
    uint8_t *data = data_room(chunk, z.data);
    char *names = chunk_room(&chunk->kept_names, z.names, &chunk->error);
    int code = data == NULL || names == NULL ? SHEAF_ERR_MEMORY : SHEAF_OK;

    for (size_t i = 0; code == SHEAF_OK && i < chunk->run_count;) {
        struct pass p = { .chunk = chunk, .runs = chunk->runs + i, .items = items, .data = data,
                          .names = names };

        p.run_count = run_row(p.runs, chunk->run_count - i, &p.whole);
        p.section = p.whole.shard->section;
        p.extent = chunk_extent(&p.whole, chunk->in_pieces);
        code = read_row(&p);
        data += p.extent.end - p.extent.begin;
        names += chunk_names_bytes(p.section, p.whole.first, p.whole.count);
        for (size_t end = i + p.run_count; i < end; i++)
            items += chunk->runs[i].count;
    }
    return code;
}

/* ---- Records of one block ------------------------------------------------------------------- */

/* Of record i of a chunk whose records share a block. */
static struct pass pass_of(struct chunk *chunk, size_t i, char *names)
{
    const struct run *run = &chunk->runs[i];

    return (struct pass){ chunk, run, 1, *run, run->shard->section, chunk_extent(run, true),
                          &chunk->items[i], chunk->items[i].piece, names };
}

/* Where the stored bytes of the block come from. */
static int find_stored(struct chunk *chunk, struct unpack *u)
{
    struct pass p = pass_of(chunk, 0, NULL);
    const struct index_block *b = &p.section->blocks[p.extent.block];
    const uint64_t begin = b[0].stored_offset, end = b[1].stored_offset;
    uint8_t *stored = chunk_room(&chunk->kept_stored,
                                 chunk_shared_passing(&p.whole, chunk->in_pieces), &chunk->error);
    uint64_t have;

    if (stored == NULL)
        return SHEAF_ERR_MEMORY;
    u->begin = begin;
    u->end = begin + stored_there(p.whole.shard, begin, end);
    u->object = p.whole.shard->object;
    u->room = stored;
    if (chunk->in_pieces)
        return SHEAF_OK;
    u->stored = stored;
    return read_stored(&p, begin, end, stored, &have);
}

/* Unpacks all records, each into its piece. */
static int unpack_shared(struct chunk *chunk, struct unpack *u)
{
    struct pass first = pass_of(chunk, 0, NULL);
    struct sheaf_error error;
    int code = find_stored(chunk, u);

    if (code == SHEAF_OK)
        code = unpack(&first, u, &error);
    if (code == SHEAF_OK || !u->is_damaged)
        return code;
    code = SHEAF_OK;
    for (size_t i = u->done; code == SHEAF_OK && i < u->count; i++) {
        struct pass p = pass_of(chunk, i, NULL);

        code = mark_missing(&p, p.extent.block, u, &u->parts[i], &error);
    }
    return code;
}

static int read_shared_once(struct chunk *chunk)
{
    const size_t count = chunk->run_count;
    struct unpack_part *parts = chunk_room(&chunk->kept_data, count * sizeof(parts[0]),
                                           &chunk->error);
    char *names = chunk_room(&chunk->kept_names, chunk_sizes(chunk->runs, count, true).names,
                             &chunk->error);
    struct unpack u = { .parts = parts, .count = count };
    int code;

    if (parts == NULL || names == NULL)
        return SHEAF_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const struct pass p = pass_of(chunk, i, NULL);

        parts[i] = (struct unpack_part){
            .skip = p.extent.begin - p.section->blocks[p.extent.block].raw_offset,
            .size = p.extent.end - p.extent.begin, .raw = p.data,
        };
    }
    code = unpack_shared(chunk, &u);
    for (size_t i = 0; code == SHEAF_OK && i < count; i++) {
        struct pass p = pass_of(chunk, i, names);

        names += chunk_names_bytes(p.section, p.whole.first, 1);
        code = read_names(&p);
        if (code == SHEAF_OK)
            code = finish_items(&p);
    }
    return code;
}

static int read_shared(struct chunk *chunk)
{
    struct pass whole = pass_of(chunk, 0, NULL);
    const int code = read_shared_once(chunk);

    return code == SHEAF_OK && forgives(&whole, chunk->run_count) ? read_shared_once(chunk) : code;
}

void chunk_run(struct job *job)
{
    struct chunk *chunk = (struct chunk *)(void *)job;
    const volatile int *before = interrupt_watch(&chunk->cancelled);

    chunk->code = chunk->shares_block ? read_shared(chunk) : read_runs(chunk);
    interrupt_watch(before);
}

/* ---- Fetching remote chunks ----------------------------------------------------------------- */

static void one_less(struct chunk *chunk)
{
    if (atomic_fetch_sub(&chunk->fetches_left, 1) == 1)
        workers_submit(chunk->workers, &chunk->job);
}

static void fetch_done(struct store_read *read)
{
    one_less(((struct fetch *)(void *)read)->chunk);
}

static void start_fetch(struct chunk *chunk, struct fetch *fetch, struct store_object *object,
                        uint64_t offset, void *data, uint64_t size)
{
    if (size == 0)
        return;
    fetch->chunk = chunk;
    fetch->read = (struct store_read){ .object = object, .offset = offset, .data = data,
                                       .size = (size_t)size, .done = fetch_done };
    atomic_fetch_add(&chunk->fetches_left, 1);
    store_read_start(&fetch->read);
}

void chunk_fetch(struct chunk *chunk)
{
    const struct shard *shard = chunk->runs[0].shard;
    const struct index_section *s = shard->section;
    struct run whole;
    struct chunk_extent e;
    uint64_t names, begin, end;
    void *data, *lines;

    (void)run_row(chunk->runs, chunk->run_count, &whole);
    e = chunk_extent(&whole, false);
    names = shard->names == NULL ? 0 : chunk_names_bytes(s, whole.first, whole.count);
    begin = s->blocks == NULL ? e.begin : s->blocks[e.block].stored_offset;
    end = s->blocks == NULL ? e.end : s->blocks[e.block_end].stored_offset;
    data = s->blocks == NULL ? data_room(chunk, end - begin)
                             : chunk_room(&chunk->kept_stored, end - begin, &chunk->error);
    lines = chunk_room(&chunk->kept_names, names, &chunk->error);
    if (data == NULL || lines == NULL) {
        workers_submit(chunk->workers, &chunk->job);    /* it will fail there, and say so */
        return;
    }
    chunk->is_fetched = true;
    atomic_init(&chunk->fetches_left, 1);   /* this call's own, given up at its end */
    start_fetch(chunk, &chunk->data_fetch, shard->object, begin, data,
                stored_there(shard, begin, end));
    if (names != 0)
        start_fetch(chunk, &chunk->names_fetch, shard->names, s->name_offsets[whole.first],
                    lines, names);
    one_less(chunk);
}

void chunk_cancel(struct chunk *chunk)
{
    flag_raise(&chunk->cancelled);
    if (chunk->data_fetch.read.object != NULL)
        store_read_cancel(&chunk->data_fetch.read);
    if (chunk->names_fetch.read.object != NULL)
        store_read_cancel(&chunk->names_fetch.read);
}
