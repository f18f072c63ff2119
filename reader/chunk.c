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

void item_free(struct item *item, struct heap *heap)
{
    if (!item->lent)
        heap_give(heap, item->own);
    free(item->bad);
    memset(item, 0, sizeof(*item));
}

void chunk_reset(struct chunk *chunk, struct heap *heap)
{
    struct chunk empty = { .kept_data = chunk->kept_data, .kept_names = chunk->kept_names,
                           .kept_items = chunk->kept_items, .kept_stored = chunk->kept_stored };

    for (size_t i = chunk->taken; chunk->items != NULL && i < chunk->count; i++)
        item_free(&chunk->items[i], heap);
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
    free(chunk);
}

size_t chunk_kept_bytes(const struct chunk *chunk)
{
    return chunk->kept_data.capacity + chunk->kept_names.capacity + chunk->kept_items.capacity
           + chunk->kept_stored.capacity;
}

/* Room for `size` bytes in kept memory, whose content is not kept. */
static void *room(struct buf *kept, size_t size, struct sheaf_error *err)
{
    if (kept->capacity < size)
        buf_free(kept);
    kept->limit = SIZE_MAX;
    return buf_reserve(kept, size + 1, err) == SHEAF_OK ? kept->data : NULL;
}

/* The raw bytes that hold the chunk's records: [*begin, *end) of the shard.  With a codec, of
 * blocks [*block, *block_end). */
struct extent {
    uint64_t begin, end;
    uint64_t block, block_end;
};

static struct extent extent_of(const struct index_section *s, uint64_t first, size_t count)
{
    struct extent e = { .begin = s->offsets[first] };
    const uint64_t last = first + count - 1;

    e.end = s->offsets[last] + index_frame_bytes(s, last);
    if (s->blocks == NULL)
        return e;
    e.block = index_block_of(s, e.begin);
    e.block_end = index_block_of(s, e.end - 1) + 1;
    e.begin = s->blocks[e.block].raw_offset;
    e.end = s->blocks[e.block_end].raw_offset;
    return e;
}

static uint64_t names_bytes(const struct index_section *s, uint64_t first, size_t count)
{
    return s->name_offsets == NULL ? 0 : s->name_offsets[first + count] - s->name_offsets[first];
}

uint64_t chunk_memory(const struct shard *shard, uint64_t first, size_t count)
{
    const struct index_section *s = shard->section;
    const struct extent e = extent_of(s, first, count);
    uint64_t bytes = e.end - e.begin + names_bytes(s, first, count)
                   + count * sizeof(struct item) + sizeof(struct chunk);

    if (s->blocks != NULL)
        bytes += s->blocks[e.block_end].stored_offset - s->blocks[e.block].stored_offset;
    return bytes;
}

int chunk_take_pieces(struct chunk *chunk, struct heap *heap, struct sheaf_error *err)
{
    const struct index_section *s = chunk->shard->section;

    chunk->items = room(&chunk->kept_items, chunk->count * sizeof(chunk->items[0]), err);
    if (chunk->items == NULL)
        return SHEAF_ERR_MEMORY;
    memset(chunk->items, 0, chunk->count * sizeof(chunk->items[0]));
    for (size_t i = 0; chunk->own_frames && i < chunk->count; i++) {
        const uint64_t record = chunk->first + i;

        chunk->items[i].own = heap_take(heap, index_frame_bytes(s, record)
                                              + names_bytes(s, record, 1));
        if (chunk->items[i].own == NULL)
            return SHEAF_END;
    }
    return SHEAF_OK;
}

/* ---- Reading -------------------------------------------------------------------------------- */

/* Notes that record i of the chunk is bad; what `error` says is put behind its place. */
static int mark_bad(struct chunk *chunk, size_t i, const struct sheaf_error *error)
{
    const uint64_t record = chunk->first + i;
    struct sheaf_error *bad = malloc(sizeof(*bad));

    if (bad == NULL)
        return err_memory(&chunk->error, sizeof(*bad));
    bad->code = error->code;
    err_set(bad, error->code, "%s: offset %" PRIu64 ", record %" PRIu64 ": %s",
            chunk->dataset->urls[chunk->shard->number], chunk->shard->section->offsets[record],
            record, error->message);
    chunk->items[i].bad = bad;
    return SHEAF_OK;
}

