/* SPDX-License-Identifier: MIT
 *
 * Parses a line of SageMaker's augmented manifest: a JSON object whose members are called
 * attributes and describe one sample.
 *
 * The packer turns the attributes into the files of a sample. The code in modes/, which imitates
 * SageMaker's input modes, turns them into objects (File mode) or records (Pipe mode). */
#ifndef FORMATS_AUGMENTED_LINE_H
#define FORMATS_AUGMENTED_LINE_H

#include <jansson.h>

#include "sheaf.h"

struct attribute {
    const char *name;
    json_t *value;
    const char *text;           /* the value as the line states it, `size` bytes */
    size_t size;
};

struct augmented_line {
    json_t *object;
    struct attribute *attributes;   /* in the order of the line */
    size_t count;
};

/* Parses a line of an augmented manifest. Returns SHEAF_END if the line is blank. Returns
 * SHEAF_ERR_CORRUPT if the line is not a JSON object, or if any JSON object in it has the same name
 * twice. `text` must stay valid as long as `line` is used, because `line` points into it. The
 * caller must call augmented_line_free even after an error. */
int augmented_line_parse(const char *text, size_t size, struct augmented_line *line,
                         struct sheaf_error *err);
void augmented_line_free(struct augmented_line *line);

/* Returns the attribute with this name, or NULL if the line has no such attribute. */
const struct attribute *augmented_line_find(const struct augmented_line *line, const char *name);

/* Returns the attribute that states the label. The first choice is an attribute called "label",
 * unless its value is null. The second choice is an attribute with another name from column_names.h
 * whose value can be a label. The last choice is an attribute whose metadata (from Ground Truth)
 * describe a classification. Returns NULL if the line has none of these attributes. */
const struct attribute *augmented_line_label(const struct augmented_line *line);
/* Returns the attribute whose value is the name of the label's class: an attribute named "class" or
 * "class_name" with a text. `label` is the attribute that states the label. Returns NULL if the
 * line has no such attribute. */
const struct attribute *augmented_line_class(const struct augmented_line *line,
                                             const struct attribute *label);

/* Splits the object URL in the value of a "NAME-ref" attribute. Sets *url to the URL, and *path
 * to the part after the scheme and bucket. Returns SHEAF_ERR_CORRUPT if the value is not such a
 * URL. */
int attribute_object(const struct attribute *attribute, const char **url, const char **path,
                     struct sheaf_error *err);

#endif
