/* SPDX-License-Identifier: MIT
 *
 * A line of SageMaker's augmented manifest is a sample:
 *
 *     {"source-ref": "s3://bucket/cats/1.jpg", "label": "cat", "boxes": [[1, 2]]}
 *
 *   NAME-ref        an object, whose bytes become a field; its suffix is that of the object's
 *                   name, or NAME if it has none, or NAME.SUFFIX if the sample has that suffix
 *                   already
 *   label, labels, class, class_name
 *                   the label: a number, an array of numbers, or the name of a class.  The first of
 *                   these names is the label; if that is a number, a class is its name
 *   anything else   a field NAME, with the value as it was written
 *
 * Ground Truth's classifications name their label as they like, and say so in NAME-metadata; such
 * a NAME is the label where there is neither of the two.
 *
 * The sample's key is that of the first object: its path in the bucket up to the first dot of its
 * base name.  A line without an object has its number as the key.  Pure. */
#ifndef PACKER_SOURCE_AUGMENTED_H
#define PACKER_SOURCE_AUGMENTED_H

#include "base/buf.h"
#include "packer/source/list.h"

struct augmented_field {
    size_t path;                /* key and suffix: an offset in augmented.texts */
    size_t url;                 /* the same; SIZE_MAX: the value is the content */
    const char *text;           /* a part of the line */
    size_t size;
};

/* Zero-initialised; used again for each line. */
struct augmented {
    struct list_parser parser;
    struct list_entry label;    /* its class or numbers only */
    struct buf fields;          /* struct augmented_field[] */
    struct buf texts;
};

void augmented_init(struct augmented *a);
void augmented_free(struct augmented *a);

/* SHEAF_OK; SHEAF_END: the line is blank; SHEAF_ERR_CORRUPT: malformed. */
int augmented_parse(struct augmented *a, const char *line, size_t size, uint64_t number,
                    struct sheaf_error *err);

static inline const char *augmented_text(const struct augmented *a, size_t offset)
{
    return (const char *)a->texts.data + offset;
}

#endif
