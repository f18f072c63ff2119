/* SPDX-License-Identifier: MIT
 *
 * Reads the index of a column for one shard of its base (the data set to which the column belongs).
 *
 * A shard of a column may have the records for hundreds of shards of the base. Its index section
 * then has a range of entries for each of these shards. At first, the whole section is read, and
 * the position of each range is stored. Later, only the range for the requested shard is read. */
#include "reader/dataset/column_sets.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/error.h"

/* The known ranges in the index sections of columns. */
struct column_ranges {
    pthread_mutex_t lock;
    /* The place in the column's index of the entries for one shard of the base, one for each
     * struct column_place. `count` is 0 if the place is not known yet. Guarded by the lock. */
    struct index_range each[];
};

struct column_ranges *column_ranges_new(size_t count)
{
    struct column_ranges *r = calloc(1, sizeof(*r) + count * sizeof(r->each[0]));

    if (r != NULL)
        pthread_mutex_init(&r->lock, NULL);
    return r;
}

void column_ranges_free(struct column_ranges *r)
{
    if (r == NULL)
        return;
    pthread_mutex_destroy(&r->lock);
    free(r);
}

static struct index_range known_range(const struct columns *c, const struct column_place *place)
{
    struct index_range range;

    pthread_mutex_lock(&c->ranges->lock);
    range = c->ranges->each[place - c->places];
    pthread_mutex_unlock(&c->ranges->lock);
    return range;
}

static void note_range(const struct columns *c, const struct column_place *place,
                       const struct index_range *range)
{
    pthread_mutex_lock(&c->ranges->lock);
    c->ranges->each[place - c->places] = *range;
    pthread_mutex_unlock(&c->ranges->lock);
}

static const struct manifest_shard *column_shard_of(const struct column_place *place)
{
    return &place->layer->manifest.shards[place->shard];
}

/* Returns true if two shards of the base have their records in the same shard of the column. The
 * first shard of the base has the number `shard`. The second is the shard for which `place` was
 * made. */
static bool shares_shard(const struct columns *c, uint32_t shard, size_t column,
                         const struct column_place *place)
{
    const struct column_place *other = columns_place(c, shard, column);

    return shard < c->shard_count && other->layer == place->layer && other->shard == place->shard;
}

/* An error was found in an index section. Puts the location of this section before the error
 * message. */
static int place_index_error(const struct column_place *place, struct sheaf_error *err)
{
    return err_prefix(err, "%s: the section of %s: ",
                      dataset_part(place->layer, place->shard)->index_url,
                      column_shard_of(place)->name);
}

/* The column's shard with the records for shard number `shard` of the base may also have the
 * records for neighbouring shards of the base. Finds the ranges for all these shards of the base.
 * `data` is the index section of the column's shard. */
static int find_ranges(const struct columns *c, uint32_t shard, size_t column, const uint8_t *data,
                       struct sheaf_error *err)
{
    const struct column_place *place = columns_place(c, shard, column);
    const struct manifest_shard *m = column_shard_of(place);
    struct index_scan scan;
    int code;

    if (index_scan_begin(&scan, data, m->index_bytes, m->samples, err) != SHEAF_OK)
        return place_index_error(place, err);
    code = dataset_check_section(place->layer, place->shard, data, err);
    while (shard != 0 && shares_shard(c, shard - 1, column, place))
        shard--;
    for (; code == SHEAF_OK && shares_shard(c, shard, column, place); shard++) {
        const struct column_place *at = columns_place(c, shard, column);
        struct index_range range;

        if (index_scan_find(&scan, at->first, c->base->samples[shard], &range, err) != SHEAF_OK)
            return place_index_error(place, err);
        note_range(c, at, &range);
    }
    return code;
}

/* Reads the entries of the range `r`, which belongs to `place`. */
static int column_index_read_range(const struct column_place *place, const struct index_range *r,
                                   const struct index_bytes *bytes, uint64_t *offsets,
                                   uint32_t *sums, struct sheaf_error *err)
{
    uint8_t *sizes_room = NULL, *crcs_room = NULL;
    const uint8_t *sizes, *crcs;
    int code = index_bytes_get(bytes, r->sizes_at, r->sizes_bytes, &sizes, &sizes_room, err);

    if (code == SHEAF_OK)
        code = index_bytes_get(bytes, r->crcs_at, r->count * sizeof(uint32_t), &crcs, &crcs_room,
                               err);
    if (code == SHEAF_OK && index_parse_range(r, sizes, crcs, offsets, sums, err) != SHEAF_OK)
        code = place_index_error(place, err);
    free(sizes_room);
    free(crcs_room);
    return code;
}

/* Reads the whole section. Remembers where the entries for each shard of the base are, and reads
 * the entries for the shard `shard`. */
static int read_section(const struct columns *c, uint32_t shard, size_t column,
                        const struct index_bytes *bytes, uint64_t *offsets, uint32_t *sums,
                        struct sheaf_error *err)
{
    const struct column_place *place = columns_place(c, shard, column);
    struct index_bytes whole = { .data = NULL };
    struct index_range range;
    uint8_t *room;
    int code = index_bytes_get(bytes, 0, column_shard_of(place)->index_bytes, &whole.data, &room,
                               err);

    if (code == SHEAF_OK)
        code = find_ranges(c, shard, column, whole.data, err);
    if (code == SHEAF_OK) {
        range = known_range(c, place);
        code = column_index_read_range(place, &range, &whole, offsets, sums, err);
    }
    free(room);
    return code;
}

int columns_read_index(const struct columns *c, uint32_t shard, size_t column, struct cache *cache,
                       uint64_t *offsets, uint32_t *sums, struct sheaf_error *err)
{
    const struct column_place *place = columns_place(c, shard, column);
    const struct index_range range = known_range(c, place);
    struct index_bytes bytes;
    int code = index_bytes_open(place->indexes, place->layer, place->shard, cache, &bytes, err);

    if (code == SHEAF_OK)
        code = range.count == 0
             ? read_section(c, shard, column, &bytes, offsets, sums, err)
             : column_index_read_range(place, &range, &bytes, offsets, sums, err);
    index_bytes_close(&bytes);
    return code;
}
