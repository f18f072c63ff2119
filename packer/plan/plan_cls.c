/* SPDX-License-Identifier: MIT
 *
 * See plan_cls.h. */
#include "packer/plan/plan_cls.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "formats/format.h"
#include "formats/label.h"

#define CLS_MOST ((uint64_t)1 << 20)    /* bytes */

int plan_cls_is_number(const struct source *source, const struct catalog_file *files,
                       uint32_t count, bool *is_number, struct sheaf_error *err)
{
    const struct catalog_file *f = NULL;
    struct sheaf_error unread;
    double *labels;
    char *text;
    int code;

    for (uint32_t i = 0; i < count && f == NULL; i++)
        if (strcasecmp(files[i].path + files[i].key_size + 1, "cls") == 0)
            f = &files[i];
    *is_number = f != NULL && f->bytes <= CLS_MOST;
    if (!*is_number)
        return SHEAF_OK;
    text = malloc(f->bytes + 1);
    labels = calloc(LABEL_LIMIT, sizeof(*labels));
    code = text == NULL || labels == NULL ? err_memory(err, LABEL_LIMIT * sizeof(*labels))
                                          : SHEAF_OK;
    if (code == SHEAF_OK && source_read(source, f, text, &unread) == SHEAF_OK)
        *is_number = label_parse(text, f->bytes, labels, LABEL_LIMIT) > 0;
    free(text);
    free(labels);
    return code;
}
