/* SPDX-License-Identifier: MIT
 *
 * Reads the files of a tar in an order other than the stored order, so that the files of each
 * sample are adjacent; see joined.h. */
#include "reader/dataset/joined.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"

struct joined {
    struct store_object base;
    struct store_object *stored;
    const struct index_section *section;
};

static int joined_read(struct store_object *object, uint64_t offset, void *data, size_t size,
                       struct sheaf_error *err)
{
    const struct joined *j = (const struct joined *)object;
    const struct index_block *pieces = j->section->pieces;
    uint8_t *out = data;
    int code = SHEAF_OK;

    if (size > object->bytes || offset > object->bytes - size)
        return err_set(err, SHEAF_ERR_TRUNCATED, "%s: its pieces have %" PRIu64 " byte%s, cannot "
                       "read %zu at offset %" PRIu64, object->url, object->bytes,
                       plural(object->bytes), size, offset);
    for (uint64_t i = index_piece_of(j->section, offset); size != 0 && code == SHEAF_OK; i++) {
        const uint64_t skip = offset - pieces[i].raw_offset;
        const size_t part = (size_t)MIN((uint64_t)size, pieces[i + 1].raw_offset - offset);

        code = store_read(j->stored, pieces[i].stored_offset + skip, out, part, err);
        out += part;
        offset += part;
        size -= part;
    }
    return code;
}

static void joined_close(struct store_object *object)
{
    struct joined *j = (struct joined *)object;

    store_close(j->stored);
    free(j);
}

static const struct store_ops joined_ops = {
    .scheme = "", .read = joined_read, .close = joined_close,
};

int joined_wrap(struct store_object **object, const struct index_section *section,
                struct sheaf_error *err)
{
    struct joined *j;

    if (section == NULL || section->pieces == NULL)
        return SHEAF_OK;
    j = calloc(1, sizeof(*j));
    if (j == NULL)
        return err_memory(err, sizeof(*j));
    j->stored = *object;
    j->section = section;
    j->base = (struct store_object){ .ops = &joined_ops, .url = j->stored->url,
                                     .bytes = section->pieces[section->piece_count].raw_offset,
                                     .version = j->stored->version };
    *object = &j->base;
    return SHEAF_OK;
}

struct store_object *joined_stored(struct store_object *object)
{
    return object->ops == &joined_ops ? ((struct joined *)object)->stored : object;
}
