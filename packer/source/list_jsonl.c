/* SPDX-License-Identifier: MIT
 *
 * JSON Lines: one object per line, of which "path" and "label" are used. */
#include <jansson.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/format.h"
#include "formats/json_load.h"
#include "formats/label.h"
#include "formats/name.h"
#include "packer/source/list.h"

static int malformed_label(struct sheaf_error *err)
{
    return err_set(err, SHEAF_ERR_CORRUPT, "\"label\" must be a number, an array of numbers or "
                   "the name of a class");
}

/* Integers must be exact; other numbers are rounded to a float, as in every list. */
static int add_number(struct list_parser *p, const json_t *number, struct sheaf_error *err)
{
    const json_int_t most = (json_int_t)1 << 53;
    double value;

    if (!json_is_number(number))
        return malformed_label(err);
    if (json_is_integer(number) &&
        (json_integer_value(number) > most || json_integer_value(number) < -most))
        return err_set(err, SHEAF_ERR_CORRUPT, "the label %lld is beyond 2^53",
                       (long long)json_integer_value(number));
    value = label_rounded(json_number_value(number));
    if (!label_is_exact(value))
        return err_set(err, SHEAF_ERR_CORRUPT, "the label %.17g is too large", value);
    if (p->labels.size / sizeof(double) >= LABEL_LIMIT)
        return err_set(err, SHEAF_ERR_CORRUPT, "more than %d labels", LABEL_LIMIT);
    return buf_append(&p->labels, &value, sizeof(value), err);
}

/* Copies a string, which the JSON value does not outlive. */
static int keep_text(struct list_parser *p, const json_t *string, const char **text,
                     size_t *size, struct sheaf_error *err)
{
    const size_t start = p->text.size;
    int code;

    *size = json_string_length(string);
    code = buf_append(&p->text, json_string_value(string), *size + 1, err);
    *text = (const char *)p->text.data + start;
    return code;
}

int list_json_label(struct list_parser *p, const struct json_t *label, struct list_entry *entry,
                    struct sheaf_error *err)
{
    const json_t *item;
    size_t i;
    int code = SHEAF_OK;

    if (label == NULL || json_is_null(label))
        return SHEAF_OK;
    if (json_is_string(label)) {
        code = keep_text(p, label, &entry->class_name, &entry->class_size, err);
        if (code == SHEAF_OK && (entry->class_size == 0 || entry->class_size > FIELD_LIMIT ||
                                 !name_is_text(entry->class_name, entry->class_size)))
            return malformed_label(err);
        return code;
    }
    if (json_is_array(label)) {
        json_array_foreach(label, i, item) {
            code = add_number(p, item, err);
            if (code != SHEAF_OK)
                return code;
        }
    } else {
        code = add_number(p, label, err);
    }
    entry->labels = (const double *)(const void *)p->labels.data;
    entry->label_count = p->labels.size / sizeof(double);
    return code;
}

int list_parse_jsonl(struct list_parser *p, const char *line, size_t size,
                     struct list_entry *entry, struct sheaf_error *err)
{
    const json_t *path;
    json_t *object;
    int code = json_load_line(line, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &object, err);

    if (code != SHEAF_OK)
        return code;
    path = json_object_get(object, "path");
    /* The line is not needed any more.  Both strings came from it, so there is room for them and
     * neither moves the other. */
    p->text.size = 0;
    code = buf_reserve(&p->text, size + 2, err);
    if (code == SHEAF_OK && !json_is_string(path))
        code = err_set(err, SHEAF_ERR_CORRUPT, "expected an object with a string \"path\"");
    if (code == SHEAF_OK)
        code = keep_text(p, path, &entry->path, &entry->path_size, err);
    if (code == SHEAF_OK)
        code = list_json_label(p, json_object_get(object, "label"), entry, err);
    json_decref(object);
    return code;
}
