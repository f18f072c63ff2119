/* SPDX-License-Identifier: MIT
 *
 * sheaf_column_drop: removes a column from a data set. A column consists of one or more layers.
 * Each layer is a data set with shards and a manifest.
 *
 * To remove a layer, the drop first claims the layer: it writes a file that names the only run that
 * may change the layer. A run that is still writing the layer finds the new claim and stops. The
 * drop then removes the manifest of the layer, and after it the other files. Files whose names do
 * not belong to a column stay.
 *
 * The manifest of the first layer is removed before all other files, so that readers see either the
 * whole column or no column.
 *
 * In a store such as S3, a run may check its claim just before the drop, and publish its manifest
 * just after the drop. To prevent this, the drop does not delete the manifest, but replaces it by a
 * short file, the stand-in. The run publishes its manifest only if the old file has not changed
 * meanwhile. So the stand-in makes the run fail.
 *
 * On a local disk, no stand-in is needed. There the drop takes over the directory through which the
 * run publishes files (store/stage.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash_text.h"
#include "columns/column_write.h"
#include "publish/journal.h"
#include "publish/several.h"
#include "store/file_system.h"
#include "store/over.h"
#include "store/stage.h"

/* ---- One layer ------------------------------------------------------------------------------- */

/* A layer that is being removed. */
struct dropped_layer {
    char *directory;
    int lock;
    struct journal journal;
    bool is_claimed;
    bool is_column;             /* true if there is any file except a stand-in */
    /* runs several removals of files at the same time */
    struct several several;
    struct sheaf_error *error;
};

static bool is_columns_file(const void *context, const char *name)
{
    static const char *const names[] = { MANIFEST_NAME, INDEX_NAME, KEYS_NAME };
    unsigned long long number;
    int end = 0;

    (void)context;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return sscanf(name, "column-%llu.tfrecord%n", &number, &end) == 1 && end != 0 &&
           name[end] == '\0';
}

/* Reads the manifest of the layer (a data set of the column). Sets *is_dropped to true if the file
 * is only a stand-in, a short file with which an earlier drop has replaced the manifest. */
static int column_drop_look(const struct dropped_layer *l, const char *url,
                            struct store_seen *seen, bool *is_dropped)
{
    char date[MANIFEST_DATE_BYTES] = "";
    int code = store_see(url, seen, l->error);

    if (code == SHEAF_OK && seen->is_there && seen->bytes < MANIFEST_UNFINISHED_LIMIT)
        code = column_read_drop(url, date, l->error);
    *is_dropped = date[0] != '\0';
    return code == SHEAF_ERR_NOT_FOUND || code == SHEAF_ERR_LIMIT ? SHEAF_ERR_CHANGED : code;
}

static int put_stand_in(const struct dropped_layer *l, const char *url,
                        const struct store_seen *seen)
{
    const time_t now = time(NULL);
    char text[MANIFEST_UNFINISHED_LIMIT], date[MANIFEST_DATE_BYTES] = "";
    struct store_seen put;
    struct tm parts;

    if (gmtime_r(&now, &parts) != NULL)
        strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &parts);
    snprintf(text, sizeof(text), MANIFEST_DROPPED, l->journal.plan.run, date);
    return store_put_over(url, text, strlen(text), seen, &put, l->error);
}

#define WITHDRAW_TRIES 5        /* Each run that lost its claim can interfere once. */

/* Removes the manifest of the layer (a data set of the column). In a store such as S3, replaces the
 * manifest by a stand-in, a short file that stays.
 *
 * The stand-in stops another run that still writes the layer. That run publishes its manifest only
 * if the file has not changed since the run looked at it. */
static int withdraw(struct dropped_layer *l)
{
    char *url = store_join(l->directory, MANIFEST_NAME);
    int code = url == NULL ? err_memory(l->error, strlen(l->directory)) : SHEAF_ERR_CHANGED;

    for (int i = 0; i < WITHDRAW_TRIES && code == SHEAF_ERR_CHANGED; i++) {
        struct store_seen seen;
        bool is_dropped = false;

        code = column_drop_look(l, url, &seen, &is_dropped);
        if (code != SHEAF_OK)
            continue;
        l->is_column |= seen.is_there && !is_dropped;
        code = journal_check(&l->journal, l->error);
        if (code != SHEAF_OK)
            break;
        if (l->journal.stage == NULL)
            code = put_stand_in(l, url, &seen);
        else if (seen.is_there)
            code = journal_remove_seen(&l->journal, url, &seen, l->error);
    }
    free(url);
    return code;
}

