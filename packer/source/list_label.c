/* SPDX-License-Identifier: MIT
 *
 * Parses the labels and class names in lines of all kinds of lists. */
#include "base/bytes.h"
#include "base/error.h"
#include "formats/format.h"
#include "formats/label.h"
#include "formats/name.h"
#include "packer/source/list.h"

int list_add_numbers(struct list_parser *p, const char *text, size_t size,
                     struct sheaf_error *err)
{
    const size_t room = LABEL_LIMIT - p->labels.size / sizeof(double);
    /* largest number of labels that the text can hold: each label has at least one character, and
     * there is a separator between two labels */
    const size_t most = MIN(room, size / 2 + 1);
    int code = most == 0 ? SHEAF_END : buf_reserve(&p->labels, most * sizeof(double), err);
    long count;

    if (code != SHEAF_OK)
        return code;
    count = label_parse(text, size, (double *)(void *)(p->labels.data + p->labels.size), most);
    if (count < 0)
        return SHEAF_END;
    p->labels.size += (size_t)count * sizeof(double);
    return SHEAF_OK;
}

bool list_is_blank(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (text[i] != ' ' && text[i] != '\t')
            return false;
    return true;
}

int list_set_label(struct list_parser *p, struct list_entry *entry, const char *text,
                   size_t size, struct sheaf_error *err)
{
    int code;

    if (list_is_blank(text, size))
        return SHEAF_OK;
    code = list_add_numbers(p, text, size, err);
    if (code == SHEAF_OK) {
        entry->labels = (const double *)(const void *)p->labels.data;
        entry->label_count = p->labels.size / sizeof(double);
    }
    if (code != SHEAF_END)
        return code;
    /* Such an integer is too large for a label. It must not silently become the name of a class. */
    if (label_text_is_integer(text, size))
        return err_set(err, SHEAF_ERR_CORRUPT, "the label %.*s is beyond 2^53 and not a 32-bit "
                                               "float", (int)MIN(size, (size_t)40), text);
    if (!name_is_text(text, size) || size > FIELD_LIMIT)
        return err_set(err, SHEAF_ERR_CORRUPT, "invalid label: expected numbers, or the name of a "
                       "class (UTF-8 of at most %d bytes)", FIELD_LIMIT);
    entry->class_name = text;
    entry->class_size = size;
    return SHEAF_OK;
}

bool list_name_label(struct list_entry *entry, const char *text, size_t size)
{
    double number;

    if (entry->class_name != NULL || entry->label_count != 1 ||
        !label_is_integer(entry->labels[0]) || entry->labels[0] < 0 ||
        entry->labels[0] >= CLASS_LIMIT)
        return false;
    if (list_is_blank(text, size) || size > FIELD_LIMIT || !name_is_text(text, size) ||
        label_parse(text, size, &number, 1) > 0)
        return false;
    entry->class_name = text;
    entry->class_size = size;
    return true;
}
