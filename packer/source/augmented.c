/* SPDX-License-Identifier: MIT
 *
 * Makes the fields of a line; see augmented.h. */
#include "packer/source/augmented.h"

#include <string.h>
#include <strings.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/attributes.h"
#include "formats/augmented_line.h"
#include "formats/name.h"

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

/* Appends the key of a line's sample to a->texts, which must be empty. The key is the path of the
 * first object in the line, up to the first dot of the base name. If the line has no object, the
 * key is the line's number. */
static int augmented_keep_key(struct augmented *a, const struct augmented_line *line,
                              uint64_t number, struct sheaf_error *err)
{
    const char *url, *path, *suffix;
    size_t key_size = 0, i = 0;
    int code;

    while (i < line->count && attribute_ref_size(line->attributes[i].name) == 0)
        i++;
    if (i == line->count)
        return buf_printf(&a->texts, err, "%08llu", (unsigned long long)number);
    code = attribute_object(&line->attributes[i], &url, &path, err);
    if (code != SHEAF_OK)
        return code;
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

/* Appends "KEY.NAME", or "KEY.NAME.SUFFIX" with another suffix. */
static int keep_path(struct augmented *a, int name_size, const char *name, const char *suffix,
                     size_t *path, struct sheaf_error *err)
{
    const int key_size = (int)strlen(augmented_text(a, 0));
    int code = buf_reserve(&a->texts, (size_t)key_size, err);   /* so that the key does not move */

    *path = a->texts.size;
    if (code == SHEAF_OK)
        buf_put(&a->texts, a->texts.data, (size_t)key_size);
    if (code == SHEAF_OK)
        code = buf_printf(&a->texts, err, ".%.*s%s%s", name_size, name,
                          suffix[0] == '\0' ? "" : ".", suffix);
    return code == SHEAF_OK ? buf_append(&a->texts, "", 1, err) : code;
}

static int augmented_add_object(struct augmented *a, const struct attribute *object,
                                size_t name_size, struct sheaf_error *err)
{
    const char *url, *path, *suffix = "";
    struct augmented_field field = { .url = a->texts.size };
    size_t key_size;
    int code = attribute_object(object, &url, &path, err);

    if (code == SHEAF_OK)
        code = buf_append(&a->texts, url, strlen(url) + 1, err);
    if (code != SHEAF_OK)
        return code;
    if (!name_split(path, &key_size, &suffix)) {
        code = keep_path(a, (int)name_size, object->name, "", &field.path, err);
    } else {
        code = keep_path(a, (int)strlen(suffix), suffix, "", &field.path, err);
        if (code == SHEAF_OK && has_path(a, augmented_text(a, field.path))) {
            a->texts.size = field.path;
            code = keep_path(a, (int)name_size, object->name, suffix, &field.path, err);
        }
    }
    return code == SHEAF_OK ? buf_append(&a->fields, &field, sizeof(field), err) : code;
}

static int augmented_add_text(struct augmented *a, const struct attribute *text,
                              struct sheaf_error *err)
{
    struct augmented_field field = { .url = SIZE_MAX, .text = text->text, .size = text->size };
    int code = keep_path(a, (int)strlen(text->name), text->name, "", &field.path, err);

    return code == SHEAF_OK ? buf_append(&a->fields, &field, sizeof(field), err) : code;
}

/* If the label is the number of a class, uses the text of the attribute *name as the name of this
 * class (see list_name_label). Otherwise sets *name to NULL: the attribute is then stored as a
 * field, like all other attributes. */
static int augmented_take_class(struct augmented *a, const struct attribute **name,
                                struct sheaf_error *err)
{
    const size_t at = a->parser.text.size, size = json_string_length((*name)->value);
    const int code = buf_append(&a->parser.text, json_string_value((*name)->value), size + 1, err);

    if (code == SHEAF_OK &&
        !list_name_label(&a->label, (const char *)a->parser.text.data + at, size))
        *name = NULL;
    return code;
}

static int augmented_add_attributes(struct augmented *a, const struct augmented_line *line,
                                    struct sheaf_error *err)
{
    const struct attribute *const label = augmented_line_label(line);
    const struct attribute *name = augmented_line_class(line, label);
    int code = label == NULL ? SHEAF_OK
                             : list_json_label(&a->parser, label, &a->label, err);

    if (code == SHEAF_OK && name != NULL)
        code = augmented_take_class(a, &name, err);
    for (size_t i = 0; code == SHEAF_OK && i < line->count; i++) {
        const struct attribute *attribute = &line->attributes[i];
        const size_t object = attribute_ref_size(attribute->name);

        if (attribute == label || attribute == name)
            continue;
        if (object != 0)
            code = augmented_add_object(a, attribute, object, err);
        else
            code = augmented_add_text(a, attribute, err);
    }
    return code;
}

int augmented_parse(struct augmented *a, const char *text, size_t size, uint64_t number,
                    struct sheaf_error *err)
{
    struct augmented_line line;
    int code = augmented_line_parse(text, size, &line, err);

    a->fields.size = a->texts.size = a->parser.text.size = a->parser.labels.size = 0;
    a->label = (struct list_entry){ 0 };
    if (code == SHEAF_OK && line.count == 0)
        code = err_set(err, SHEAF_ERR_CORRUPT, "expected a JSON object with attributes");
    if (code == SHEAF_OK)
        code = augmented_keep_key(a, &line, number, err);
    if (code == SHEAF_OK)
        code = buf_append(&a->texts, "", 1, err);
    if (code == SHEAF_OK)
        code = augmented_add_attributes(a, &line, err);
    augmented_line_free(&line);
    return code;
}
