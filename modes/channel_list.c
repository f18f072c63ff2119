/* SPDX-License-Identifier: MIT
 *
 * Opens a channel (an input of a SageMaker job) whose source is a manifest file, which lists
 * objects. These objects form the data set, as if File mode had copied them into one directory. */
#include "modes/channel_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/manifest.h"
#include "formats/object_list.h"
#include "reader/dataset/dataset.h"
#include "reader/dataset/shard_pattern.h"
#include "store/store.h"

struct shard_list {
    char **urls;
    size_t count, capacity;
    /* URL of the object dataset.json directly under the S3 prefix that the manifest file states;
     * NULL if the manifest file does not list this object */
    char *manifest;
};

static int channel_list_add_shard(struct shard_list *s, char *url, struct sheaf_error *err)
{
    if (s->count == s->capacity) {
        const size_t capacity = MAX(2 * s->capacity, (size_t)64);
        char **grown = reallocarray(s->urls, capacity, sizeof(grown[0]));

        if (grown == NULL) {
            free(url);
            return err_memory(err, capacity * sizeof(grown[0]));
        }
        s->urls = grown;
        s->capacity = capacity;
    }
    s->urls[s->count++] = url;
    return SHEAF_OK;
}

static int channel_list_add_entry(struct shard_list *s, const char *prefix, const char *entry,
                                  struct sheaf_error *err)
{
    const char *slash = strrchr(entry, '/'), *name = slash == NULL ? entry : slash + 1;
    char *url;

    if (asprintf(&url, "%s%s", prefix, entry) < 0)
        return err_memory(err, strlen(entry));
    if (strcmp(entry[0] == '/' ? entry + 1 : entry, MANIFEST_NAME) == 0) {
        free(s->manifest);
        s->manifest = url;
        return SHEAF_OK;
    }
    if (*name == '\0' || *name == '.' || shard_is_side_file(name)) {
        free(url);
        return SHEAF_OK;
    }
    return channel_list_add_shard(s, url, err);
}

static int channel_list_compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorts the shards in byte order of their names, like the shards in a directory. Removes the second
 * of two equal names. */
static void sort(struct shard_list *s)
{
    size_t kept = 0;

    if (s->count != 0)
        qsort(s->urls, s->count, sizeof(s->urls[0]), channel_list_compare);
    for (size_t i = 0; i < s->count; i++) {
        if (kept != 0 && strcmp(s->urls[kept - 1], s->urls[i]) == 0)
            free(s->urls[i]);
        else
            s->urls[kept++] = s->urls[i];
    }
    s->count = kept;
}

static int expand(struct shard_list *s, const char *url, const char *text, size_t size,
                  struct sheaf_error *err)
{
    struct object_list list;
    char *prefix = NULL;
    int code;

    object_list_begin(&list, url, text, size);
    code = object_list_prefix(&list, &prefix, err);
    while (code == SHEAF_OK) {
        json_t *entry;

        code = object_list_next(&list, &entry, err);
        if (code == SHEAF_OK)
            code = channel_list_add_entry(s, prefix, json_string_value(entry), err);
        json_decref(entry);
    }
    free(prefix);
    sort(s);
    return code == SHEAF_END ? SHEAF_OK : code;
}

static int channel_list_open_shards(const struct shard_list *s, const char *url,
                                    struct sheaf_dataset **dataset, struct sheaf_error *err)
{
    const char *const manifest[] = { s->manifest };

    if (s->manifest != NULL)
        return sheaf_dataset_open(manifest, 1, dataset, err);
    if (s->count == 0)
        return err_set(err, SHEAF_ERR_NOT_FOUND, "%s: a manifest that lists no shard", url);
    return dataset_open_foreign((const char *const *)s->urls, s->count, false, dataset, err);
}

int channel_list_open(const char *url, struct sheaf_dataset **dataset, struct sheaf_error *err)
{
    struct shard_list shards = { .count = 0 };
    char *text = NULL;
    size_t size = 0;
    int code = store_get(url, OBJECT_LIST_LIMIT, &text, &size, err);

    if (code == SHEAF_OK)
        code = expand(&shards, url, text, size, err);
    if (code == SHEAF_OK)
        code = channel_list_open_shards(&shards, url, dataset, err);
    for (size_t i = 0; i < shards.count; i++)
        free(shards.urls[i]);
    free(shards.urls);
    free(shards.manifest);
    free(text);
    return code;
}
