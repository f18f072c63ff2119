/* SPDX-License-Identifier: MIT
 *
 * Recognises the two texts by which a run shows that it has not finished. One is the stand-in,
 * which the run leaves in dataset.json in place of the manifest. The other is the claim, a file
 * that says which run works in the directory. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "formats/manifest.h"

bool manifest_is_unfinished(const char *text, size_t size, char run[33])
{
    return text != NULL && size < MANIFEST_UNFINISHED_LIMIT &&
           sscanf(text, "{\"unfinished\": \"%32[0-9a-f]\"}", run) == 1;
}

bool manifest_is_dropped(const char *text, size_t size, char date[MANIFEST_DATE_BYTES])
{
    char run[33];

    return text != NULL && size < MANIFEST_UNFINISHED_LIMIT &&
           sscanf(text, "{\"unfinished\": \"%32[0-9a-f]\", \"dropped\": \"%20[0-9TZ:-]\"}", run,
                  date) == 2;
}

bool manifest_claim_keeps(const char *text, size_t size)
{
    return strlen(text) == size && strncmp(text, "sheaf-plan ", 11) == 0 &&
           (strstr(text, "\nstate grows\n") != NULL || strstr(text, "\nstate indexes\n") != NULL);
}

int manifest_refuse_unfinished(const char *directory, struct sheaf_error *err)
{
    size_t size = strlen(directory);

    while (size > 1 && directory[size - 1] == '/')
        size--;
    return err_because(err, err_set(err, SHEAF_ERR_NOT_FOUND, "%.*s: " MANIFEST_HOLDS_UNFINISHED,
                                    (int)size, directory), SHEAF_REASON_UNFINISHED);
}
