/* SPDX-License-Identifier: MIT
 *
 * The table of names; see column_names.h. */
#include "formats/column_names.h"

#include <stddef.h>
#include <strings.h>

#define NAMES_MOST 7

static const char *const names[][NAMES_MOST + 1] = {
    [COLUMN_PATH] = { "path", "file", "file_name", "filename", "image", NULL },
    [COLUMN_KEY] = { "key", "__key__", "path", "file", "file_name", "filename", "image", NULL },
    [COLUMN_LABEL] = { "label", "labels", NULL },
    [COLUMN_CLASS] = { "class", "class_name", NULL },
};

unsigned column_rank(enum column_role role, const char *name)
{
    for (unsigned i = 0; names[role][i] != NULL; i++)
        if (strcasecmp(name, names[role][i]) == 0)
            return i;
    return COLUMN_RANK_NONE;
}
