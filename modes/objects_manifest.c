/* SPDX-License-Identifier: MIT
 *
 * Lists the objects that a SageMaker manifest file or augmented manifest names, in the order of the
 * manifest. */
#include <jansson.h>
#include <stdlib.h>

#include "base/error.h"
#include "formats/attributes.h"
#include "formats/augmented_line.h"
#include "formats/object_list.h"
#include "modes/objects.h"
#include "packer/source/lines.h"

/* ---- The manifest ---------------------------------------------------------------------------- */

int objects_list_manifest(const char *url, struct objects *o, struct sheaf_error *err)
{
    struct object_list list;
    char *text = NULL;
    size_t size = 0;
    int code = store_get(url, OBJECT_LIST_LIMIT, &text, &size, err);

    object_list_begin(&list, url, text, size);
    if (code == SHEAF_OK)
        code = object_list_prefix(&list, &o->root, err);
    while (code == SHEAF_OK) {
        json_t *entry;

        code = object_list_next(&list, &entry, err);
        if (code == SHEAF_OK) {
            const struct object found = { .name = json_string_value(entry),
                                          .bytes = OBJECT_UNKNOWN };

            code = objects_add(o, &found, NULL, err);
        }
        json_decref(entry);
    }
    free(text);
    return code == SHEAF_END ? SHEAF_OK : code;
}

/* ---- The augmented manifest ------------------------------------------------------------------ */

static int objects_manifest_add_object(struct objects *o, const struct attribute *a,
                                       struct sheaf_error *err)
{
    struct object found = { .bytes = OBJECT_UNKNOWN };
    const int code = attribute_object(a, &found.url, &found.name, err);

    return code == SHEAF_OK ? objects_add(o, &found, NULL, err) : code;
}

/* Adds the value of an attribute to the list of objects, as an object whose content is already
 * known. For a string, the content is the string's text. For any other value, it is the JSON text
 * of the value, byte for byte as in the manifest's line. */
static int objects_manifest_add_value(struct objects *o, const struct attribute *a,
                                      struct sheaf_error *err)
{
    struct object found = { .name = a->name, .text = a->text, .bytes = a->size };

    if (json_is_string(a->value)) {
        found.text = json_string_value(a->value);
        found.bytes = json_string_length(a->value);
    }
    return objects_add(o, &found, NULL, err);
}

static int objects_manifest_add_wanted(struct objects *o, const struct augmented_line *line,
                                       const char *name, struct sheaf_error *err)
{
    const struct attribute *a = augmented_line_find(line, name);

    if (a == NULL)
        return err_set(err, SHEAF_ERR_CORRUPT, "the attribute \"%.100s\" is missing", name);
    return attribute_ref_size(name) != 0 ? objects_manifest_add_object(o, a, err)
        : objects_manifest_add_value(o, a, err);
}

/* Takes attributes from a line of an augmented manifest, and adds their objects and values to the
 * list of objects. Takes only the attributes that the caller has named. If the caller has named
 * none, adds every object that the line names. */
static int objects_manifest_add_attributes(struct objects *o, const struct augmented_line *line,
                                           const struct attributes *wanted, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (size_t i = 0; i < wanted->count && code == SHEAF_OK; i++)
        code = objects_manifest_add_wanted(o, line, wanted->names[i], err);
    for (size_t i = 0; wanted->count == 0 && i < line->count && code == SHEAF_OK; i++)
        if (attribute_ref_size(line->attributes[i].name) != 0)
            code = objects_manifest_add_object(o, &line->attributes[i], err);
    return code;
}

static int objects_manifest_take_line(struct objects *o, const struct attributes *wanted,
                                      const char *text, size_t size, struct sheaf_error *err)
{
    struct augmented_line line;
    int code = augmented_line_parse(text, size, &line, err);

    if (code == SHEAF_OK)
        code = objects_manifest_add_attributes(o, &line, wanted, err);
    if (code == SHEAF_OK)
        code = objects_end_unit(o, err);
    augmented_line_free(&line);
    return code == SHEAF_END ? SHEAF_OK : code;
}

int objects_list_augmented(const char *url, const char *list, struct objects *o,
                           struct sheaf_error *err)
{
    struct attributes attributes = { .count = 0 };     /* every object */
    struct lines lines;
    const char *text;
    size_t size;
    uint64_t number = 0;
    int code = lines_open(&lines, url, NULL, err);

    if (code == SHEAF_OK && list != NULL)
        code = attributes_parse(list, &attributes, err);
    while (code == SHEAF_OK) {
        code = lines_next(&lines, &text, &size, &number, err);
        if (code != SHEAF_OK)
            break;
        code = objects_manifest_take_line(o, &attributes, text, size, err);
        if (code == SHEAF_ERR_CORRUPT)
            err_prefix(err, "%s: line %llu: ", url, (unsigned long long)number);
    }
    attributes_free(&attributes);
    lines_close(&lines);
    return code == SHEAF_END ? SHEAF_OK : code;
}
