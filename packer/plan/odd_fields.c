/* SPDX-License-Identifier: MIT
 *
 * Finds field names that are probably parts of keys, such as "01.02.jpg"; see odd_fields.h. */
#include "packer/plan/odd_fields.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define FILES_LEAST 3u          /* fewer files may be intended */
/* largest number of different field names that are counted; a source with this number of names or
 * more is always reported */
#define FIELDS_MOST 10000u

int odd_fields_count(struct odd_fields *odd, const char *path, const char *suffix,
                     struct sheaf_error *err)
{
    int code;

    if (strchr(suffix, '.') == NULL)
        return SHEAF_OK;
    odd->files++;
    if (odd->example == NULL)
        odd->example = strdup(path);
    if (odd->example == NULL)
        return err_memory(err, strlen(path));
    if (odd->different.count == FIELDS_MOST)
        return SHEAF_OK;
    code = keyset_check(&odd->different, suffix, err);
    if (code == SHEAF_OK)
        keyset_add(&odd->different, suffix);
    return code == SHEAF_ERR_EXISTS ? SHEAF_OK : code;
}

void odd_fields_tell(const struct odd_fields *odd, const struct problems *problems)
{
    const size_t count = odd->different.count;

    if (odd->files < FILES_LEAST || (count < FIELDS_MOST && 2 * count < odd->files))
        return;
    problems_note(problems, SHEAF_REASON_ODD_FIELDS, odd->example, "%s%zu different fields with a "
                  "dot in %llu file%s, such as \"%s\" of %s: names are cut at their first dot",
                  count == FIELDS_MOST ? "at least " : "", count, (unsigned long long)odd->files,
                  plural(odd->files), strchr(strrchr(odd->example, '/') == NULL
                                             ? odd->example : strrchr(odd->example, '/'), '.') + 1,
                  odd->example);
}

void odd_fields_free(struct odd_fields *odd)
{
    keyset_free(&odd->different);
    free(odd->example);
    *odd = (struct odd_fields){ .files = 0 };
}
