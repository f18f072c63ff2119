/* SPDX-License-Identifier: MIT
 *
 * Parses a line of SageMaker's augmented manifest: a JSON object that describes one sample, such as
 * {"source-ref": "s3://bucket/cats/1.jpg", "label": "cat", "boxes": [[1, 2]]}. The members are
 * called attributes. There are three kinds:
 *
 * 1. An attribute NAME-ref has the URL of an object. The object's bytes become a field of the
 *    sample. The field is named by the suffix of the object's name, or NAME if there is no suffix.
 *    If another field of the sample already has this name, the field is named NAME.SUFFIX.
 *
 * 2. The label is the first of the attributes label, labels, class and class_name that the line
 *    has. It is a number, an array of numbers, or the name of a class. If label or labels is a
 *    number and the line also has a text in class or class_name, this text is the name of the class
 *    with this number. If the line has none of these four attributes, an integer attribute NAME is
 *    the label if the type in NAME-metadata ends with "-classification". Ground Truth writes such
 *    lines.
 *
 * 3. Any other attribute NAME becomes a field NAME, with the value as it was written.
 *
 * The sample's key is the path of the first object in its bucket, up to the first dot of the base
 * name. If a line has no object, the line's number is the key.
 *
 * The functions have no side effects. */
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

/* Parses a line of an augmented manifest into `a`. `number` is the line's number. Returns SHEAF_END
 * if the line is blank, and SHEAF_ERR_CORRUPT if it is malformed. */
int augmented_parse(struct augmented *a, const char *line, size_t size, uint64_t number,
                    struct sheaf_error *err);

static inline const char *augmented_text(const struct augmented *a, size_t offset)
{
    return (const char *)a->texts.data + offset;
}

#endif
