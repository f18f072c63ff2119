/* SPDX-License-Identifier: MIT
 *
 * Opens the columns of a shard. A shard of a column may have the records for several shards of the
 * base, the data set to which the column was added. So only a part of the column's index section is
 * read.
 *
 * If a column is small, all its records may be read when the shard is opened. Otherwise each read
 * of samples needs another read. */
#include "reader/load/shards.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"

/* Spare memory is used again for kept records that need n bytes if it has at least n, and at most
 * n + n / ROOM_PART + ROOM_MORE bytes. */
#define ROOM_PART 8u
#define ROOM_MORE ((uint64_t)16 << 10)

/* ---- Memory --------------------------------------------------------------------------------- */

/* Returns the memory in bytes for the kept records of the first `count` columns. */
static uint64_t kept_bytes(const struct shards *s, uint32_t number, size_t count)
{
    const uint64_t samples = s->dataset->manifest.shards[number].samples;
    uint64_t bytes = 0;

    for (size_t i = 0; s->keep_columns && i < count; i++)
        bytes += columns_kept_most(s->columns, number, i, samples);
    return bytes;
}

uint64_t shards_kept_bytes(const struct shards *s, uint32_t number)
{
    return s->keep_columns ? kept_bytes(s, number, s->columns->count) : 0;
}

/* Returns true if the room has `bytes` bytes and is not much larger. */
static bool suits(const struct kept_room *room, uint64_t bytes)
{
    return room->bytes >= bytes && room->bytes - bytes <= bytes / ROOM_PART + ROOM_MORE;
}

static struct kept_room *remove_room(struct shards *s, struct kept_room **at)
{
    struct kept_room *room = *at;

    *at = room->next;
    s->rooms_bytes -= room->bytes;
    return room;
}

int shards_take_room(struct shard *shard, struct sheaf_error *err)
{
    struct shards *s = shard->owner;
    const uint64_t bytes = shards_kept_bytes(s, shard->number);

    if (bytes == 0)
        return SHEAF_OK;
    for (struct kept_room **at = &s->rooms; *at != NULL; at = &(*at)->next)
        if (suits(*at, bytes)) {
            shard->room = remove_room(s, at);
            return SHEAF_OK;
        }
    if (s->rooms != NULL)       /* Otherwise there would be more and more rooms of other sizes. */
        free(remove_room(s, &s->rooms));
    shard->room = malloc(sizeof(*shard->room) + bytes);
    if (shard->room == NULL)
        return err_memory(err, bytes);
    shard->room->bytes = bytes;
    return SHEAF_OK;
}

void shards_give_room(struct shard *shard)
{
    struct shards *s = shard->owner;

    if (shard->room == NULL)
        return;
    shard->room->next = s->rooms;
    s->rooms = shard->room;
    s->rooms_bytes += shard->room->bytes;
    shards_trim_rooms(s, 0);
}

void shards_trim_rooms(struct shards *s, uint64_t more)
{
    while (s->rooms != NULL) {
        const uint64_t left = s->budget->limit - s->budget->used;

        if (s->rooms_bytes <= left - MIN(more, left))
            return;
        free(remove_room(s, &s->rooms));
    }
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

/* Reads the records of a column into `data` and keeps them, if they fit into `room` bytes. If a
 * record is damaged, keeps none of them. Each record is then read together with its sample, and the
 * damage is reported at that time. */
static int keep_records(struct shard_column *c, uint64_t samples, uint8_t *data, uint64_t room,
                        struct sheaf_error *err)
{
    const uint64_t bytes = c->offsets[samples] - c->offsets[0];
    int code;

    if (bytes == 0 || bytes > room)
        return SHEAF_OK;
    code = store_read(c->object, c->offsets[0], data, bytes, err);
    if (code != SHEAF_OK || !are_right(c, data, samples)) {
        store_distrust(c->object, c->offsets[0], bytes);
        return code;
    }
    store_close(c->object);
    c->object = NULL;
    c->kept = data;
    return SHEAF_OK;
}

static int shards_columns_open_column(struct shard *shard, size_t column, struct sheaf_error *err)
{
    const struct columns *columns = shard->owner->columns;
    const struct column_place *place = columns_place(columns, shard->number, column);
    struct shard_column *c = &shard->columns[column];
    const uint64_t samples = shard->section->samples;
    const struct manifest_shard *m;
    int code;

    if (place->layer == NULL)
        return SHEAF_OK;
    m = &place->layer->manifest.shards[place->shard];
    c->url = place->layer->urls[place->shard];
    c->first = place->first;
    code = read_index(shard, column, samples, err);
    if (code == SHEAF_OK)
        code = listed_open(shard->owner->cache, place->layer, c->url, m->xxh3, m->bytes,
                           &c->object, err);
    if (code == SHEAF_OK && shard->room != NULL)
        code = keep_records(c, samples,
                            shard->room->data + kept_bytes(shard->owner, shard->number, column),
                            columns_kept_most(columns, shard->number, column, samples), err);
    return code;
}

int shards_open_columns(struct shard *shard, struct sheaf_error *err)
{
    const struct columns *columns = shard->owner->columns;
    int code = SHEAF_OK;

    if (columns == NULL)
        return SHEAF_OK;
    if (shard->section->crcs == NULL)
        return err_because(err, err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: its index has no "
                                        "checksums, which show the records of a column to belong "
                                        "to its samples", shard->object->url),
                           SHEAF_REASON_NOT_INDEXED);
    shard->columns = calloc(columns->count, sizeof(shard->columns[0]));
    if (shard->columns == NULL)
        return err_memory(err, columns->count * sizeof(shard->columns[0]));
    shard->column_count = columns->count;
    for (size_t i = 0; i < columns->count && code == SHEAF_OK; i++)
        code = shards_columns_open_column(shard, i, err);
    return code;
}

void shards_close_columns(struct shard *shard)
{
    for (size_t i = 0; i < shard->column_count; i++) {
        store_close(shard->columns[i].object);
        free(shard->columns[i].offsets);
    }
    free(shard->columns);
}
