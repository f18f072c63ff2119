/* SPDX-License-Identifier: MIT
 *
 * Checks a data set before a column of it is published. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "formats/manifest_edit.h"
#include "publish/destination.h"
#include "publish/publish.h"

/* Removes the last name from a path or URL, and the slashes around the name. */
static void cut_name(char *url)
{
    size_t size = strlen(url);

    while (size > 1 && url[size - 1] == '/')
        size--;
    while (size > 0 && url[size - 1] != '/')
        size--;
    while (size > 1 && url[size - 1] == '/')
        size--;
    url[size] = '\0';
}

int publish_check_base(const char *layer, const char *base, struct sheaf_error *err)
{
    struct manifest now = { .shards = NULL };
    char *directory = strdup(layer);
    bool had = false;
    int code;

    if (directory == NULL)
        return err_memory(err, strlen(layer));
    for (int i = 0; i < 3; i++)         /* BASE/columns/NAME/LAYER */
        cut_name(directory);
    code = destination_read_manifest(directory[0] == '\0' ? "." : directory, &now, err);
    for (size_t part = 0; code == SHEAF_OK && part <= now.growth_count; part++)
        had |= strcmp(manifest_edit_fingerprint(&now, part), base) == 0;
    if (code == SHEAF_OK && !had)
        code = err_set(err, SHEAF_ERR_CHANGED, "%s: the data set was edited after the column was "
                       "begun: expected data set %s, found %s", directory, base, now.fingerprint);
    manifest_clear(&now);
    free(directory);
    return code == SHEAF_ERR_NOT_FOUND ? SHEAF_OK : code;
}
