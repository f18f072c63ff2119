/* SPDX-License-Identifier: MIT
 *
 * Parses lists in JSON Lines: one JSON object per line, with a path, a label and further fields as
 * its members. A line of an augmented manifest has paths in its members NAME-ref instead. */
#include <jansson.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/json.h"
#include "formats/attributes.h"
#include "formats/augmented_line.h"
#include "formats/column_names.h"
#include "formats/format.h"
#include "formats/label.h"
#include "formats/name.h"
#include "packer/source/list.h"

static int malformed_label(struct sheaf_error *err)
{
    return err_set(err, SHEAF_ERR_CORRUPT, "\"label\" must be a number, true or false, an array "
                   "of these, or the name of a class");
}

/* Appends a JSON number, or true or false (1 or 0), to the labels of the line. `text` is the number
 * in the line. It decides, because jansson may have rounded the number. A whole number up to 2^53
 * is stored exactly, even if it is written as 1.0. An integer beyond 2^53 is an error, unless a
 * 32-bit float equals it. Any other number is rounded to a 32-bit float. The same rules hold for
 * labels in text. */
static int list_jsonl_add_number(struct list_parser *p, const json_t *number, const char *text,
                                 size_t size, struct sheaf_error *err)
{
    double value = json_is_true(number) ? 1 : 0;

    if (!json_is_number(number) && !json_is_boolean(number))
        return malformed_label(err);
    if (json_is_number(number) && label_parse(text, size, &value, 1) != 1) {
        if (label_text_is_integer(text, size))
            return err_set(err, SHEAF_ERR_CORRUPT, "the label %.*s is beyond 2^53 and no 32-bit "
                           "float equals it", (int)MIN(size, (size_t)40), text);
        value = (double)(float)json_number_value(number);
    }
    if (!label_is_exact(value))
        return err_set(err, SHEAF_ERR_CORRUPT, "the label %.17g is larger than a 32-bit float",
                       json_number_value(number));
    if (p->labels.size / sizeof(double) >= LABEL_LIMIT)
        return err_set(err, SHEAF_ERR_CORRUPT, "more than %d labels", LABEL_LIMIT);
    return buf_append(&p->labels, &value, sizeof(value), err);
}

/* Appends the numbers of a JSON array to the labels of the line. Walks through the text of the
 * array to find the text of each number. */
static int list_jsonl_add_numbers(struct list_parser *p, const struct attribute *array,
                                  struct sheaf_error *err)
{
    const char *at = array->text + 1, *end = array->text + array->size;
    const json_t *item;
    size_t i;
    int code = SHEAF_OK;

    json_array_foreach(array->value, i, item) {
        const char *text = json_text_blanks(at, end), *after = json_text_value(text, end);

        code = list_jsonl_add_number(p, item, text, (size_t)(after - text), err);
        if (code != SHEAF_OK)
            return code;
        at = json_text_blanks(after, end) + 1;                      /* the comma */
    }
    return SHEAF_OK;
}

/* Copies a JSON string to p->text and sets *text to the copy, because the JSON value is freed
 * before the text is used. */
static int list_jsonl_keep_text(struct list_parser *p, const json_t *string, const char **text,
                                size_t *size, struct sheaf_error *err)
{
    const size_t start = p->text.size;
    int code;

    *size = json_string_length(string);
    code = buf_append(&p->text, json_string_value(string), *size + 1, err);
    *text = (const char *)p->text.data + start;
    return code;
}

int list_json_label(struct list_parser *p, const struct attribute *label,
                    struct list_entry *entry, struct sheaf_error *err)
{
    const json_t *value = label->value;
    int code;

    if (json_is_null(value))
        return SHEAF_OK;
    if (json_is_string(value)) {
        code = list_jsonl_keep_text(p, value, &entry->class_name, &entry->class_size, err);
        if (code == SHEAF_OK && (entry->class_size == 0 || entry->class_size > FIELD_LIMIT ||
                                 !name_is_text(entry->class_name, entry->class_size)))
            return malformed_label(err);
        return code;
    }
    code = json_is_array(value)
         ? list_jsonl_add_numbers(p, label, err)
         : list_jsonl_add_number(p, value, label->text, label->size, err);
    if (code != SHEAF_OK)
        return code;
    entry->labels = (const double *)(const void *)p->labels.data;
    entry->label_count = p->labels.size / sizeof(double);
    return SHEAF_OK;
}

