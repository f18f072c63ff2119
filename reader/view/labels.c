/* SPDX-License-Identifier: MIT
 *
 * The labels of all samples; see labels.h. */
#include "reader/view/labels.h"

#include <stdlib.h>

#include "base/error.h"
#include "store/store.h"

/* Gives labels (+ 1) the numbers that their classes have in the union. */
static void renumber(const struct sheaf_dataset *d, const struct sheaf_dataset *source,
                     uint32_t *labels, uint64_t count)
{
    const uint32_t base = (uint32_t)source->manifest.label_base;

    for (uint64_t i = 0; i < count && source->class_map != NULL; i++) {
        if (labels[i] > base && labels[i] - 1 - base < source->class_map_count)
            labels[i] = source->class_map[labels[i] - 1 - base] + 1
                      + (uint32_t)d->manifest.label_base;
    }
}

static int shard_labels(const struct sheaf_dataset *d, struct store_object *index, uint32_t i,
                        uint32_t *labels, struct sheaf_error *err)
{
    const struct manifest_shard *m = &d->manifest.shards[i];
    uint8_t *data = malloc(m->index_bytes + 1);
    int code;

    if (data == NULL)
        return err_memory(err, m->index_bytes);
    code = store_read(index, m->index_offset, data, m->index_bytes, err);
    if (code == SHEAF_OK)
        code = index_labels(data, m->index_bytes, m->samples, labels, err);
    if (code == SHEAF_OK)
        code = dataset_check_section(d, i, data, err);
    if (code == SHEAF_OK)
        renumber(d, dataset_source(d, i), labels, m->samples);
    free(data);
    return code;
}

/* The labels of all shards, each source's index being open in its turn.  SHEAF_END: a shard has
 * none. */
int labels_read(const struct sheaf_dataset *d, uint32_t *labels, struct sheaf_error *err)
{
    const struct sheaf_dataset *source = NULL;
    struct store_object *index = NULL;
    int code = SHEAF_OK;

    for (uint32_t i = 0; code == SHEAF_OK && i < d->manifest.shard_count; i++) {
        if (dataset_source(d, i) != source) {
            source = dataset_source(d, i);
            store_close(index);
            index = NULL;
            code = source->index_url == NULL ? SHEAF_END
                                             : store_open(source->index_url, &index, err);
        }
        if (code == SHEAF_OK)
            code = shard_labels(d, index, i, labels + d->first_numbers[i], err);
    }
    store_close(index);
    return code;
}
