/* SPDX-License-Identifier: MIT
 *
 * Parses lines of augmented manifests (JSON objects that describe one sample each).
 *
 * jansson parses the values. This file also finds the bytes of each value in the line. If a value
 * becomes a field, the field has these bytes, such as 1.50. jansson would only tell the number,
 * 1.5. */
#include "formats/augmented_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "formats/attributes.h"
#include "formats/column_names.h"
#include "formats/label.h"

/* Stores each attribute: its name, its value as jansson has parsed it, and the bytes of the value
 * in the line. The loop finds the bytes by walking through the line. jansson keeps the attributes
 * in the order of the line. */
static void find_attributes(struct augmented_line *l, const char *text, const char *end)
{
    const char *at = json_text_blanks(text, end) + 1, *name;
    json_t *value;

    json_object_foreach(l->object, name, value) {
        struct attribute *a = &l->attributes[l->count++];

        at = json_text_value(json_text_blanks(at, end), end);       /* the name */
        a->name = name;
        a->value = value;
        a->text = json_text_blanks(json_text_blanks(at, end) + 1, end);
        at = json_text_value(a->text, end);
        a->size = (size_t)(at - a->text);
        at = json_text_blanks(at, end) + 1;                         /* the comma */
    }
}

int augmented_line_parse(const char *text, size_t size, struct augmented_line *l,
                         struct sheaf_error *err)
{
    int code;

    *l = (struct augmented_line){ .object = NULL };
    if (json_text_blanks(text, text + size) == text + size)
        return SHEAF_END;
    code = json_load_line(text, size, JSON_REJECT_DUPLICATES, &l->object, err);
    if (code != SHEAF_OK)
        return code;
    if (!json_is_object(l->object))
        return err_set(err, SHEAF_ERR_CORRUPT, "expected a JSON object with attributes");
    l->attributes = calloc(json_object_size(l->object) + 1, sizeof(l->attributes[0]));
    if (l->attributes == NULL)
        return err_memory(err, size);
    find_attributes(l, text, text + size);
    return SHEAF_OK;
}

void augmented_line_free(struct augmented_line *l)
{
    json_decref(l->object);
    free(l->attributes);
}

const struct attribute *augmented_line_find(const struct augmented_line *l, const char *name)
{
    for (size_t i = 0; i < l->count; i++)
        if (strcmp(l->attributes[i].name, name) == 0)
            return &l->attributes[i];
    return NULL;
}

/* Returns whether the line says that the attribute NAME is the class of an image or text. Ground
 * Truth (a service of SageMaker) writes this into a further attribute, NAME-metadata. */
static bool is_classification(const struct augmented_line *l, const struct attribute *a)
{
    static const char wanted[] = "-classification";
    char metadata[ATTRIBUTE_NAME_MOST + sizeof("-metadata")];
    const char *type;
    size_t size;

    if (!json_is_number(a->value) || !label_text_is_integer(a->text, a->size) ||
        snprintf(metadata, sizeof(metadata), "%s-metadata", a->name) >= (int)sizeof(metadata))
        return false;
    type = json_string_value(json_object_get(json_object_get(l->object, metadata), "type"));
    size = type == NULL ? 0 : strlen(type);
    return size >= sizeof(wanted) && strcmp(type + size + 1 - sizeof(wanted), wanted) == 0;
}

/* Returns whether a JSON value counts as a number when it is a label: a number, true (1) or false
 * (0). */
static bool is_label_number(const json_t *value)
{
    return json_is_number(value) || json_is_boolean(value);
}

/* Returns whether a JSON value can be a label: a number, an array of numbers, or a text that names
 * a class. */
static bool can_be_label(const json_t *value)
{
    const json_t *item;
    size_t i;

    if (!json_is_array(value))
        return is_label_number(value) || json_is_string(value);
    json_array_foreach(value, i, item) {
        if (!is_label_number(item))
            return false;
    }
    return true;
}

/* Returns the attribute whose name has the role `role` (label or class) and whose value can be a
 * label. If there are several such attributes, returns the preferred one: its name has the lowest
 * column_rank(). Returns NULL if there is no such attribute. */
static const struct attribute *best_of(const struct augmented_line *l, enum column_role role)
{
    const struct attribute *found = NULL;
    unsigned least = COLUMN_RANK_NONE;

    for (size_t i = 0; i < l->count; i++) {
        const struct attribute *a = &l->attributes[i];
        const unsigned rank = column_rank(role, a->name);

        if (rank < least && can_be_label(a->value)) {
            least = rank;
            found = a;
        }
    }
    return found;
}

const struct attribute *augmented_line_label(const struct augmented_line *l)
{
    const struct attribute *named = augmented_line_find(l, "label"), *label;

    if (named != NULL && !json_is_null(named->value))
        return named;
    label = best_of(l, COLUMN_LABEL);
    if (label == NULL)
        label = best_of(l, COLUMN_CLASS);
    for (size_t i = 0; label == NULL && i < l->count; i++)
        if (is_classification(l, &l->attributes[i]))
            label = &l->attributes[i];
    return label != NULL ? label : named;
}

const struct attribute *augmented_line_class(const struct augmented_line *l,
                                             const struct attribute *label)
{
    const struct attribute *found = label == NULL || column_rank(COLUMN_LABEL, label->name) ==
                                    COLUMN_RANK_NONE ? NULL : best_of(l, COLUMN_CLASS);

    return found != NULL && json_is_string(found->value) ? found : NULL;
}

int attribute_object(const struct attribute *a, const char **url, const char **path,
                     struct sheaf_error *err)
{
    const char *host, *slash;

    *url = json_string_value(a->value);
    host = *url == NULL ? NULL : strstr(*url, "://");
    slash = host == NULL ? NULL : strchr(host + 3, '/');
    if (slash == NULL || slash[1] == '\0')
        return err_set(err, SHEAF_ERR_CORRUPT, "\"%.100s\" is not the URL of an object", a->name);
    *path = slash + 1;
    return SHEAF_OK;
}
