/* SPDX-License-Identifier: MIT
 *
 * Counts the samples of each class; see class_counts.h. */
#include "publish/class_counts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/index.h"
#include "formats/manifest_growth.h"
#include "store/store.h"

int class_counts_add(const uint8_t *section, size_t size, uint64_t samples, int label_base,
                     uint64_t *counts, size_t count, struct sheaf_error *err)
{
    const uint64_t base = (uint64_t)label_base + 1;
    uint32_t *labels;
    int code;

    if (samples == 0)
        return SHEAF_OK;
    if (samples > size)     /* each sample takes several bytes of the section */
        return err_set(err, SHEAF_ERR_CORRUPT, "index: a section of %zu bytes for %" PRIu64
                       " samples", size, samples);
    labels = calloc(samples, sizeof(labels[0]));
    if (labels == NULL)
        return err_memory(err, samples * sizeof(labels[0]));
    code = index_labels(section, size, samples, labels, err);
    for (uint64_t i = 0; i < samples && code == SHEAF_OK; i++)
        if (labels[i] >= base && labels[i] - base < count)
            counts[labels[i] - base]++;
    free(labels);
    return code;
}

/* ---- A part ---------------------------------------------------------------------------------- */

/* Reads the section of a shard, which begins at `offset` of the index file `index`. The caller
 * frees the section. */
static int class_counts_section(struct store_object *index, const struct manifest_shard *s,
                                uint64_t offset, uint8_t **section, struct sheaf_error *err)
{
    char sum[INDEX_SUM_BYTES];
    int code;

    if (offset > index->bytes || s->index_bytes > index->bytes - offset)
        return err_set(err, SHEAF_ERR_CORRUPT, "%s: has %" PRIu64 " bytes, but the section of %s "
                       "has %" PRIu64 " bytes from %" PRIu64 " on", index->url, index->bytes,
                       s->name, s->index_bytes, offset);
    *section = malloc(s->index_bytes + 1);
    if (*section == NULL)
        return err_memory(err, s->index_bytes);
    code = store_read(index, offset, *section, s->index_bytes, err);
    if (code != SHEAF_OK)
        return code;
    index_sum(*section, s->index_bytes, sum);
    return s->index_xxh3[0] == '\0' || strcmp(sum, s->index_xxh3) == 0 ? SHEAF_OK
         : err_set(err, SHEAF_ERR_CORRUPT, "%s: the section of %s is not the one that the manifest "
                   "names", index->url, s->name);
}

static int open_part(const struct manifest *m, const char *directory, size_t part,
                     struct store_object **index, struct sheaf_error *err)
{
    char name[GROWN_NAME_BYTES], *url;
    int code;

    manifest_part_name(INDEX_NAME, part, m->edit_count, name);
    url = store_join(directory, name);
    code = url == NULL ? err_memory(err, strlen(directory)) : store_open(url, index, err);
    free(url);
    return code;
}

int class_counts_add_part(const struct manifest *m, const char *directory, size_t part,
                          uint64_t *counts, size_t count, struct sheaf_error *err)
{
    const size_t first = manifest_part_first(m, part), end = manifest_part_first(m, part + 1);
    struct store_object *index = NULL;
    int code = first == end ? SHEAF_OK : open_part(m, directory, part, &index, err);

    for (size_t i = first; i < end && code == SHEAF_OK; i++) {
        const struct manifest_shard *s = &m->shards[i];
        uint8_t *section = NULL;

        code = class_counts_section(index, s, s->index_offset - m->shards[first].index_offset,
                                    &section, err);
        if (code == SHEAF_OK)
            code = class_counts_add(section, s->index_bytes, s->samples, m->label_base, counts,
                                    count, err);
        free(section);
    }
    store_close(index);
    return code;
}

/* ---- All parts ------------------------------------------------------------------------------- */

/* Returns whether some samples of the data set belong to none of its classes. Such a sample may
 * have a label that now becomes the number of a new class. */
static bool has_others(const struct manifest *m)
{
    uint64_t samples = 0;

    for (size_t i = 0; i < m->shard_count; i++)
        samples += m->shards[i].samples;
    for (size_t i = 0; i < m->class_count; i++)
        samples -= MIN(m->class_samples[i], samples);
    return samples != 0;
}

int class_counts_all(const struct manifest *m, const char *directory, size_t count,
                     uint64_t **counts, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    *counts = NULL;
    if (m->class_samples == NULL && m->class_count != 0)
        return SHEAF_OK;
    *counts = calloc(count + 1, sizeof(**counts));
    if (*counts == NULL)
        return err_memory(err, count * sizeof(**counts));
    if (count <= m->class_count || !has_others(m))
        for (size_t i = 0; i < MIN(count, m->class_count); i++)
            (*counts)[i] = m->class_samples[i];
    else
        for (size_t part = 0; part <= m->growth_count && code == SHEAF_OK; part++)
            code = class_counts_add_part(m, directory, part, *counts, count, err);
    if (code != SHEAF_OK) {
        free(*counts);
        *counts = NULL;
    }
    return code == SHEAF_END ? SHEAF_OK : code;
}