/* How much of the stored bytes [begin, end) there is: a truncated shard has less. */
static uint64_t stored_there(const struct chunk *chunk, uint64_t begin, uint64_t end)
{
    const uint64_t there = chunk->shard->object->bytes;

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

static int read_stored(struct chunk *chunk, uint64_t begin, uint64_t end, uint8_t *data,
                       uint64_t *have)
{
    *have = stored_there(chunk, begin, end);
    return read_object(chunk, chunk->shard->object, &chunk->data_fetch, begin, data, *have);
}

/* Marks the records that reach into raw bytes [begin, end) as bad. */
static int mark_range(struct chunk *chunk, uint64_t begin, uint64_t end,
                      const struct sheaf_error *error)
{
    const struct index_section *s = chunk->shard->section;
    int code = SHEAF_OK;

    for (size_t i = 0; code == SHEAF_OK && i < chunk->count; i++) {
        const uint64_t from = s->offsets[chunk->first + i];
        const uint64_t to = from + index_frame_bytes(s, chunk->first + i);

        if (from < end && to > begin && chunk->items[i].bad == NULL)
            code = mark_bad(chunk, i, error);
    }
    return code;
}

/* The shard ends at stored byte `at`, before `expected`. */
static int mark_truncated(struct chunk *chunk, uint64_t begin, uint64_t end, uint64_t expected)
{
    struct sheaf_error error;

    err_set(&error, SHEAF_ERR_TRUNCATED, "the shard has %" PRIu64 " bytes, but %" PRIu64
            " are expected", chunk->shard->object->bytes, expected);
    return mark_range(chunk, begin, end, &error);
}

static int read_plain(struct chunk *chunk, const struct extent *e)
{
    uint64_t have = 0;
    int code;

    chunk->data = room(&chunk->kept_data, e->end - e->begin, &chunk->error);
    if (chunk->data == NULL)
        return SHEAF_ERR_MEMORY;
    code = read_stored(chunk, e->begin, e->end, chunk->data, &have);
    if (code == SHEAF_OK && have < e->end - e->begin)
        code = mark_truncated(chunk, e->begin + have, e->end,
                              chunk->dataset->manifest.shards[chunk->shard->number].bytes);
    return code;
}

static int unpack_block(struct chunk *chunk, const struct extent *e, uint64_t block,
                        const uint8_t *stored, uint64_t have)
{
    const struct index_block *b = &chunk->shard->section->blocks[block];
    const struct manifest *m = &chunk->dataset->manifest;
    const uint64_t skip = b[0].stored_offset - chunk->shard->section->blocks[e->block]
                                                   .stored_offset;
    const size_t size = b[1].stored_offset - b[0].stored_offset;
    const size_t raw_size = b[1].raw_offset - b[0].raw_offset;
    struct sheaf_error error;

    if (skip + size > have)
        return mark_truncated(chunk, b[0].raw_offset, b[1].raw_offset,
                              m->shards[chunk->shard->number].bytes);
    if (chunk->dataset->codec->decompress(m->single_member, stored + skip, size,
                                          chunk->data + (b[0].raw_offset - e->begin), raw_size,
                                          &error) == SHEAF_OK)
        return SHEAF_OK;
    err_prefix(&error, "the %s block at stored offset %" PRIu64 ": ",
               chunk->dataset->codec->name, b[0].stored_offset);
    return mark_range(chunk, b[0].raw_offset, b[1].raw_offset, &error);
}

static int read_packed(struct chunk *chunk, const struct extent *e)
{
    const struct index_block *blocks = chunk->shard->section->blocks;
    const uint64_t begin = blocks[e->block].stored_offset;
    const uint64_t end = blocks[e->block_end].stored_offset;
    uint8_t *stored = room(&chunk->kept_stored, end - begin, &chunk->error);
    uint64_t have;
    int code;

    chunk->data = room(&chunk->kept_data, e->end - e->begin, &chunk->error);
    if (stored == NULL || chunk->data == NULL)
        return SHEAF_ERR_MEMORY;
    code = read_stored(chunk, begin, end, stored, &have);
    for (uint64_t i = e->block; code == SHEAF_OK && i < e->block_end; i++)
        code = unpack_block(chunk, e, i, stored, have);
    return code;
}

static int read_names(struct chunk *chunk)
{
    const struct index_section *s = chunk->shard->section;
    const uint64_t size = names_bytes(s, chunk->first, chunk->count);

    if (chunk->shard->names == NULL || size == 0)
        return SHEAF_OK;
    chunk->names = room(&chunk->kept_names, size, &chunk->error);
    if (chunk->names == NULL)
        return SHEAF_ERR_MEMORY;
    return read_object(chunk, chunk->shard->names, &chunk->names_fetch,
                       s->name_offsets[chunk->first], chunk->names, size);
}

/* ---- Checking ------------------------------------------------------------------------------- */

/* Where item i lies in the chunk's buffers. */
static void place_item(struct chunk *chunk, const struct extent *e, size_t i)
{
    const struct index_section *s = chunk->shard->section;
    const uint64_t record = chunk->first + i;
    struct item *item = &chunk->items[i];

    item->shard = chunk->shard->number;
    item->record = record;
    item->data = chunk->data + (s->offsets[record] - e->begin);
    item->size = index_frame_bytes(s, record);
    if (chunk->names != NULL) {     /* each line with its newline */
        item->name = chunk->names + (s->name_offsets[record] - s->name_offsets[chunk->first]);
        item->name_size = (uint32_t)(s->name_offsets[record + 1] - s->name_offsets[record]) - 1;
    }
}

static int check_item(struct chunk *chunk, size_t i)
{
    const struct index_section *s = chunk->shard->section;
    struct item *item = &chunk->items[i];
    struct sheaf_error error;
    uint32_t crc;

    if (item->bad != NULL)
        return SHEAF_OK;
    if (chunk->dataset->format->check(item->data, item->size, &crc, &error) != SHEAF_OK)
        return mark_bad(chunk, i, &error);
    if (item->name != NULL && item->name[item->name_size] != '\n') {
        err_set(&error, SHEAF_ERR_CORRUPT, "its line in the .lst ends with byte 0x%02x, not with a "
                "newline", (uint8_t)item->name[item->name_size]);
        return mark_bad(chunk, i, &error);
    }
    if (item->name != NULL)
        crc = crc32c(crc, item->name, item->name_size);
    if (s->crcs != NULL && crc != s->crcs[item->record]) {
        err_set(&error, SHEAF_ERR_CORRUPT, "CRC-32C 0x%08x, but the index has 0x%08x", crc,
                s->crcs[item->record]);
        return mark_bad(chunk, i, &error);
    }
    return SHEAF_OK;
}

/* Moves a frame, and its name, into the piece that is there for it. */
static void move_item(struct item *item)
{
    memcpy(item->own, item->data, item->size);
    item->data = item->own;
    if (item->name != NULL)
        item->name = memcpy(item->own + item->size, item->name, item->name_size);
}

static int finish_items(struct chunk *chunk, const struct extent *e)
{
    int code = SHEAF_OK;

    for (size_t i = 0; code == SHEAF_OK && i < chunk->count; i++) {
        place_item(chunk, e, i);
        code = check_item(chunk, i);
        if (chunk->own_frames && chunk->items[i].bad == NULL)
            move_item(&chunk->items[i]);
    }
    return code;
}

void chunk_run(struct job *job)
{
    struct chunk *chunk = (struct chunk *)(void *)job;
    const struct extent e = extent_of(chunk->shard->section, chunk->first, chunk->count);
    int code = chunk->shard->section->blocks == NULL ? read_plain(chunk, &e)
                                                     : read_packed(chunk, &e);

    if (code == SHEAF_OK)
        code = read_names(chunk);
    if (code == SHEAF_OK)
        code = finish_items(chunk, &e);
    chunk->code = code;
}

/* ---- Fetching from afar --------------------------------------------------------------------- */

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
    const struct index_section *s = chunk->shard->section;
    const struct extent e = extent_of(s, chunk->first, chunk->count);
    const uint64_t names = chunk->shard->names == NULL ? 0
                         : names_bytes(s, chunk->first, chunk->count);
    const uint64_t begin = s->blocks == NULL ? e.begin : s->blocks[e.block].stored_offset;
    const uint64_t end = s->blocks == NULL ? e.end : s->blocks[e.block_end].stored_offset;
    void *data = room(s->blocks == NULL ? &chunk->kept_data : &chunk->kept_stored, end - begin,
                      NULL);
    void *lines = room(&chunk->kept_names, names, NULL);

    if (data == NULL || lines == NULL) {
        workers_submit(chunk->workers, &chunk->job);    /* it will fail there, and say so */
        return;
    }
    chunk->is_fetched = true;
    atomic_init(&chunk->fetches_left, 1);   /* this call's own, given up at its end */
    start_fetch(chunk, &chunk->data_fetch, chunk->shard->object, begin, data,
                stored_there(chunk, begin, end));
    if (names != 0)
        start_fetch(chunk, &chunk->names_fetch, chunk->shard->names,
                    s->name_offsets[chunk->first], lines, names);
    one_less(chunk);
}

void chunk_cancel(struct chunk *chunk)
{
    if (chunk->data_fetch.read.object != NULL)
        store_read_cancel(&chunk->data_fetch.read);
    if (chunk->names_fetch.read.object != NULL)
        store_read_cancel(&chunk->names_fetch.read);
}