/* Returns the member of a line that states the path or the key of a file. The first choice is a
 * string whose name means a path or a key (see column_rank). The second choice is the first member
 * NAME-ref, as in an augmented manifest. Returns NULL if the line has neither. */
static const struct attribute *list_jsonl_path_of(const struct list_parser *p,
                                                  const struct augmented_line *l)
{
    const struct attribute *found = NULL;
    unsigned least = COLUMN_RANK_NONE;

    for (size_t i = 0; i < l->count; i++) {
        const struct attribute *a = &l->attributes[i];
        const unsigned rank = column_rank(p->by_key ? COLUMN_KEY : COLUMN_PATH, a->name);

        if (rank < least && json_is_string(a->value)) {
            least = rank;
            found = a;
        }
    }
    for (size_t i = 0; i < l->count && found == NULL; i++)
        if (attribute_ref_size(l->attributes[i].name) != 0 &&
            json_is_string(l->attributes[i].value))
            found = &l->attributes[i];
    return found;
}

/* Adds a field to the entry, from a member of the line that is neither path nor label. If the
 * member is a string, its text is the content of the field. Any other value is copied from the
 * line. */
static int list_jsonl_add_member(struct list_parser *p, const struct attribute *a,
                                 struct sheaf_error *err)
{
    const size_t object = attribute_ref_size(a->name);
    struct list_field field = { .text = a->text, .size = a->size };
    char *name;
    int code = buf_reserve(&p->text, strlen(a->name) + 1, err);

    if (code != SHEAF_OK || json_is_null(a->value))
        return code;
    name = (char *)p->text.data + p->text.size;
    buf_put(&p->text, a->name, strlen(a->name) + 1);
    field.name = name;
    if (json_is_string(a->value))
        code = list_jsonl_keep_text(p, a->value, &field.text, &field.size, err);
    field.is_file = object != 0 && json_is_string(a->value) && field.size != 0;
    if (field.is_file)
        name[object] = '\0';
    return code == SHEAF_OK ? buf_append(&p->fields, &field, sizeof(field), err) : code;
}

static int take_members(struct list_parser *p, const struct augmented_line *l,
                        struct list_entry *entry, struct sheaf_error *err)
{
    const struct attribute *path = list_jsonl_path_of(p, l), *label = augmented_line_label(l);
    const struct attribute *name = augmented_line_class(l, label);
    int code = SHEAF_OK;

    if (path == NULL)
        return err_set(err, SHEAF_ERR_CORRUPT, "expected an object with a string \"%s\" "
                       "(or file, file_name, filename, image, NAME-ref)",
                       p->by_key ? "key" : "path");
    code = list_jsonl_keep_text(p, path->value, &entry->path, &entry->path_size, err);
    if (code == SHEAF_OK && label != NULL)
        code = list_json_label(p, label, entry, err);
    if (code == SHEAF_OK && name != NULL && json_is_string(name->value)) {
        const char *text;
        size_t size;

        code = list_jsonl_keep_text(p, name->value, &text, &size, err);
        if (code == SHEAF_OK && !list_name_label(entry, text, size))
            name = NULL;
    }
    for (size_t i = 0; i < l->count && code == SHEAF_OK; i++) {
        const struct attribute *a = &l->attributes[i];

        if (a != path && a != label && a != name)
            code = list_jsonl_add_member(p, a, err);
    }
    return code;
}

int list_parse_jsonl(struct list_parser *p, const char *line, size_t size,
                     struct list_entry *entry, struct sheaf_error *err)
{
    struct augmented_line l;
    int code = augmented_line_parse(line, size, &l, err);

    /* The buffer of texts must not move while the entry points into it. So enough room is reserved
     * now: twice the size of the line, because each name or string in the line is copied at most
     * twice. */
    if (code == SHEAF_OK)
        code = buf_reserve(&p->text, 2 * (size + 1), err);
    if (code == SHEAF_OK)
        code = take_members(p, &l, entry, err);
    augmented_line_free(&l);
    return code;
}
