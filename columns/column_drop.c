/* SPDX-License-Identifier: MIT
 *
 * sheaf_column_drop: removes a column. A column is stored in layers, each of which is a data set.
 * The manifest of the first layer is removed first, so that readers see either the whole column or
 * nothing of it. A file is removed only if its name is one that the files of a column can have. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "columns/column_write.h"
#include "publish/journal.h"
#include "store/file_system.h"
#include "store/stage.h"
#include "store/store.h"

struct drop {
    struct sheaf_dataset *base;
    const char *name;
    size_t layers[COLUMN_LAYERS_MOST];
    size_t layer_count;
    char *directory;            /* of the layer whose files are removed */
    struct buf files;           /* names found in it, each with a NUL */
    uint64_t removed;
    struct sheaf_error *error;
};

static bool is_columns_file(const void *context, const char *name)
{
    static const char *const names[] = { MANIFEST_NAME, INDEX_NAME, KEYS_NAME, SKIPPED_NAME,
                                         CONVERTED_NAME };
    unsigned long long number;
    int end = 0;

    (void)context;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return sscanf(name, "column-%llu.tfrecord%n", &number, &end) == 1 && end != 0 &&
           name[end] == '\0';
}

static int take_layer(void *context, const struct store_entry *entry)
{
    struct drop *d = context;
    char *end;
    const unsigned long layer = strtoul(entry->name, &end, 10);

    if (layer != 0 && layer <= COLUMN_LAYERS_MOST && (*end == '\0' || strcmp(end, "/") == 0) &&
        d->layer_count < COLUMN_LAYERS_MOST)
        d->layers[d->layer_count++] = layer;
    return SHEAF_OK;
}

static int column_drop_take_file(void *context, const struct store_entry *entry)
{
    struct drop *d = context;

    return is_columns_file(NULL, entry->name)
           ? buf_append(&d->files, entry->name, strlen(entry->name) + 1, d->error) : SHEAF_OK;
}

static int column_drop_remove_file(struct drop *d, const char *directory, const char *name)
{
    char *url = store_join(directory, name);
    const int code = url == NULL ? err_memory(d->error, strlen(name))
                                 : store_remove(url, d->error);

    d->removed += code == SHEAF_OK;
    free(url);
    return code;
}

/* Lists the files of the layer's directory. */
static int column_drop_list_files(struct drop *d)
{
    const int code = store_list(d->directory, column_drop_take_file, d, d->error);

    return code == SHEAF_ERR_NOT_FOUND ? SHEAF_OK : code;
}

static int remove_files(struct drop *d)
{
    int code = column_drop_list_files(d);

    for (size_t at = 0; at < d->files.size && code == SHEAF_OK;) {
        const char *name = (const char *)d->files.data + at;

        at += strlen(name) + 1;
        code = column_drop_remove_file(d, d->directory, name);
    }
    return code;
}

static int column_drop_take_entry(void *context, const char *name, struct sheaf_error *err)
{
    struct drop *d = context;

    return buf_append(&d->files, name, strlen(name) + 1, err);
}

/* Removes everything that is needed to resume an interrupted run: its staged files, its claim (the
 * file that says which run writes here), its journal and its incomplete uploads. After this, the
 * interrupted run can no longer publish the column. */
static int remove_run(struct drop *d)
{
    char *partial = store_join(d->directory, STORE_PARTIAL);
    int code = partial == NULL ? err_memory(d->error, strlen(d->directory))
                               : stage_drop(partial, NULL, NULL, d->error);

    if (code == SHEAF_OK)
        code = journal_list(d->directory, column_drop_take_entry, d, d->error);
    code = code == SHEAF_ERR_NOT_FOUND ? SHEAF_OK : code;
    for (size_t at = 0; at < d->files.size && code == SHEAF_OK;) {
        const char *name = (const char *)d->files.data + at;

        at += strlen(name) + 1;
        code = column_drop_remove_file(d, partial, name);
    }
    if (code == SHEAF_OK)
        code = journal_remove_temporaries(d->directory, d->error);
    d->files.size = 0;
    free(partial);
    if (code == SHEAF_OK && !store_is_local(d->directory))
        (void)store_clean(d->directory, is_columns_file, NULL, NULL, NULL);
    return code;
}

