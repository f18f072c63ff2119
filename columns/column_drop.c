/* SPDX-License-Identifier: MIT
 *
 * sheaf_column_drop: removes a column from a data set. A column consists of one or more layers.
 * Each layer is a data set with shards and a manifest.
 *
 * To remove a layer, the drop first claims the layer: it writes a file that names the only run that
 * may change the layer. A run that is still writing the layer finds the new claim and stops. The
 * drop then stores a copy of the manifest, removes the manifest, and after it the other files. If
 * the drop is killed, the next drop continues with the copy.
 *
 * Only files that Sheaf has written are removed: shards that the manifest or the journal names (the
 * journal lists the shards of an unfinished layer), the index and the table of keys. Files of other
 * programs stay, even if they have names of a column's files.
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
#include "publish/destination.h"
#include "publish/output_remove.h"
#include "publish/several.h"
#include "store/file_system.h"
#include "store/over.h"
#include "store/stage.h"

/* ---- One layer ------------------------------------------------------------------------------- */

/* A layer that is being removed. */
struct dropped_layer {
    char *directory;
    struct output output;
    bool is_claimed;
    bool is_column;             /* true if there is any file except a stand-in */
    /* runs several removals of files at the same time */
    struct several several;
    struct sheaf_error *error;
};

static bool is_columns_shard(const char *name)
{
    unsigned long long number;
    int end = 0;

    return sscanf(name, "column-%llu.tfrecord%n", &number, &end) == 1 && end != 0 &&
           name[end] == '\0';
}

static bool is_columns_file(const void *context, const char *name)
{
    static const char *const names[] = { MANIFEST_NAME, INDEX_NAME, KEYS_NAME };

    (void)context;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return is_columns_shard(name);
}

/* Returns whether the file is a manifest that was damaged later. A file of another program has no
 * key "sheaf". */
static bool is_damaged(const struct manifest_found *found)
{
    return found->kind == MANIFEST_UNREADABLE && found->fault.code == SHEAF_ERR_CORRUPT &&
           strstr(found->text, "\"sheaf\"") != NULL;
}

/* Reads the manifest of the layer (a data set of the column) into *found. Returns an error if the
 * file is neither the manifest of a column nor a stand-in. Sets l->is_column if there is a file,
 * except if it is the stand-in of an earlier drop. The caller must free *found. */
static int column_drop_look(struct dropped_layer *l, struct manifest_found *found)
{
    char date[MANIFEST_DATE_BYTES];
    struct column_facts facts;
    int code = destination_manifest(&l->output, l->directory, found, l->error);

    if (code != SHEAF_OK)
        return code;
    if (found->kind == MANIFEST_UNREADABLE && !is_damaged(found))
        return err_set(l->error, found->fault.code, "%s", found->fault.message);
    if (found->kind > MANIFEST_UNREADABLE)
        code = column_facts_read(&found->manifest, &facts, l->error);
    if (code != SHEAF_OK)
        return err_prefix(l->error, "%s: ", l->directory);
    l->is_column |= found->kind != MANIFEST_NONE &&
                    !manifest_is_dropped(found->text, found->size, date);
    return SHEAF_OK;
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
    snprintf(text, sizeof(text), MANIFEST_DROPPED, l->output.journal.plan.run, date);
    return store_put_over(url, text, strlen(text), seen, &put, l->error);
}

/* Removes the manifest that was found, and first stores a copy of it. In a store such as S3,
 * replaces the manifest by a stand-in, a short file that stays.
 *
 * The stand-in stops another run that still writes the layer (a data set of the column). That run
 * publishes its manifest only if the file has not changed since the run looked at it. */
static int column_drop_withdraw(const struct dropped_layer *l, const struct manifest_found *found)
{
    const struct journal *j = &l->output.journal;
    char *url = store_join(l->directory, MANIFEST_NAME);
    int code = url == NULL ? err_memory(l->error, strlen(l->directory)) : SHEAF_OK;

    if (code == SHEAF_OK && manifest_found_is_dataset(found))
        code = output_note_replaced(&l->output, l->directory, found, l->error);
    if (code == SHEAF_OK)
        code = journal_check(j, l->error);
    if (code == SHEAF_OK && j->stage == NULL)
        code = put_stand_in(l, url, &found->seen);
    else if (code == SHEAF_OK && found->seen.is_there)
        code = journal_remove_seen(j, url, &found->seen, l->error);
    free(url);
    return code;
}

#define WITHDRAW_TRIES 5        /* Each run that lost its claim can interfere once. */

static int withdraw(struct dropped_layer *l)
{
    int code = SHEAF_ERR_CHANGED;

    for (int i = 0; i < WITHDRAW_TRIES && code == SHEAF_ERR_CHANGED; i++) {
        struct manifest_found found;

        code = column_drop_look(l, &found);
        if (code == SHEAF_OK)
            code = column_drop_withdraw(l, &found);
        manifest_found_free(&found);
    }
    return code;
}

static int drop_find_entry(void *context, const char *name, struct sheaf_error *err)
{
    (void)name;
    (void)err;
    *(bool *)context = true;
    return SHEAF_OK;
}

