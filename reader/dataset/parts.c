/* SPDX-License-Identifier: MIT
 *
 * Makes the parts of a data set; see parts.h. */
#include "reader/dataset/parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "formats/manifest_edit.h"
#include "formats/manifest_growth.h"
#include "store/store.h"

static int make_part(const struct manifest *m, const char *directory, size_t i,
                     struct dataset_part *part, struct sheaf_error *err)
{
    const size_t first = i == 0 ? 0 : (size_t)m->growths[i - 1].shards;
    const size_t end = i == m->growth_count ? m->shard_count : (size_t)m->growths[i].shards;
    char name[GROWN_NAME_BYTES];

    manifest_part_name(INDEX_NAME, i, m->edit_count, name);
    part->index_url = store_join(directory, name);
    manifest_part_name(KEYS_NAME, i, m->edit_count, name);
    part->keys_url = store_join(directory, name);
    if (part->index_url == NULL || part->keys_url == NULL)
        return err_memory(err, strlen(directory));
    part->is_keyed = end > first;
    for (size_t s = first; s < end; s++) {
        part->is_keyed = part->is_keyed && m->shards[s].index_xxh3[0] != '\0';
        part->samples += m->shards[s].samples;
        part->index_bytes += m->shards[s].index_bytes;
    }
    part->keyed = manifest_edit_keyed(m, i, part->samples);
    if (i != 0) {
        part->first_number = part[-1].first_number + part[-1].samples;
        part->index_offset = part[-1].index_offset + part[-1].index_bytes;
    }
    memcpy(part->fingerprint, manifest_edit_fingerprint(m, i), sizeof(part->fingerprint));
    return SHEAF_OK;
}

int parts_make(const struct manifest *m, const char *directory, struct dataset_part **parts,
               size_t *count, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    *count = m->growth_count + 1;
    *parts = calloc(*count, sizeof((*parts)[0]));
    if (*parts == NULL) {
        *count = 0;
        return err_memory(err, (m->growth_count + 1) * sizeof((*parts)[0]));
    }
    for (size_t i = 0; i < *count && code == SHEAF_OK; i++)
        code = make_part(m, directory, i, &(*parts)[i], err);
    return code;
}

void parts_free(struct dataset_part *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(parts[i].index_url);
        free(parts[i].keys_url);
    }
    free(parts);
}
