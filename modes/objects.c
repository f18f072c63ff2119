/* SPDX-License-Identifier: MIT
 *
 * Builds the list of the objects of a source; see objects.h. */
#include "modes/objects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "store/etag.h"
#include "store/store.h"

static const uint8_t *keep_md5(struct objects *o, const char *etag)
{
    uint8_t md5[MD5_BYTES], *kept = etag_md5(etag, md5) ? arena_take(&o->arena, MD5_BYTES) : NULL;

    return kept == NULL ? NULL : memcpy(kept, md5, MD5_BYTES);
}

int objects_add(struct objects *o, const struct object *found, const char *etag,
                struct sheaf_error *err)
{
    struct object *item;

    if (o->count == o->capacity) {
        const size_t capacity = MAX(2 * o->capacity, (size_t)256);
        void *grown = reallocarray(o->items, capacity, sizeof(*item));

        if (grown == NULL)
            return err_memory(err, capacity * sizeof(*item));
        o->items = grown;
        o->capacity = capacity;
    }
    if (o->count >= UINT32_MAX)
        return err_set(err, SHEAF_ERR_LIMIT, "more than %u objects", UINT32_MAX);
    item = &o->items[o->count];
    *item = *found;
    item->name = arena_text(&o->arena, found->name, strlen(found->name));
    if (item->name != NULL && found->url != NULL)
        item->url = arena_text(&o->arena, found->url, strlen(found->url));
    if (item->name != NULL && found->text != NULL)
        item->text = arena_text(&o->arena, found->text, found->bytes);
    if (item->name == NULL || (found->url != NULL && item->url == NULL) ||
        (found->text != NULL && item->text == NULL))
        return err_memory(err, strlen(found->name));
    item->md5 = keep_md5(o, etag);
    o->count++;
    return SHEAF_OK;
}

int object_answer(struct objects *o, struct object *object, const struct store_stat *stat,
                  struct sheaf_error *err)
{
    if (stat->bytes == OBJECT_UNKNOWN)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: a stream, not an object", stat->url);
    object->bytes = stat->bytes;
    object->stamp = stat->stamp;
    object->modified_s = stat->modified_s;
    object->md5 = keep_md5(o, stat->etag);
    return SHEAF_OK;
}

int objects_end_unit(struct objects *o, struct sheaf_error *err)
{
    const size_t n = o->unit_count;

    /* The array has n + 1 numbers, and its capacity is a power of two. So if n + 1 is a power of
     * two, the array is full and must be doubled. For n = 0, it is allocated. */
    if ((n & (n + 1)) == 0) {
        void *grown = reallocarray(o->units, 2 * (n + 1), sizeof(o->units[0]));

        if (grown == NULL)
            return err_memory(err, 2 * (n + 1) * sizeof(o->units[0]));
        o->units = grown;
        o->units[0] = 0;
    }
    o->units[++o->unit_count] = o->count;
    return SHEAF_OK;
}

void objects_free(struct objects *o)
{
    free(o->items);
    free(o->units);
    free(o->root);
    arena_free(&o->arena);
    *o = (struct objects){ 0 };
}

char *object_url(const struct objects *o, const struct object *object)
{
    char *url;

    if (object->url != NULL)
        return strdup(object->url);
    return asprintf(&url, "%s%s", o->root, object->name) < 0 ? NULL : url;
}
