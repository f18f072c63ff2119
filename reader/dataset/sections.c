/* SPDX-License-Identifier: MIT
 *
 * Reads index sections one after another; see sections.h. */
#include "reader/dataset/sections.h"

#include <stdlib.h>

#include "base/error.h"
#include "formats/index.h"
#include "reader/dataset/index_files.h"

void sections_close(struct sections *s)
{
    store_close(s->index);
    cache_close(s->cache);
    s->index = NULL;
    s->cache = NULL;
    s->part = NULL;
}

static int open_index(struct sections *s, uint32_t shard, struct sheaf_error *err)
{
    const struct sheaf_dataset *source = dataset_source(s->dataset, shard);
    const struct dataset_part *part;
    char proof[HASH_TEXT_BYTES];
    int code;

    if (source->part_count == 0)
        return SHEAF_END;
    part = dataset_part(s->dataset, shard);
    if (part == s->part)
        return SHEAF_OK;
    sections_close(s);
    index_files_prove(s->dataset, source, proof);
    code = listed_open_cache(s->dataset, &s->cache, err);
    if (code == SHEAF_OK && s->cache == NULL)
        code = store_open(part->index_url, &s->index, err);
    else if (code == SHEAF_OK)
        code = listed_open(s->cache, source, part->index_url, proof, part->index_bytes, &s->index,
                           err);
    s->part = code == SHEAF_OK ? part : NULL;
    return code;
}

int sections_read(struct sections *s, uint32_t shard, uint8_t **data, struct sheaf_error *err)
{
    const struct manifest_shard *m = &s->dataset->manifest.shards[shard];
    int code = open_index(s, shard, err);

    *data = NULL;
    if (code != SHEAF_OK)
        return code;
    *data = malloc(m->index_bytes + 1);
    if (*data == NULL)
        return err_memory(err, m->index_bytes);
    code = store_read(s->index, m->index_offset - s->part->index_offset, *data, m->index_bytes,
                      err);
    if (code == SHEAF_OK)
        code = dataset_check_section(s->dataset, shard, *data, err);
    if (code != SHEAF_OK) {
        free(*data);
        *data = NULL;
    }
    return code;
}

int sections_parse(struct sections *s, uint32_t shard, struct index_section **section,
                   struct sheaf_error *err)
{
    const struct manifest_shard *m = &s->dataset->manifest.shards[shard];
    uint8_t *data;
    int code = sections_read(s, shard, &data, err);

    *section = NULL;
    if (code == SHEAF_OK)
        code = index_parse(data, (size_t)m->index_bytes, m->samples, section, err);
    free(data);
    return code;
}
