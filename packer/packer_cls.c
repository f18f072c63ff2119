/* SPDX-License-Identifier: MIT
 *
 * Counts the samples whose field `cls` does not consist of numbers and so cannot be the label. The
 * manifest stores this count. */
#include <string.h>

#include "base/bytes.h"
#include "formats/label.h"
#include "packer/packer.h"

int packer_look_at_cls(struct sheaf_packer *p, const struct sheaf_sample *s, bool *is_word)
{
    const struct sheaf_field *const end = s->fields + s->field_count, *field = s->fields;
    size_t most;
    int code;

    *is_word = false;
    while (field < end && strcmp(field->name, "cls") != 0)
        field++;
    if (field == end)
        return SHEAF_OK;
    most = MIN(field->size / 2 + 1, (size_t)LABEL_LIMIT);
    p->numbers.size = 0;
    p->numbers.limit = LABEL_LIMIT * sizeof(double);
    code = buf_reserve(&p->numbers, most * sizeof(double), &p->error);
    if (code == SHEAF_OK)
        *is_word = label_parse(field->data, field->size, (double *)(void *)p->numbers.data,
                               most) <= 0;
    return code;
}
