/* SPDX-License-Identifier: MIT
 *
 * The objects of SageMaker's two kinds of manifest, in the order that the manifest has them. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/attributes.h"
#include "formats/json_load.h"
#include "formats/json_text.h"
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

struct line {
    const char *text, *end;
    json_t *object;
    struct objects *objects;
};

static bool is_reference(const char *name)
{
    const size_t size = strlen(name);

    return size > 4 && strcmp(name + size - 4, "-ref") == 0;
}

static int add_reference(const struct line *l, const char *name, const json_t *value,
                         struct sheaf_error *err)
{
    const char *url = json_string_value(value);
    const char *host = url == NULL ? NULL : strstr(url, "://");
    const char *slash = host == NULL ? NULL : strchr(host + 3, '/');
    const struct object found = { .name = slash == NULL ? "" : slash + 1, .url = url,
                                  .bytes = OBJECT_UNKNOWN };

    if (*found.name == '\0')
        return err_set(err, SHEAF_ERR_CORRUPT, "\"%.100s\" is not the URL of an object", name);
    return objects_add(l->objects, &found, NULL, err);
}

/* The value of a member as it is written in the line, which is JSON without doubled names. */
static const char *written(const struct line *l, const char *wanted, size_t *size)
{
    const char *at = json_text_blanks(l->text, l->end) + 1, *name;
    const json_t *value;

    json_object_foreach(l->object, name, value) {
        const char *text;

        at = json_text_value(json_text_blanks(at, l->end), l->end);
        text = json_text_blanks(json_text_blanks(at, l->end) + 1, l->end);
        at = json_text_value(text, l->end);
        *size = (size_t)(at - text);
        if (strcmp(name, wanted) == 0)
            return text;
        at = json_text_blanks(at, l->end) + 1;      /* the comma */
    }
    return NULL;
}

/* A string is its text, anything else what the line has. */
static int add_value(const struct line *l, const char *name, const json_t *value,
                     struct sheaf_error *err)
{
    struct object found = { .name = name };
    size_t size = 0;

    if (json_is_string(value)) {
        found.text = json_string_value(value);
        found.bytes = json_string_length(value);
    } else {
        found.text = written(l, name, &size);
        found.bytes = size;
    }
    return objects_add(l->objects, &found, NULL, err);
}

static int add_attribute(const struct line *l, const char *name, struct sheaf_error *err)
{
    const json_t *value = json_object_get(l->object, name);

    if (value == NULL)
        return err_set(err, SHEAF_ERR_CORRUPT, "the attribute \"%.100s\" is missing", name);
    return is_reference(name) ? add_reference(l, name, value, err)
                              : add_value(l, name, value, err);
}

static int add_members(const struct line *l, const struct attributes *a, struct sheaf_error *err)
{
    const char *name;
    const json_t *value;
    int code = SHEAF_OK;

    for (size_t i = 0; i < a->count && code == SHEAF_OK; i++)
        code = add_attribute(l, a->names[i], err);
    if (a->count != 0)
        return code;
    json_object_foreach(l->object, name, value) {
        if (code == SHEAF_OK && is_reference(name))
            code = add_reference(l, name, value, err);
    }
    return code;
}

static int take_line(struct objects *o, const struct attributes *a, const char *text, size_t size,
                     struct sheaf_error *err)
{
    struct line line = { .text = text, .end = text + size, .objects = o };
    json_error_t found;
    json_t *object;
    int code;

    if (json_text_blanks(text, line.end) == line.end)
        return SHEAF_OK;
    code = json_load_text(text, size, JSON_REJECT_DUPLICATES, &object, &found, err);
    if (code == SHEAF_ERR_CORRUPT)
        return err_set(err, SHEAF_ERR_CORRUPT, "not JSON: %s (column %d)", found.text,
                       found.column);
    if (code != SHEAF_OK)
        return code;
    line.object = object;
    if (json_is_object(object))
        code = add_members(&line, a, err);
    else
        code = err_set(err, SHEAF_ERR_CORRUPT, "expected a JSON object with attributes");
    json_decref(object);
    return code == SHEAF_OK ? objects_end_unit(o, err) : code;
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
        code = take_line(o, &attributes, text, size, err);
        if (code == SHEAF_ERR_CORRUPT)
            err_prefix(err, "%s: line %llu: ", url, (unsigned long long)number);
    }
    attributes_free(&attributes);
    lines_close(&lines);
    return code == SHEAF_END ? SHEAF_OK : code;
}
