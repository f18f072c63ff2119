/* SPDX-License-Identifier: MIT
 *
 * Finds keys that several samples have, by sorting. There is an entry for each sample: the hash of
 * its key, the number of its shard, and the number of its record. The entries are sorted by these
 * three numbers. So samples with the same key are adjacent, and the earliest comes first. */
#include "reader/dataset/repeated_keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/tempfile.h"
#include "formats/key_table.h"

#define SORT_BYTES  ((uint64_t)64 << 20)
/* Size in bytes of a place: the number of a shard and then the number of a record. The highest byte
 * of each number is first, so that places can be sorted by comparing bytes. */
#define PLACE_BYTES 12

/* The place of a sample: its shard and its record. */
struct key_place {
    uint8_t bytes[PLACE_BYTES];
};

static struct key_place repeated_keys_place_of(uint32_t shard, uint64_t record)
{
    struct key_place place;

    for (int i = 0; i < 4; i++)
        place.bytes[i] = (uint8_t)(shard >> (24 - 8 * i));
    for (int i = 0; i < 8; i++)
        place.bytes[4 + i] = (uint8_t)(record >> (56 - 8 * i));
    return place;
}

static uint64_t number_in(const uint8_t *bytes, int count)
{
    uint64_t number = 0;

    for (int i = 0; i < count; i++)
        number = number << 8 | bytes[i];
    return number;
}

int repeated_keys_open(struct repeated_keys *k, uint64_t memory_bytes, struct sheaf_error *err)
{
    char *directory = tempfile_directory(NULL);
    const int code = directory == NULL ? err_memory(err, 1)
                   : sort_open(&k->sort, directory, (size_t)MIN(memory_bytes / 16, SORT_BYTES),
                               err);

    free(directory);
    if (code == SHEAF_OK)
        pthread_mutex_init(&k->lock, NULL);
    return code;
}

int repeated_keys_add(struct repeated_keys *k, const char *key, uint32_t shard, uint64_t record,
                      struct sheaf_error *err)
{
    const struct key_place place = repeated_keys_place_of(shard, record);
    uint8_t *to, *value;
    int code;

    pthread_mutex_lock(&k->lock);
    code = sort_add(k->sort, key_hash(key), sizeof(place), 0, &to, &value, err);
    if (code == SHEAF_OK)
        memcpy(to, &place, sizeof(place));
    pthread_mutex_unlock(&k->lock);
    return code;
}

/* Writes the place of a sample (shard and record) to `first`, as text for messages. Appends the
 * sample's key if the sample can be read again. */
static void repeated_keys_describe(const struct sheaf_dataset *d, const struct key_place *place,
                                   char first[512])
{
    const uint32_t shard = (uint32_t)number_in(place->bytes, 4);
    const uint64_t record = number_in(place->bytes + 4, 8);
    const uint64_t number = d->first_numbers[shard] + record;
    const struct sheaf_sample *samples;
    struct sheaf_kept *kept = NULL;
    int size = snprintf(first, 512, "%.300s: record %" PRIu64, dataset_shown(d, shard), record);

    if (d->is_stream || d->damage_count != 0 || number >= dataset_samples(d) ||
        sheaf_dataset_read(d, &number, 1, NULL, &samples, &kept, NULL) != SHEAF_OK)
        return;
    snprintf(first + size, 512 - (size_t)size, ": %.150s", samples[0].key);
    sheaf_kept_free(kept);
}

int repeated_keys_end(struct repeated_keys *k, const struct sheaf_dataset *dataset,
                      uint64_t *count, char first[512], struct sheaf_error *err)
{
    struct sort_entry entry;
    struct key_place earliest;
    uint64_t before = 0;
    bool is_first = true;
    int code = sort_finish(k->sort, err);

    *count = 0;
    first[0] = '\0';
    while (code == SHEAF_OK && (code = sort_next(k->sort, &entry, err)) == SHEAF_OK) {
        if (!is_first && entry.order == before &&
            ((*count)++ == 0 || memcmp(entry.key, earliest.bytes, PLACE_BYTES) < 0))
            memcpy(earliest.bytes, entry.key, PLACE_BYTES);
        before = entry.order;
        is_first = false;
    }
    if (code == SHEAF_END && *count != 0)
        repeated_keys_describe(dataset, &earliest, first);
    return code == SHEAF_END ? SHEAF_OK : code;
}

void repeated_keys_close(struct repeated_keys *k)
{
    if (k->sort == NULL)
        return;
    sort_close(k->sort);
    k->sort = NULL;
    pthread_mutex_destroy(&k->lock);
}
