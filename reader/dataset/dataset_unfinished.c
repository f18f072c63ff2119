/* SPDX-License-Identifier: MIT
 *
 * Refuses directories in which a packing run has not finished. Also finds out whether an object
 * exists if its store does not say so. */
#include "reader/dataset/dataset.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "formats/manifest.h"
#include "store/store.h"

/* Returns the parent of `directory`, or NULL if it has no parent. The caller must free the result.
 */
static char *above(const char *directory)
{
    size_t size = strlen(directory);

    if (store_is_local(directory))
        return store_join(directory, "..");
    while (size > 0 && directory[size - 1] == '/')
        size--;
    while (size > 0 && directory[size - 1] != '/')
        size--;
    return size > 2 && directory[size - 2] != '/' ? strndup(directory, size) : NULL;
}

struct name_search {
    const char *name;
    bool is_found;
};

static int dataset_find_name(void *context, const struct store_entry *entry)
{
    struct name_search *search = context;

    search->is_found |= strcmp(entry->name, search->name) == 0;
    return SHEAF_OK;
}

int dataset_look_again(const char *directory, const char *name, struct sheaf_error *err)
{
    struct name_search search = { .name = name };
    struct sheaf_error unlisted;
    int code = store_list(directory, dataset_find_name, &search, &unlisted);

    if (search.is_found)
        return SHEAF_ERR_ACCESS;
    if (code == SHEAF_OK || code == SHEAF_ERR_ACCESS || code == SHEAF_ERR_NOT_FOUND
        || code == SHEAF_ERR_UNSUPPORTED)
        return SHEAF_ERR_NOT_FOUND;
    *err = unlisted;
    return code;
}

/* Finds out whether a packing run in this directory has not published its data set yet. Such a run
 * has left a claim, a file which states that the run works in the directory. Returns SHEAF_OK if
 * the directory contains a claim. Returns SHEAF_ERR_NOT_FOUND if there is no claim, or if its run
 * only appends samples or makes an index. Returns another error if the search fails. */
static int find_claim(const char *directory, struct sheaf_error *err)
{
    char *folder = store_join(directory, STORE_PARTIAL), *text = NULL;
    char *url = folder == NULL ? NULL : store_join(folder, "plan");
    size_t size = 0;
    int code = url == NULL ? err_memory(err, strlen(directory))
                           : store_get(url, MANIFEST_CLAIM_LIMIT, &text, &size, err);

    if (code == SHEAF_ERR_ACCESS && !store_is_local(directory))
        code = dataset_look_again(folder, "plan", err);
    else if (code == SHEAF_OK && manifest_claim_keeps(text, size))
        code = SHEAF_ERR_NOT_FOUND;
    else if (code == SHEAF_ERR_LIMIT)       /* The claim exists, and its content does not matter. */
        code = SHEAF_OK;
    free(text);
    free(folder);
    free(url);
    /* The place does not exist. */
    return code == SHEAF_ERR_ARGUMENT ? SHEAF_ERR_NOT_FOUND : code;
}

/* Finds out whether the manifest in this directory is only a stand-in: a short file that an
 * unfinished packing run has put in the manifest's place. Returns the same codes as find_claim:
 * SHEAF_OK if the manifest is a stand-in, and otherwise SHEAF_ERR_NOT_FOUND. */
static int find_stand_in(const char *directory, struct sheaf_error *err)
{
    char *url = store_join(directory, MANIFEST_NAME), *text = NULL, run[33];
    size_t size = 0;
    int code = url == NULL ? err_memory(err, strlen(directory))
                           : store_get(url, MANIFEST_UNFINISHED_LIMIT, &text, &size, err);

    if (code == SHEAF_ERR_ACCESS && !store_is_local(directory))
        code = dataset_look_again(directory, MANIFEST_NAME, err);
    if (code == SHEAF_ERR_LIMIT || code == SHEAF_ERR_UNSUPPORTED ||
        (code == SHEAF_OK && !manifest_is_unfinished(text, size, run)))
        code = SHEAF_ERR_NOT_FOUND;
    free(text);
    free(url);
    return code;
}

/* Decides whether a directory may be opened. `code` and `error` are the results of find_claim or
 * find_stand_in, which have looked for an unfinished packing run in the directory. Returns SHEAF_OK
 * if they have found no such run. Returns an error if they have found one, or if the search has
 * failed. */
static int refuse_found(const char *directory, int code, const struct sheaf_error *error,
                        struct sheaf_error *err)
{
    if (code == SHEAF_ERR_NOT_FOUND)
        return SHEAF_OK;
    if (code == SHEAF_OK)
        return manifest_refuse_unfinished(directory, err);
    return err_set(err, code, "%s: cannot tell whether a data set is being packed there: %s",
                   directory, error->message);
}

int dataset_refuse_unfinished_split(const char *directory, struct sheaf_error *err)
{
    char *parent = above(directory);
    struct sheaf_error error;
    const int code = parent == NULL ? SHEAF_ERR_NOT_FOUND : find_claim(parent, &error);

    free(parent);
    return refuse_found(directory, code, &error, err);
}

int dataset_refuse_claim(const char *directory, struct sheaf_error *err)
{
    struct sheaf_error error;
    const int code = refuse_found(directory, find_claim(directory, &error), &error, err);

    return code == SHEAF_OK ? dataset_refuse_unfinished_split(directory, err) : code;
}

int dataset_refuse_unfinished(const char *directory, struct sheaf_error *err)
{
    struct sheaf_error error;
    const int code = refuse_found(directory, find_stand_in(directory, &error), &error, err);

    return code == SHEAF_OK ? dataset_refuse_claim(directory, err) : code;
}
