/* SPDX-License-Identifier: MIT
 *
 * Augmented manifests: jansson says what the values are, and the line itself how they were
 * written. */
#include "packer/source/augmented.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/format.h"
#include "formats/json_load.h"
#include "formats/json_text.h"

#define NAME_MOST 1024

void augmented_init(struct augmented *a)
{
    list_parser_init(&a->parser, LIST_JSONL);
    a->fields = (struct buf)BUF_INIT(LIST_LINE_LIMIT * 8);
    a->texts = (struct buf)BUF_INIT(LIST_LINE_LIMIT * 64);
}

void augmented_free(struct augmented *a)
{
    list_parser_free(&a->parser);
    buf_free(&a->fields);
    buf_free(&a->texts);
}

static bool ends_with(const char *name, const char *end)
{
    const size_t size = strlen(name), tail = strlen(end);

    return size > tail && strcmp(name + size - tail, end) == 0;
}

/* ---- The label ------------------------------------------------------------------------------- */

/* Whether NAME-metadata says that NAME is the class of an image or text. */
static bool is_classification(const json_t *object, const char *name, const json_t *value)
{
    char metadata[NAME_MOST];
    const char *type;

    if (!json_is_integer(value) ||
        snprintf(metadata, sizeof(metadata), "%s-metadata", name) >= (int)sizeof(metadata))
        return false;
    type = json_string_value(json_object_get(json_object_get(object, metadata), "type"));
    return type != NULL && ends_with(type, "-classification");
}

/* The attribute that is the label; NULL if there is none. */
static const char *find_label(json_t *object)
{
    const char *name;
    json_t *value;

    if (json_object_get(object, "label") != NULL)
        return "label";
    if (json_object_get(object, "class") != NULL)
        return "class";
    json_object_foreach(object, name, value)
        if (is_classification(object, name, value))
            return name;
    return NULL;
}

/* ---- Fields ---------------------------------------------------------------------------------- */

/* What follows scheme and bucket of a URL; NULL if it is none. */
static const char *object_path(const char *url)
{
    const char *host = url == NULL ? NULL : strstr(url, "://");
    const char *slash = host == NULL ? NULL : strchr(host + 3, '/');

    return slash == NULL || slash[1] == '\0' ? NULL : slash + 1;
}

/* Puts the sample's key at the start of the texts. */
static int keep_key(struct augmented *a, json_t *object, uint64_t number, struct sheaf_error *err)
{
    const char *name, *path = NULL, *suffix;
    size_t key_size = 0;
    json_t *value;

    json_object_foreach(object, name, value) {
        if (path != NULL || !ends_with(name, "-ref"))
            continue;
        path = object_path(json_string_value(value));
        if (path == NULL)
            return err_set(err, SHEAF_ERR_CORRUPT, "\"%.100s\" is not the URL of an object", name);
    }
    if (path == NULL)
        return buf_printf(&a->texts, err, "%08llu", (unsigned long long)number);
    if (!name_split(path, &key_size, &suffix))
        key_size = strlen(path);
    return buf_append(&a->texts, path, key_size, err);
}

static bool has_path(const struct augmented *a, const char *path)
{
    const struct augmented_field *fields = (const void *)a->fields.data;

    for (size_t i = 0; i < a->fields.size / sizeof(*fields); i++)
        if (strcasecmp(augmented_text(a, fields[i].path), path) == 0)
            return true;
    return false;
}

/* Appends "KEY.NAME", or with another suffix "KEY.NAME.SUFFIX". */
static int keep_path(struct augmented *a, int name_size, const char *name, const char *suffix,
                     size_t *path, struct sheaf_error *err)
{
    const int key_size = (int)strlen(augmented_text(a, 0));
    int code = buf_reserve(&a->texts, (size_t)key_size, err);   /* so that the key stays */

    *path = a->texts.size;
    if (code == SHEAF_OK)
        buf_put(&a->texts, a->texts.data, (size_t)key_size);
    if (code == SHEAF_OK)
        code = buf_printf(&a->texts, err, ".%.*s%s%s", name_size, name,
                          suffix[0] == '\0' ? "" : ".", suffix);
    return code == SHEAF_OK ? buf_append(&a->texts, "", 1, err) : code;
}

