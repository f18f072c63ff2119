/* SPDX-License-Identifier: MIT
 *
 * A line of SageMaker's augmented manifest as text: a JSON object whose members are the attributes
 * of a sample. The packer turns the attributes into the files of a sample. The directory modes/,
 * which imitates SageMaker's input modes, turns them into objects (File mode) or records (Pipe
 * mode). */
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

/* Parses a line. Returns SHEAF_END if the line is blank. Returns SHEAF_ERR_CORRUPT if the line is
 * not a JSON object, or if any JSON object in the line has the same name twice. The results point
 * into the text. The caller must call augmented_line_free in any case. */
int augmented_line_parse(const char *text, size_t size, struct augmented_line *line,
                         struct sheaf_error *err);
void augmented_line_free(struct augmented_line *line);

/* Returns the attribute with this name, or NULL if there is none. */
const struct attribute *augmented_line_find(const struct augmented_line *line, const char *name);

/* Returns the attribute that is the label, or NULL. It is the attribute with one of the names in
 * column_names.h, or else the one whose metadata (from Ground Truth) describe a classification. An
 * attribute "label" may have any value. Any other attribute is chosen only if its value can be a
 * label. */
const struct attribute *augmented_line_label(const struct augmented_line *line);
/* Returns the attribute that names the class of `label`: an attribute class or class_name whose
 * value is a text. Returns NULL if the line has no such attribute. */
const struct attribute *augmented_line_class(const struct augmented_line *line,
                                             const struct attribute *label);

/* Finds the object of a NAME-ref attribute: sets *url to its URL and *path to the part after the
 * scheme and bucket. Returns SHEAF_ERR_CORRUPT if the value is not such a URL. */
int attribute_object(const struct attribute *attribute, const char **url, const char **path,
                     struct sheaf_error *err);

#endif
