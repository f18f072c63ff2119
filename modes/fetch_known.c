/* SPDX-License-Identifier: MIT
 *
 * Finds the hashes of shards in the manifests (the files dataset.json) of a source. If a file
 * dataset.json is not a manifest of Sheaf, it is treated like any other file. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/manifest.h"
#include "modes/fetch.h"
#include "modes/safe_path.h"

struct by_name {
    const struct object **items;
    size_t count;
};

static int fetch_known_compare(const void *a, const void *b)
{
    const struct object *const *x = a, *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

static const struct object *fetch_known_do_find(const struct by_name *b, const char *name)
{
    const struct object wanted = { .name = name }, *key = &wanted;
    const struct object **found = bsearch(&key, b->items, b->count, sizeof(key),
                                          fetch_known_compare);

    return found == NULL ? NULL : *found;
}

static int fetch_known_note(struct fetch_known *k, const struct objects *o,
                            const struct by_name *names, const char *directory, int directory_size,
                            const struct manifest_shard *shard, struct sheaf_error *err)
{
    const struct object *object;
    char *name;

    if (asprintf(&name, "%.*s%s", directory_size, directory, shard->name) < 0)
        return err_memory(err, (size_t)directory_size);
    object = fetch_known_do_find(names, name);
    free(name);
    if (object == NULL)
        return SHEAF_OK;        /* fetching a part of a data set is allowed */
    if (object->bytes != OBJECT_UNKNOWN && object->bytes != shard->bytes)
        return err_set(err, SHEAF_ERR_CORRUPT, "%s: has %llu byte%s, the data set's manifest "
                       "says %llu", object->name, (unsigned long long)object->bytes,
                       plural(object->bytes), (unsigned long long)shard->bytes);
    k->hashes[object - o->items] = arena_text(&k->arena, shard->xxh3, strlen(shard->xxh3));
    return k->hashes[object - o->items] == NULL ? err_memory(err, 33) : SHEAF_OK;
}

static int fetch_known_read_manifest(struct fetch_known *k, const struct objects *o,
                                     const struct by_name *names, const struct object *object,
                                     struct sheaf_error *err)
{
    const int directory = (int)(safe_path_base(object->name) - object->name);
    char *url = object_url(o, object), *text = NULL;
    struct manifest m = { 0 };
    size_t size = 0;
    int parsed = SHEAF_END, code = url == NULL ? err_memory(err, strlen(object->name))
                           : store_get(url, MANIFEST_LIMIT, &text, &size, err);

    free(url);
    if (code == SHEAF_OK)
        parsed = manifest_parse(text, size, &m, err);
    if (parsed == SHEAF_ERR_MEMORY)
        code = parsed;
    if (parsed == SHEAF_OK)
        for (size_t i = 0; i < m.shard_count && code == SHEAF_OK; i++)
            if (m.shards[i].xxh3[0] != '\0')
                code = fetch_known_note(k, o, names, object->name, directory, &m.shards[i], err);
    manifest_clear(&m);
    free(text);
    return code;
}

int fetch_known_find(struct fetch_known *k, const struct objects *o, struct sheaf_error *err)
{
    struct by_name names = { calloc(MAX(o->count, 1), sizeof(names.items[0])), o->count };
    int code = SHEAF_OK;

    *k = (struct fetch_known){ .hashes = calloc(MAX(o->count, 1), sizeof(k->hashes[0])) };
    if (names.items == NULL || k->hashes == NULL)
        code = err_memory(err, o->count * sizeof(names.items[0]));
    for (size_t i = 0; i < o->count && code == SHEAF_OK; i++)
        names.items[i] = &o->items[i];
    if (code == SHEAF_OK)
        qsort(names.items, names.count, sizeof(names.items[0]), fetch_known_compare);
    for (size_t i = 0; i < o->count && code == SHEAF_OK; i++)
        if (strcmp(safe_path_base(o->items[i].name), MANIFEST_NAME) == 0)
            code = fetch_known_read_manifest(k, o, &names, &o->items[i], err);
    free(names.items);
    return code;
}

void fetch_known_free(struct fetch_known *k)
{
    free(k->hashes);
    arena_free(&k->arena);
    k->hashes = NULL;
}
