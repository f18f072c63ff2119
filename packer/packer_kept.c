/* SPDX-License-Identifier: MIT
 *
 * Features are the parts of a TFRecord Example. When samples are converted from TFRecord to
 * TFRecord, the reader keeps the features of each record, and the packer writes them unchanged.
 * This file decides when this is done, and computes the memory that kept features take. */
#include "formats/example_copied.h"
#include "packer/packer.h"

bool packer_keeps(enum sheaf_container from, enum sheaf_container to)
{
    const struct format_ops *source = format_of(from), *target = format_of(to);

    return target != NULL && target->keeps_features && (source == NULL || source->keeps_features);
}

bool packer_copies_record(const struct sheaf_sample *s)
{
    return s->field_count == 1 &&
           example_can_be_copied((const uint8_t *)s->fields[0].data, s->fields[0].size);
}

uint64_t packer_kept_bytes(const struct kept_features *kept)
{
    uint64_t bytes = 0;

    for (size_t i = 0; kept != NULL && i < kept->count; i++) {
        const struct kept_feature *f = &kept->features[i];

        bytes += f->name.size + 32 + (f->size > f->content_size ? f->size - f->content_size : 0);
    }
    return bytes;
}
