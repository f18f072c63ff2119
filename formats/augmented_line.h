/* SPDX-License-Identifier: MIT
 *
 * A line of SageMaker's augmented manifest as it is written: a JSON object, whose members are the
 * attributes of a sample.  What becomes of them is for the packer (a sample's files) and the input
 * modes (objects, or records) to say. */
#ifndef FORMATS_AUGMENTED_LINE_H
#define FORMATS_AUGMENTED_LINE_H

#include <jansson.h>

#include "sheaf.h"

struct attribute {
    const char *name;
    json_t *value;
    const char *text;           /* the value as it stands in the line, `size` bytes */
    size_t size;
};

struct augmented_line {
    json_t *object;
    struct attribute *attributes;   /* in the order of the line */
    size_t count;
};

/* SHEAF_END: the line is blank; SHEAF_ERR_CORRUPT: no JSON object, or a name twice in one.  What it
 * finds points into the text.  augmented_line_free must be called in any case. */
int augmented_line_parse(const char *text, size_t size, struct augmented_line *line,
                         struct sheaf_error *err);
void augmented_line_free(struct augmented_line *line);

/* NULL: there is none of that name. */
const struct attribute *augmented_line_find(const struct augmented_line *line, const char *name);

/* The attribute that is the label; NULL: none is. */
const struct attribute *augmented_line_label(const struct augmented_line *line);

/* The object of NAME-ref: its URL, and in *path what follows scheme and bucket there.
 * SHEAF_ERR_CORRUPT. */
int attribute_object(const struct attribute *attribute, const char **url, const char **path,
                     struct sheaf_error *err);

#endif
