/* SPDX-License-Identifier: MIT
 *
 * Ends a run, and removes incomplete uploads and temporary files of killed runs. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/manifest_growth.h"
#include "publish/destination.h"
#include "publish/several.h"
#include "store/stage.h"
#include "store/store.h"

/* ---- Leftovers ------------------------------------------------------------------------------- */

/* Returns whether a run that writes to the destination `context` (a struct output) may upload an
 * object of this name directly to the directory of a split. This is true for the names
 * PREFIX-DIGITS.SUFFIX, and for the names of files of the whole data set, such as the index. */
static bool is_our_name(const void *context, const char *name)
{
    static const char *const others[] = { MANIFEST_NAME, INDEX_NAME, KEYS_NAME, SKIPPED_NAME,
                                          CONVERTED_NAME, "shardindex.json" };
    const struct output *o = context;
    const size_t size = strlen(o->prefix);
    size_t digits;

    for (size_t i = 0; i < COUNT_OF(others); i++)
        if (manifest_part_is(name, others[i]))
            return true;
    if (strncmp(name, o->prefix, size) != 0 || name[size] != '-')
        return false;
    digits = strspn(name + size + 1, "0123456789");
    return digits >= 6 && name[size + 1 + digits] == '.';
}

static int clean_object(const struct output *o, uint32_t split, const char *name,
                        struct sheaf_error *err)
{
    char *url = store_join(o->directories[split], name);
    const int code = url == NULL ? err_memory(err, strlen(name)) : store_clean_object(url, err);

    free(url);
    return code;
}

/* Aborts incomplete uploads in a store that can list uploads only for a given name. Therefore tries
 * each name that the run may have used for a shard, an index or a table of keys. */
static int clean_by_name(const struct output *o, uint32_t split, struct sheaf_error *err)
{
    const size_t last = o->is_edit ? o->grows->growth_count : o->part;
    char name[SHARD_NAME_BYTES];
    int code = SHEAF_OK;

    for (size_t part = o->part; part <= last && code == SHEAF_OK; part++) {
        manifest_part_name(INDEX_NAME, part, o->generation, name);
        code = clean_object(o, split, name, err);
        manifest_part_name(KEYS_NAME, part, o->generation, name);
        if (code == SHEAF_OK)
            code = clean_object(o, split, name, err);
    }
    for (uint64_t i = 0; i < o->shard_counts[split] && code == SHEAF_OK; i++) {
        code = output_shard_name(o, split, o->first_shard + i, name, err);
        if (code == SHEAF_OK)
            code = clean_object(o, split, name, err);
    }
    return code;
}

/* Called at the end of a run. Aborts incomplete uploads that killed runs have left. If the store
 * does not answer, returns an error although the data set is already complete. The user then
 * resumes the run, and the uploads are aborted at that time. */
int output_clean_lost(const struct output *o, struct sheaf_error *err)
{
    struct sheaf_error failed;

    for (uint32_t s = 0; s < o->split_count; s++) {
        const int code = store_clean(o->directories[s], is_our_name, o, NULL, &failed);

        if (code == SHEAF_ERR_NETWORK || code == SHEAF_ERR_INTERRUPTED) {
            *err = failed;
            return code;
        }
    }
    return SHEAF_OK;
}

/* Removes incomplete uploads and temporary files of killed runs. If this process has no permission
 * to list uploads, the uploads stay. This is not an error, because incomplete uploads do no harm to
 * the data set. */
int output_clean(const struct output *o, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (uint32_t s = 0; s < o->split_count && code == SHEAF_OK; s++) {
        bool by_name;

        code = store_clean(o->directories[s], is_our_name, o, &by_name, err);
        if (code == SHEAF_OK && by_name)
            code = clean_by_name(o, s, err);
        if (code == SHEAF_ERR_ACCESS || code == SHEAF_ERR_UNSUPPORTED)
            code = SHEAF_OK;
        if (code == SHEAF_OK)
            code = journal_remove_temporaries(o->directories[s], err);
    }
    return code;
}

/* ---- The end --------------------------------------------------------------------------------- */

static int sweep(const char *directory, struct sheaf_error *err)
{
    char *url = store_join(directory, MANIFEST_NAME);
    const int code = url == NULL ? err_memory(err, strlen(directory)) : store_sweep(url, err);

    free(url);
    return code;
}

int output_sweep(const struct output *o, struct sheaf_error *err)
{
    int code = stage_drop(o->journal.directory, NULL, NULL, err);

    if (code == SHEAF_OK)
        code = sweep(o->dest, err);
    for (uint32_t i = 0; i < o->split_count && code == SHEAF_OK; i++)
        code = sweep(o->directories[i], err);
    return code;
}

static int clean_lost(void *output, struct sheaf_error *err)
{
    return output_clean_lost(output, err);
}

static int clear_journal(void *output, struct sheaf_error *err)
{
    return journal_clear_files(&((const struct output *)output)->journal, err);
}

/* Ends a run: removes the files that are no longer needed, and finally the claim (the file that
 * says which run packs here). If a removal fails, the claim stays, and a later run of the same plan
 * tries again. */
int output_end(const struct output *o, struct sheaf_error *err)
{
    void *context = (void *)(uintptr_t)o;
    const struct several_task tasks[] = { { clean_lost, context }, { clear_journal, context } };
    const int code = several_tasks(o->dest, tasks, COUNT_OF(tasks), err);

    return code == SHEAF_OK ? journal_release(&o->journal, err) : code;
}
