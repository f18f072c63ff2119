/* SPDX-License-Identifier: MIT
 *
 * Counts the samples whose field `cls` does not consist of numbers and so cannot be the label. The
 * manifest stores this count. */
#include <string.h>

#include "formats/label.h"
#include "packer/packer.h"

const struct cls_words *packer_unread_labels(const struct sheaf_packer *p)
{
    return &p->problems.unread;
}

int packer_look_at_cls(struct sheaf_packer *p, const struct sheaf_sample *s, bool *is_word)
{
    const struct sheaf_field *const end = s->fields + s->field_count, *field = s->fields;
    long count;
    int code;

    *is_word = false;
    while (field < end && strcmp(field->name, "cls") != 0)
        field++;
    if (field == end)
        return SHEAF_OK;
    p->numbers.size = 0;
    p->numbers.limit = LABEL_LIMIT * sizeof(double);
    code = label_append(&p->numbers, field->data, field->size, &count, &p->error);
    *is_word = code == SHEAF_OK && count <= 0;
    return code;
}
