/* SPDX-License-Identifier: MIT
 *
 * Parses a line of SageMaker's augmented manifest. A line is a sample:
 *
 *     {"source-ref": "s3://bucket/cats/1.jpg", "label": "cat", "boxes": [[1, 2]]}
 *
 *     NAME-ref        an object, whose bytes become a field; its suffix is that of the object's
 *                     name, or NAME if the object's name has none, or NAME.SUFFIX if the sample
 *                     already has a field with that suffix
 *     label, labels, class, class_name
 *                     the label: a number, an array of numbers, or the name of a class. The first
 *                     of these attributes is the label; if it is a number, the attribute class is
 *                     the name of this number
 *     anything else   a field NAME, with the value as it was written
 *
 * In lines made by Ground Truth's classification jobs, the label may be in an attribute with any
 * NAME; the attribute NAME-metadata then says so. This NAME is the label if the line has none of
 * the names above.
 *
 * The sample's key comes from the first object: its path in the bucket up to the first dot of its
 * base name. If a line has no object, its key is its number. The functions have no side effects. */
#ifndef PACKER_SOURCE_AUGMENTED_H
#define PACKER_SOURCE_AUGMENTED_H

#include "base/buf.h"
#include "packer/source/list.h"

struct augmented_field {
    size_t path;                /* key and suffix: an offset in augmented.texts */
    size_t url;                 /* an offset, too; SIZE_MAX: the value is the content */
    const char *text;           /* a part of the line */
    size_t size;
};

/* Zero-initialised; used for one line after another. */
struct augmented {
    struct list_parser parser;
    struct list_entry label;    /* only its class or numbers */
    struct buf fields;          /* struct augmented_field[] */
    struct buf texts;
};

void augmented_init(struct augmented *a);
void augmented_free(struct augmented *a);

/* Parses a line. Returns SHEAF_OK, SHEAF_END if the line is blank, or SHEAF_ERR_CORRUPT if it is
 * malformed. */
int augmented_parse(struct augmented *a, const char *line, size_t size, uint64_t number,
                    struct sheaf_error *err);

static inline const char *augmented_text(const struct augmented *a, size_t offset)
{
    return (const char *)a->texts.data + offset;
}

#endif