static int drop_find_entry(void *context, const char *name, struct sheaf_error *err)
{
    (void)name;
    (void)err;
    *(bool *)context = true;
    return SHEAF_OK;
}

static int drop_find_file(void *context, const struct store_entry *entry)
{
    *(bool *)context |= strcmp(entry->name, MANIFEST_NAME) != 0 &&
                        is_columns_file(NULL, entry->name);
    return SHEAF_OK;
}

/* Sets l->is_column if the layer (a data set of the column) has files other than a manifest. */
static int find_layer_files(struct dropped_layer *l)
{
    int code = store_list(l->directory, drop_find_file, &l->is_column, l->error);

    if (code == SHEAF_OK || code == SHEAF_ERR_NOT_FOUND)
        code = journal_list(l->directory, drop_find_entry, &l->is_column, l->error);
    return code == SHEAF_ERR_NOT_FOUND ? SHEAF_OK : code;
}

/* Sets l->is_column if the layer (a data set of the column) has any file. The stand-in, which an
 * earlier drop has left instead of a manifest, does not count. */
static int find_anything(struct dropped_layer *l)
{
    char *url = store_join(l->directory, MANIFEST_NAME);
    struct store_seen seen;
    bool is_dropped = false;
    int code = url == NULL ? err_memory(l->error, strlen(l->directory)) : find_layer_files(l);

    if (code == SHEAF_OK && !l->is_column)
        code = column_drop_look(l, url, &seen, &is_dropped);
    if (code == SHEAF_OK && !l->is_column)
        l->is_column = seen.is_there && !is_dropped;
    free(url);
    return code;
}

/* Takes the claim of the layer (a data set of the column). The claim is a file that names the only
 * run that may write the layer. If another run is writing the layer, this run loses the claim and
 * stops. */
static int column_drop_claim(struct dropped_layer *l)
{
    struct journal *j = &l->journal;
    struct journal_plan holder = { .run = "" };
    struct store_seen seen;
    int code = store_lock(l->directory, false, &l->lock, l->error);

    if (code == SHEAF_OK)
        code = journal_open(j, l->directory, l->error);
    if (code != SHEAF_OK)
        return code;
    hash_text(XXH3_128bits("drop", 4), j->plan.hash);
    snprintf(j->plan.prefix, sizeof(j->plan.prefix), "column");
    j->plan.split_count = 1;
    code = journal_load(j, &holder, &seen, l->error);
    if (code == SHEAF_OK || code == SHEAF_END || code == SHEAF_ERR_CORRUPT)
        code = journal_claim(j, &seen, holder.run, CLAIM_REPLACES, l->error);
    l->is_claimed = code == SHEAF_OK;
    return code;
}

static int column_drop_remove_file(void *context, const char *name, const struct store_seen *listed,
                                   struct sheaf_error *err)
{
    const struct dropped_layer *l = context;

    (void)listed;
    return journal_remove_in(&l->journal, l->directory, name, err);
}

static int column_drop_take_file(void *context, const struct store_entry *entry)
{
    struct dropped_layer *l = context;

    if (strcmp(entry->name, MANIFEST_NAME) == 0 || !is_columns_file(NULL, entry->name))
        return SHEAF_OK;
    return several_add(&l->several, entry->name, NULL, l->error);
}

/* Removes all files of a layer (a data set of the column) except its manifest, which must have been
 * removed before. The shards and indexes are removed first, then incomplete uploads, then the
 * journal (the list of finished shards). The claim is removed last, because it prevents other runs
 * from writing the layer meanwhile. */
static int remove_files(struct dropped_layer *l)
{
    int code = several_open(&l->several, l->directory, column_drop_remove_file, l, l->error);

    if (code == SHEAF_OK)
        code = store_list(l->directory, column_drop_take_file, l, l->error);
    code = several_close(&l->several, code == SHEAF_ERR_NOT_FOUND ? SHEAF_OK : code, l->error);
    if (code == SHEAF_OK)
        code = journal_remove_temporaries(l->directory, l->error);
    if (code == SHEAF_OK && !store_is_local(l->directory))
        (void)store_clean(l->directory, is_columns_file, NULL, NULL, NULL);
    if (code == SHEAF_OK)
        code = journal_clear(&l->journal, l->error);
    return code == SHEAF_OK ? store_sync(l->directory, l->error) : code;
}

static void close_layer(struct dropped_layer *l)
{
    store_unlock(l->lock);
    journal_close(&l->journal);
    free(l->directory);
}