/* Sets l->is_column if the layer (a data set of the column) has a manifest, or files of an
 * unfinished run or drop. The stand-in, which an earlier drop has left instead of a manifest, does
 * not count. */
static int find_anything(struct dropped_layer *l)
{
    struct manifest_found found;
    int code = column_drop_look(l, &found);

    manifest_found_free(&found);
    if (code == SHEAF_OK)
        code = journal_list(l->directory, drop_find_entry, &l->is_column, l->error);
    return code;
}

/* Takes the claim of the layer (a data set of the column). The claim is a file that names the only
 * run that may write the layer. If another run is writing the layer, this run loses the claim and
 * stops. */
static int column_drop_claim(struct dropped_layer *l)
{
    struct journal *j = &l->output.journal;
    struct journal_plan holder = { .run = "" };
    struct store_seen seen;
    int code = store_lock(l->directory, false, &l->output.lock, l->error);

    if (code != SHEAF_OK)
        return code;
    hash_text(XXH3_128bits("drop", 4), j->plan.hash);
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
    return output_remove(&l->output, l->directory, name, err);
}

static int column_drop_take_shard(void *context, const struct store_entry *entry)
{
    struct dropped_layer *l = context;

    return is_columns_shard(entry->name) ? several_add(&l->several, entry->name, NULL, l->error)
                                         : SHEAF_OK;
}

/* Removes the shards that the copy of the manifest names. If the copy is damaged, the names are
 * unknown, so all files with names of shards are removed. */
static int remove_published(struct dropped_layer *l)
{
    struct manifest m = { .shards = NULL };
    const int found = destination_read_replaced(l->directory, &m, l->error);
    int code;

    if (found != SHEAF_OK && found != SHEAF_ERR_CORRUPT)
        return found == SHEAF_ERR_NOT_FOUND ? SHEAF_OK : found;
    code = several_open(&l->several, l->directory, column_drop_remove_file, l, l->error);
    if (code == SHEAF_OK && found == SHEAF_ERR_CORRUPT)
        code = store_list(l->directory, column_drop_take_shard, l, l->error);
    for (size_t i = 0; i < m.shard_count && code == SHEAF_OK; i++)
        code = several_add(&l->several, m.shards[i].name, NULL, l->error);
    manifest_clear(&m);
    return several_close(&l->several, code, l->error);
}

/* Removes the shard to which a journal entry belongs. The name of an entry is SHARD.HASH.done. */
static int drop_take_entry(void *context, const char *name, struct sheaf_error *err)
{
    struct dropped_layer *l = context;
    char shard[SHARD_NAME_BYTES];
    const char *end = strstr(name, ".tfrecord."), *suffix = strrchr(name, '.');
    const size_t size = end == NULL ? 0 : (size_t)(end - name) + strlen(".tfrecord");

    if (size == 0 || size >= sizeof(shard) || strcmp(suffix, ".done") != 0)
        return SHEAF_OK;
    snprintf(shard, sizeof(shard), "%.*s", (int)size, name);
    return several_add(&l->several, shard, NULL, err);
}

/* Removes the shards that the journal names. */
static int remove_unpublished(struct dropped_layer *l)
{
    int code = several_open(&l->several, l->directory, column_drop_remove_file, l, l->error);

    if (code == SHEAF_OK)
        code = journal_list(l->directory, drop_take_entry, l, l->error);
    return several_close(&l->several, code, l->error);
}

/* Removes all files of a layer (a data set of the column) except its manifest, which must have been
 * removed before. The shards and indexes are removed first, then incomplete uploads, then the
 * journal (the list of finished shards) with the copy of the manifest. The claim is removed last,
 * because it prevents other runs from writing the layer meanwhile. */
static int remove_files(struct dropped_layer *l)
{
    int code = remove_published(l);

    if (code == SHEAF_OK)
        code = remove_unpublished(l);
    if (code == SHEAF_OK)
        code = output_remove_tables(&l->output, l->directory, l->error);
    if (code == SHEAF_OK)
        code = journal_remove_temporaries(l->directory, l->error);
    if (code == SHEAF_OK && !store_is_local(l->directory))
        (void)store_clean(l->directory, is_columns_file, NULL, NULL, NULL);
    if (code == SHEAF_OK)
        code = journal_clear(&l->output.journal, l->error);
    return code == SHEAF_OK ? store_sync(l->directory, l->error) : code;
}

static void close_layer(struct dropped_layer *l)
{
    output_close(&l->output);
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

    *l = (struct dropped_layer){ .output.lock = -1, .error = err };
    code = column_directory(base, name, layer, &l->directory, err);
    if (code == SHEAF_OK)
        code = output_open(&l->output, l->directory, format_of(SHEAF_TFRECORD), NULL, "column",
                           err);
    if (code == SHEAF_OK)
        code = output_add_split(&l->output, "", 0, err);
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
    const unsigned long layer = strtoul(entry->name, &end, 10);

    if (layer != 0 && layer <= COLUMN_LAYERS_MOST && (*end == '\0' || strcmp(end, "/") == 0) &&
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
