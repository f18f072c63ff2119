/* SPDX-License-Identifier: MIT
 *
 * Stores manifests in a cache and finds them there; see kept_manifest.h. */
#include "reader/dataset/kept_manifest.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "formats/manifest.h"
#include "store/cache_kept.h"
#include "store/store.h"

/* Directory of the cache with which this thread opens data sets offline. NULL if this thread uses
 * the servers of the data sets. */
static _Thread_local const char *offline;

/* Returns the name under which the manifest of a data set is stored in the cache: the URL of its
 * directory, without passwords and without a slash at the end. The caller must free the result. */
static char *kept_manifest_kept_name(const char *source)
{
    static const char file[] = "/" MANIFEST_NAME;
    char *name = text_shown_url(source);
    size_t size = name == NULL ? 0 : strlen(name);

    if (size >= strlen(file) && strcmp(name + size - strlen(file), file) == 0)
        size -= strlen(file);
    while (size > 0 && name[size - 1] == '/')
        size--;
    if (name != NULL)
        name[size] = '\0';
    return name;
}

void kept_manifest_put(const struct cache *cache, const char *source, const char *text)
{
    char *name = kept_manifest_kept_name(source);

    if (name != NULL)
        cache_keep(cache, name, text, strlen(text));
    free(name);
}

const char *kept_manifest_offline(const char *directory)
{
    const char *before = offline;

    offline = directory;
    return before;
}

bool kept_manifest_is_offline(const char *source)
{
    return offline != NULL && store_is_remote(source);
}

const char *kept_manifest_directory(void)
{
    return offline;
}

int kept_manifest_get(const char *source, char **text, size_t *size, struct sheaf_error *err)
{
    char *name = kept_manifest_kept_name(source);
    struct sheaf_error found;
    int code = name == NULL ? err_memory(err, strlen(source))
                            : cache_kept(offline, name, text, size, &found);

    free(name);
    if (code == SHEAF_OK || code == SHEAF_ERR_MEMORY)
        return code;
    if (code != SHEAF_ERR_NOT_FOUND)
        return err_set(err, code, "%s", found.message);
    return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: cannot be opened offline, because the cache %s "
                   "has no manifest of it: read it once with this cache while its server can be "
                   "reached", source, offline);
}