/* Removes the manifest of a layer (one of the data sets in which a column is stored), if the layer
 * has a manifest. */
static int remove_manifest(struct drop *d, size_t layer)
{
    uint64_t bytes;
    char *url = NULL, *manifest;
    int code = column_directory(d->base, d->name, layer, &url, d->error);

    if (code != SHEAF_OK)
        return code;
    manifest = store_join(url, MANIFEST_NAME);
    code = manifest == NULL ? err_memory(d->error, strlen(url))
                            : store_size(manifest, &bytes, d->error);
    if (code == SHEAF_OK)
        code = column_drop_remove_file(d, url, MANIFEST_NAME);
    free(manifest);
    free(url);
    return code == SHEAF_ERR_NOT_FOUND ? SHEAF_OK : code;
}

static int remove_layer(struct drop *d, size_t layer)
{
    int lock = -1;
    int code = column_directory(d->base, d->name, layer, &d->directory, d->error);

    if (code == SHEAF_OK)
        code = store_lock(d->directory, false, &lock, d->error);
    d->files = (struct buf)BUF_INIT(SIZE_MAX / 4);
    if (code == SHEAF_OK)
        code = remove_run(d);
    /* The interrupted run may have published this layer of the column just before it stopped, so
     * the layer's manifest is removed as well. */
    if (code == SHEAF_OK)
        code = remove_manifest(d, layer);
    if (code == SHEAF_OK)
        code = remove_files(d);
    if (code == SHEAF_OK)
        code = store_sync(d->directory, d->error);
    store_unlock(lock);
    buf_free(&d->files);
    free(d->directory);
    return code;
}

/* Removes a directory of the column. The directory stays if it contains files that do not belong to
 * the column. */
static void remove_directory(const struct drop *d, const char *name, size_t layer)
{
    char *url = NULL;

    if (column_directory(d->base, name, layer, &url, NULL) == SHEAF_OK && store_is_local(url))
        (void)rmdir(local_path(url));
    free(url);
}

static int compare_layers(const void *a, const void *b)
{
    const size_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static int drop_column(struct drop *d)
{
    char *url = NULL;
    int code = column_directory(d->base, d->name, 0, &url, d->error);

    if (code == SHEAF_OK)
        code = store_list_directories(url, take_layer, d, d->error);
    free(url);
    code = code == SHEAF_ERR_NOT_FOUND ? SHEAF_OK : code;
    qsort(d->layers, d->layer_count, sizeof(d->layers[0]), compare_layers);
    for (size_t i = 0; i < d->layer_count && code == SHEAF_OK; i++)
        code = remove_manifest(d, d->layers[i]);
    for (size_t i = 0; i < d->layer_count && code == SHEAF_OK; i++)
        code = remove_layer(d, d->layers[i]);
    for (size_t i = 0; i < d->layer_count && code == SHEAF_OK; i++)
        remove_directory(d, d->name, d->layers[i]);
    remove_directory(d, d->name, 0);
    remove_directory(d, NULL, 0);
    if (code == SHEAF_OK && d->removed == 0)
        code = err_set(d->error, SHEAF_ERR_NOT_FOUND, "%s: has no column %s", d->base->url,
                       d->name);
    return code;
}

int sheaf_column_drop(const char *dataset, const char *name, struct sheaf_error *error)
{
    struct drop *d = calloc(1, sizeof(*d));
    struct sheaf_error own_error;
    int code;

    error = error != NULL ? error : &own_error;
    if (d == NULL)
        return err_memory(error, sizeof(*d));
    d->name = name;
    d->error = error;
    code = column_check_name(name, error);
    if (code == SHEAF_OK)
        code = column_base_open(dataset, &d->base, error);
    if (code == SHEAF_OK)
        code = drop_column(d);
    sheaf_dataset_free(d->base);
    free(d);
    return code;
}
