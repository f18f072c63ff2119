/* SPDX-License-Identifier: MIT
 *
 * Opens index files and reads their sections; see index_files.h. */
#include "reader/dataset/index_files.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"

/* Largest number of index files that are kept open. A data set may have a thousand parts with an
 * index file each, but the number of open files is limited. If a data set has more index files than
 * this, each of them is opened only while it is read. */
#define INDEXES_OPEN 16u

/* The index of one part of a source. */
struct index_file {
    /* The open index file of a part of the data set. NULL if the part has no index, or if the file
     * is opened only while it is read. */
    struct store_object *object;
    /* The whole content of the index, if it is remote and small. Otherwise NULL. */
    uint8_t *data;
};

/* Sets `proof` to a hash that changes if a shard of `source` or its index changes. If `d` is a
 * union (a data set made of several sources), `source` is one of its sources; otherwise `source` is
 * `d`. The manifest of a union lists the shards of all its sources. So the hash is computed from
 * the entries of the source's shards in the manifest of `d`. */
void index_files_prove(const struct sheaf_dataset *d, const struct sheaf_dataset *source,
                       char proof[HASH_TEXT_BYTES])
{
    const uint32_t first = d->sources == NULL ? 0 : source->first_shard;
    const uint32_t end = d->sources == NULL ? (uint32_t)d->manifest.shard_count
                                            : source->end_shard;
    XXH128_hash_t sum = { 0 };

    for (uint32_t i = first; i < end; i++) {
        const struct manifest_shard *m = &d->manifest.shards[i];

        hash_add(&sum, m->xxh3, strlen(m->xxh3));
        hash_add(&sum, m->index_xxh3, strlen(m->index_xxh3));
        hash_add(&sum, &m->index_bytes, sizeof(m->index_bytes));
    }
    hash_text(sum, proof);
}

/* Reads a remote index file completely into memory if it is small. Then shards can be opened
 * without further requests for the index. */
static int load_whole(struct index_files *f, struct index_file *file, struct sheaf_error *err)
{
    const uint64_t bytes = file->object->bytes;

    if (bytes == 0 || bytes > MIN((uint64_t)file->object->block_bytes, f->budget->limit / 16)
        || !budget_take(f->budget, bytes))
        return SHEAF_OK;
    file->data = malloc(bytes);
    if (file->data == NULL) {
        budget_give(f->budget, bytes);
        return err_memory(err, bytes);
    }
    return store_read(file->object, 0, file->data, bytes, err);
}

static int index_files_open_part(struct index_files *f, const struct sheaf_dataset *source,
                                 size_t part, struct sheaf_error *err)
{
    struct index_file *file = &f->files[dataset_first_part(f->dataset, source) + part];
    char proof[HASH_TEXT_BYTES];
    int code;

    index_files_prove(f->dataset, source, proof);
    code = listed_open(f->cache, source, source->parts[part].index_url, proof,
                       source->parts[part].index_bytes, &file->object, err);
    return code == SHEAF_OK && file->object->is_remote ? load_whole(f, file, err) : code;
}

int index_files_open(struct index_files *f, const struct sheaf_dataset *dataset,
                     struct budget *budget, struct cache *cache, struct sheaf_error *err)
{
    const size_t count = dataset_part_total(dataset);
    int code = SHEAF_OK;

    *f = (struct index_files){ .dataset = dataset, .budget = budget, .cache = cache };
    f->files = calloc(count + 1, sizeof(f->files[0]));
    if (f->files == NULL)
        return err_memory(err, count * sizeof(f->files[0]));
    for (size_t i = 0; i < dataset_source_count(dataset) && count <= INDEXES_OPEN; i++) {
        const struct sheaf_dataset *source = dataset_source_at(dataset, i);

        for (size_t p = 0; p < source->part_count && code == SHEAF_OK; p++)
            code = index_files_open_part(f, source, p, err);
    }
    return code;
}

void index_files_drop(struct index_files *f)
{
    for (size_t i = 0; f->files != NULL && i < dataset_part_total(f->dataset); i++) {
        struct index_file *file = &f->files[i];

        if (file->data != NULL)
            budget_give(f->budget, file->object->bytes);
        free(file->data);
        file->data = NULL;
    }
}

void index_files_close(struct index_files *f)
{
    index_files_drop(f);
    for (size_t i = 0; f->files != NULL && i < dataset_part_total(f->dataset); i++)
        store_close(f->files[i].object);
    free(f->files);
    f->files = NULL;
}

/* ---- Sections -------------------------------------------------------------------------------- */

static int index_files_parse(const struct sheaf_dataset *d, uint32_t shard, const uint8_t *data,
                             struct index_section **section, struct sheaf_error *err)
{
    const struct manifest_shard *m = &d->manifest.shards[shard];

    if (index_parse(data, m->index_bytes, m->samples, section, err) != SHEAF_OK)
        return err_prefix(err, "%s: the section of %s: ", dataset_part(d, shard)->index_url,
                          m->name);
    return dataset_check_section(d, shard, data, err);
}

/* Opens the index file of a shard. The file belongs to `source`, which is a source of the data set
 * `d`. */
static int open_file(struct cache *cache, const struct sheaf_dataset *d, uint32_t shard,
                     const struct sheaf_dataset *source, struct store_object **object,
                     struct sheaf_error *err)
{
    const struct dataset_part *part = dataset_part(d, shard);
    char proof[HASH_TEXT_BYTES];

    index_files_prove(d, source, proof);
    return listed_open(cache, source, part->index_url, proof, part->index_bytes, object, err);
}

int index_bytes_open(const struct index_files *f, const struct sheaf_dataset *d, uint32_t shard,
                     struct cache *cache, struct index_bytes *b, struct sheaf_error *err)
{
    const struct sheaf_dataset *source = dataset_source(d, shard);
    const struct dataset_part *part = dataset_part(d, shard);
    const struct index_file *file = f->files == NULL ? NULL
                                  : &f->files[dataset_first_part(d, source) +
                                              (size_t)(part - source->parts)];

    *b = (struct index_bytes){ .offset = d->manifest.shards[shard].index_offset -
                                         part->index_offset };
    if (file != NULL && file->data != NULL)
        b->data = file->data + b->offset;
    else if (file != NULL && file->object != NULL)
        b->object = file->object;
    else
        b->is_own = true;
    return b->is_own ? open_file(cache, d, shard, source, &b->object, err) : SHEAF_OK;
}

int index_bytes_get(const struct index_bytes *b, uint64_t at, size_t size, const uint8_t **data,
                    uint8_t **room, struct sheaf_error *err)
{
    *room = NULL;
    *data = b->data + at;
    if (b->data != NULL)
        return SHEAF_OK;
    *data = *room = malloc(size + 1);
    return *room == NULL ? err_memory(err, size)
                         : store_read(b->object, b->offset + at, *room, size, err);
}

void index_bytes_close(struct index_bytes *b)
{
    if (b->is_own)
        store_close(b->object);
}

int index_files_section(const struct index_files *f, uint32_t shard,
                        struct index_section **section, struct sheaf_error *err)
{
    struct index_bytes b;
    const uint8_t *data;
    uint8_t *room = NULL;
    int code = index_bytes_open(f, f->dataset, shard, f->cache, &b, err);

    if (code == SHEAF_OK)
        code = index_bytes_get(&b, 0, f->dataset->manifest.shards[shard].index_bytes, &data,
                               &room, err);
    if (code == SHEAF_OK)
        code = index_files_parse(f->dataset, shard, data, section, err);
    free(room);
    index_bytes_close(&b);
    return code;
}
