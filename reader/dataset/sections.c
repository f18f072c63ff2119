/* SPDX-License-Identifier: MIT
 *
 * Reads index sections one after another; see sections.h. */
#include "reader/dataset/sections.h"

#include <stdlib.h>

#include "base/error.h"

void sections_close(struct sections *s)
{
    store_close(s->index);
    s->index = NULL;
    s->part = NULL;
}

static int open_index(struct sections *s, uint32_t shard, struct sheaf_error *err)
{
    const struct dataset_part *part;
    int code;

    if (dataset_source(s->dataset, shard)->part_count == 0)
        return SHEAF_END;
    part = dataset_part(s->dataset, shard);
    if (part == s->part)
        return SHEAF_OK;
    sections_close(s);
    code = store_open(part->index_url, &s->index, err);
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