/* Removes the temporary directory (stage) of a run that was killed before it claimed the layer, a
 * data set of the column. Such a run leaves nothing else. */
static int remove_stage(const struct dropped_layer *l)
{
    char *partial = store_join(l->directory, STORE_PARTIAL);
    const int code = partial == NULL ? err_memory(l->error, strlen(l->directory))
                                     : stage_drop(partial, NULL, NULL, l->error);

    free(partial);
    return code == SHEAF_ERR_NOT_FOUND ? SHEAF_OK : code;
}

/* Claims a layer (a data set of the column) and withdraws its manifest. A layer that is empty, or
 * holds only the stand-in of an earlier drop, need not be claimed. In such a layer, the function
 * only removes the temporary directory of a killed run. */
static int claim_layer(const struct sheaf_dataset *base, const char *name, size_t layer,
                      struct dropped_layer *l, struct sheaf_error *err)
{
    int code;

    *l = (struct dropped_layer){ .lock = -1, .error = err };
    code = column_directory(base, name, layer, &l->directory, err);
    if (code == SHEAF_OK)
        code = find_anything(l);
    if (code != SHEAF_OK || !l->is_column)
        return code == SHEAF_OK ? remove_stage(l) : code;
    code = column_drop_claim(l);
    return code == SHEAF_OK ? withdraw(l) : code;
}

/* ---- The column ------------------------------------------------------------------------------ */

struct drop {
    struct sheaf_dataset *base;
    const char *name;
    size_t layers[COLUMN_LAYERS_MOST];
    size_t layer_count;
    bool is_column;
    struct sheaf_error *error;
};

static int take_layer(void *context, const struct store_entry *entry)
{
    struct drop *d = context;
    char *end;
    const bool is_number = entry->name[0] >= '1' && entry->name[0] <= '9';
    const unsigned long layer = strtoul(entry->name, &end, 10);

    if (is_number && layer <= COLUMN_LAYERS_MOST && (*end == '\0' || strcmp(end, "/") == 0) &&
        d->layer_count < COLUMN_LAYERS_MOST)
        d->layers[d->layer_count++] = layer;
    return SHEAF_OK;
}

/* Removes a directory of the column from a local disk. Does nothing if the directory still contains
 * files, because these files do not belong to the column. In an object store, directories do not
 * exist. Returns true if a directory was removed. */
static bool remove_directory(const struct drop *d, const char *name, size_t layer)
{
    char *url = NULL;
    const bool is_removed = column_directory(d->base, name, layer, &url, NULL) == SHEAF_OK &&
                            store_is_local(url) && rmdir(local_path(url)) == 0;

    free(url);
    return is_removed;
}

static int compare_layers(const void *a, const void *b)
{
    const size_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Removes a whole layer. */
static int drop_layer(struct drop *d, size_t layer)
{
    struct dropped_layer l;
    int code = claim_layer(d->base, d->name, layer, &l, d->error);

    d->is_column |= l.is_column;
    if (code == SHEAF_OK && l.is_claimed)
        code = remove_files(&l);
    close_layer(&l);
    return code;
}

/* Removes all layers (data sets) of the column. The claim of the first layer is a file that
 * prevents other runs from writing the column. This file is removed last. Otherwise another run
 * could add the column again while files of old layers still exist. */
static int drop_layers(struct drop *d)
{
    struct dropped_layer first;
    int code;

    if (d->layer_count == 0)
        return SHEAF_OK;
    code = claim_layer(d->base, d->name, d->layers[0], &first, d->error);
    d->is_column |= first.is_column;
    for (size_t i = 1; i < d->layer_count && code == SHEAF_OK; i++)
        code = drop_layer(d, d->layers[i]);
    if (code == SHEAF_OK && first.is_claimed)
        code = remove_files(&first);
    close_layer(&first);
    return code;
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
    if (code == SHEAF_OK)
        code = drop_layers(d);
    /* A run that failed before its first file has left an empty directory. */
    for (size_t i = 0; i < d->layer_count && code == SHEAF_OK; i++)
        d->is_column |= remove_directory(d, d->name, d->layers[i]);
    (void)remove_directory(d, d->name, 0);
    (void)remove_directory(d, NULL, 0);
    return code == SHEAF_OK && !d->is_column ? column_refuse_absent(d->base, d->name, d->error)
                                             : code;
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
    if (code == SHEAF_OK)
        column_views_tell(d->base, name);
    sheaf_dataset_free(d->base);
    free(d);
    return code;
}
