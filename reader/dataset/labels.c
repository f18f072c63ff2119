/* SPDX-License-Identifier: MIT
 *
 * Reads the labels of all samples; see labels.h. */
#include "reader/dataset/labels.h"

#include <stdlib.h>

#include "reader/dataset/sections.h"

/* Replaces the labels of a source's samples by the labels that their classes have in the union `d`
 * (the data set made of several sources). Each element of `labels` is a label plus 1, or 0 for no
 * label. */
static void renumber(const struct sheaf_dataset *d, const struct sheaf_dataset *source,
                     uint32_t *labels, uint64_t count)
{
    const uint32_t base = (uint32_t)source->class_map_first;

    for (uint64_t i = 0; i < count && source->class_map != NULL; i++) {
        if (labels[i] > base && labels[i] - 1 - base < source->class_map_count)
            labels[i] = source->class_map[labels[i] - 1 - base] + 1
                      + (uint32_t)d->manifest.label_base;
    }
}

static int shard_labels(struct sections *sections, uint32_t i, uint32_t *labels,
                        struct sheaf_error *err)
{
    const struct sheaf_dataset *d = sections->dataset;
    const struct manifest_shard *m = &d->manifest.shards[i];
    uint8_t *data;
    int code = sections_read(sections, i, &data, err);

    if (code == SHEAF_OK)
        code = index_labels(data, m->index_bytes, m->samples, labels, err);
    if (code == SHEAF_OK)
        renumber(d, dataset_source(d, i), labels, m->samples);
    free(data);
    return code;
}

/* Reads the labels of the samples in all shards from the index. Returns SHEAF_END if the index of a
 * shard does not contain labels. */
int labels_read(const struct sheaf_dataset *d, uint32_t *labels, struct sheaf_error *err)
{
    struct sections sections = { .dataset = d };
    int code = SHEAF_OK;

    for (uint32_t i = 0; code == SHEAF_OK && i < d->manifest.shard_count; i++)
        code = shard_labels(&sections, i, labels + d->first_numbers[i], err);
    sections_close(&sections);
    return code;
}