static int add_object(struct augmented *a, const char *name, const json_t *value,
                      struct sheaf_error *err)
{
    const int name_size = (int)strlen(name) - 4;
    const char *url = json_string_value(value), *path = object_path(url), *suffix = "";
    struct augmented_field field = { .url = a->texts.size };
    size_t key_size;
    int code;

    if (path == NULL)
        return err_set(err, SHEAF_ERR_CORRUPT, "\"%.100s\" is not the URL of an object", name);
    code = buf_append(&a->texts, url, strlen(url) + 1, err);
    if (code != SHEAF_OK)
        return code;
    if (!name_split(path, &key_size, &suffix)) {
        code = keep_path(a, name_size, name, "", &field.path, err);
    } else {
        code = keep_path(a, (int)strlen(suffix), suffix, "", &field.path, err);
        if (code == SHEAF_OK && has_path(a, augmented_text(a, field.path))) {
            a->texts.size = field.path;
            code = keep_path(a, name_size, name, suffix, &field.path, err);
        }
    }
    return code == SHEAF_OK ? buf_append(&a->fields, &field, sizeof(field), err) : code;
}

static int add_text(struct augmented *a, const char *name, const char *text, size_t size,
                    struct sheaf_error *err)
{
    struct augmented_field field = { .url = SIZE_MAX, .text = text, .size = size };
    int code = keep_path(a, (int)strlen(name), name, "", &field.path, err);

    return code == SHEAF_OK ? buf_append(&a->fields, &field, sizeof(field), err) : code;
}

/* The members in the order of the line: their names as jansson has them, their values as they are
 * written there. */
static int add_members(struct augmented *a, json_t *object, const char *line, size_t size,
                       struct sheaf_error *err)
{
    const char *const label = find_label(object), *const end = line + size;
    const char *at = json_text_blanks(line, end) + 1, *name;
    json_t *value;
    int code = SHEAF_OK;

    json_object_foreach(object, name, value) {
        const char *text;

        at = json_text_blanks(json_text_value(json_text_blanks(at, end), end), end) + 1;
        text = json_text_blanks(at, end);
        at = json_text_value(text, end);
        if (label != NULL && strcmp(name, label) == 0)
            code = list_json_label(&a->parser, value, &a->label, err);
        else if (ends_with(name, "-ref"))
            code = add_object(a, name, value, err);
        else
            code = add_text(a, name, text, (size_t)(at - text), err);
        if (code != SHEAF_OK)
            return code;
        at = json_text_blanks(at, end) + 1;     /* the comma */
    }
    return SHEAF_OK;
}

int augmented_parse(struct augmented *a, const char *line, size_t size, uint64_t number,
                    struct sheaf_error *err)
{
    json_error_t found;
    json_t *object;
    int code;

    a->fields.size = a->texts.size = a->parser.text.size = a->parser.labels.size = 0;
    a->label = (struct list_entry){ 0 };
    if (json_text_blanks(line, line + size) == line + size)
        return SHEAF_END;
    code = json_load_text(line, size, JSON_REJECT_DUPLICATES, &object, &found, err);
    if (code == SHEAF_ERR_CORRUPT)
        return err_set(err, SHEAF_ERR_CORRUPT, "not JSON: %s (column %d)", found.text,
                       found.column);
    if (code != SHEAF_OK)
        return code;
    if (!json_is_object(object) || json_object_size(object) == 0)
        code = err_set(err, SHEAF_ERR_CORRUPT, "expected a JSON object with attributes");
    else
        code = keep_key(a, object, number, err);
    if (code == SHEAF_OK)
        code = buf_append(&a->texts, "", 1, err);
    if (code == SHEAF_OK)
        code = add_members(a, object, line, size, err);
    json_decref(object);
    return code;
}
