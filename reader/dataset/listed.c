/* SPDX-License-Identifier: MIT
 *
 * Opens listed objects; see listed.h. */
#include "reader/dataset/listed.h"

#include <inttypes.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/content.h"
#include "reader/dataset/kept_manifest.h"

int listed_open_cache(const struct sheaf_dataset *d, struct cache **cache, struct sheaf_error *err)
{
    const char *directory = d->offline != NULL ? d->offline : kept_manifest_directory();
    int code;

    *cache = NULL;
    if (directory == NULL || !d->is_remote)
        return SHEAF_OK;
    code = cache_open(cache, directory, UINT64_MAX, err);
    if (code == SHEAF_OK)
        cache_go_offline(*cache);
    return code;
}

int listed_open_any(struct cache *cache, const char *url, struct store_object **object,
                    struct sheaf_error *err)
{
    int code = store_open(url, object, err);

    if (code != SHEAF_OK || cache == NULL)
        return code;
    code = cache_wrap(cache, object, err);
    if (code != SHEAF_OK) {
        store_close(*object);
        *object = NULL;
    }
    return code;
}

int listed_open_known(struct cache *cache, const struct sheaf_dataset *source, const char *url,
                      const char *proof, uint64_t bytes, struct store_object **object,
                      struct sheaf_error *err)
{
    if (source->is_remote && cache == NULL)
        return store_open_known(url, bytes, 0, object, err);
    if (source->is_remote && proof[0] != '\0')
        return cache_open_known(cache, url, proof, bytes, object, err);
    return listed_open_any(cache, url, object, err);
}

int listed_check_kind(struct store_object *object, const char *url, uint64_t bytes,
                      struct sheaf_error *err)
{
    uint8_t begins[512];
    const size_t size = (size_t)MIN(object->bytes, sizeof(begins));

    if (object->bytes == bytes || object->is_stream ||
        store_read(object, 0, begins, size, NULL) != SHEAF_OK)
        return SHEAF_OK;
    return content_check(begins, size, "a file of the data set", err) == SHEAF_OK
         ? SHEAF_OK : err_prefix(err, "%s: ", url);
}

int listed_open(struct cache *cache, const struct sheaf_dataset *source, const char *url,
                const char *proof, uint64_t bytes, struct store_object **object,
                struct sheaf_error *err)
{
    int code = listed_open_known(cache, source, url, proof, bytes, object, err);

    if (code != SHEAF_OK || (*object)->bytes == bytes)
        return code;
    code = listed_check_kind(*object, url, bytes, err);
    if (code == SHEAF_OK)
        code = err_set(err, SHEAF_ERR_CHANGED, "%s: has %" PRIu64 " byte%s, but the manifest says "
                       "%" PRIu64, url, (*object)->bytes, plural((*object)->bytes), bytes);
    store_close(*object);
    *object = NULL;
    return code;
}
