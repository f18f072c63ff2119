/* SPDX-License-Identifier: MIT
 *
 * sheaf_append: adds samples to a data set. The packer does most of the work (packer/grow.h). This
 * file tells the packer which keys the data set already has; finding them needs a reader. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sized.h"
#include "packer/pack.h"

/* Another split of the same data, if the data set to which samples are appended is one of several
 * splits. */
struct other_split {
    char name[SPLIT_NAME_BYTES];
    struct sheaf_dataset *dataset;
};

struct append {
    struct sheaf_pack_options options;
    struct sheaf_read_options reading;
    struct sheaf_dataset *dataset;
    struct other_split others[SPLIT_LIMIT];
    size_t other_count;
    struct sheaf_dataset_info info;
    char *directory;
};

/* ---- Keys ------------------------------------------------------------------------------------ */

/* Finds which of the keys belong to the first `samples` samples of a data set, and sets known[] for
 * these keys to `name`. Reads the samples that may have one of the keys. If not all of them fit
 * into the memory, requests the keys in two halves. */
static int find_known(const struct append *a, const struct sheaf_dataset *dataset,
                      const char *name, uint64_t samples, const char *const *keys, size_t count,
                      const char **known, struct sheaf_error *err)
{
    const struct sheaf_sample *found;
    const size_t *firsts, half = count / 2;
    struct sheaf_kept *kept;
    int code = sheaf_dataset_find(dataset, keys, count, &a->reading, &found, &firsts, &kept, err);

    if (code == SHEAF_ERR_LIMIT && count > 1) {
        code = find_known(a, dataset, name, samples, keys, half, known, err);
        return code != SHEAF_OK ? code : find_known(a, dataset, name, samples, keys + half,
                                                    count - half, known + half, err);
    }
    if (code != SHEAF_OK)
        return code;
    for (size_t i = 0; i < count; i++)      /* in the order of the keys' numbers */
        if (firsts[i] < firsts[i + 1] && found[firsts[i]].number < samples)
            known[i] = name;
    sheaf_kept_free(kept);
    return SHEAF_OK;
}

/* Implements plan_known_fn. */
static int is_known(void *context, uint64_t samples, const char *const *keys, size_t count,
                    const char **known, struct sheaf_error *err)
{
    const struct append *a = context;
    int code = SHEAF_OK;

    memset(known, 0, count * sizeof(known[0]));
    for (size_t i = 0; i < a->other_count && code == SHEAF_OK; i++)
        code = find_known(a, a->others[i].dataset, a->others[i].name, UINT64_MAX, keys, count,
                          known, err);
    return code != SHEAF_OK ? code
                            : find_known(a, a->dataset, "", samples, keys, count, known, err);
}

/* ---- Other splits ---------------------------------------------------------------------------- */

/* The data set is one of several splits. Returns the URL of the split `name`, which is beside the
 * data set, in allocated memory. Returns NULL if memory is exhausted. */
static char *other_url(const struct append *a, const char *name)
{
    size_t size = strlen(a->directory);
    const char *slash;
    char *url;

    while (size > 1 && a->directory[size - 1] == '/')
        size--;
    slash = memrchr(a->directory, '/', size);
    if (slash == NULL && size == 1 && a->directory[0] == '.')
        return asprintf(&url, "../%s", name) < 0 ? NULL : url;
    return asprintf(&url, "%.*s%s", slash == NULL ? 0 : (int)(slash + 1 - a->directory),
                    a->directory, name) < 0 ? NULL : url;
}

/* Opens the split `name` beside the data set. If it does not exist any more, reports this as a
 * note. */
static int open_other(struct append *a, const char *name, struct sheaf_error *err)
{
    struct other_split *other = &a->others[a->other_count];
    struct sheaf_error found, note = { .code = SHEAF_OK };
    char *url = other_url(a, name);
    int code;

    if (url == NULL)
        return err_memory(err, strlen(name));
    code = sheaf_dataset_open((const char *const *)&url, 1, &other->dataset, &found);
    free(url);
    if (code == SHEAF_OK) {
        snprintf(other->name, sizeof(other->name), "%s", name);
        a->other_count++;
    } else if (a->options.note != NULL) {
        snprintf(note.message, sizeof(note.message), "the keys are not compared with those of the "
                 "split %s of the same data: %.300s", name, found.message);
        a->options.note(a->options.context, name, &note);
    }
    return SHEAF_OK;
}

/* Opens the other splits of the same data, if the data set was packed as one of several splits. */
static int open_others(struct append *a, struct sheaf_error *err)
{
    char names[SPLIT_LIMIT][SPLIT_NAME_BYTES];
    size_t count;
    int code = pack_other_splits(a->info.manifest_json, names, &count, err);

    for (size_t i = 0; i < count && code == SHEAF_OK; i++)
        code = open_other(a, names[i], err);
    return code;
}

/* ---- The data set ---------------------------------------------------------------------------- */

#define MANIFEST_SUFFIX "/" MANIFEST_NAME

/* Sets the data set's directory. The caller may name the data set by its directory or its
 * manifest. */
static int name_directory(struct append *a, const char *dataset, struct sheaf_error *err)
{
    const size_t size = strlen(dataset), suffix = strlen(MANIFEST_SUFFIX);
    const bool is_manifest = size > suffix &&
                             strcmp(dataset + size - suffix, MANIFEST_SUFFIX) == 0;

    a->directory = strndup(dataset, is_manifest ? size - suffix : size);
    return a->directory == NULL ? err_memory(err, size) : SHEAF_OK;
}

static int open_dataset(struct append *a, const char *dataset, struct sheaf_error *err)
{
    int code = name_directory(a, dataset, err);

    if (code == SHEAF_OK)
        code = sheaf_dataset_open(&dataset, 1, &a->dataset, err);
    if (code != SHEAF_OK)
        return code;
    sheaf_dataset_get_info(a->dataset, &a->info, sizeof(a->info));
    if (a->info.is_view)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: is a view: append to one of its sources, "
                       "or give it another source", dataset);
    if (!a->info.has_manifest)
        return err_set(err, SHEAF_ERR_NOT_FOUND, "%s: has no " MANIFEST_NAME ": samples are "
                       "appended to a data set that was packed", dataset);
    return SHEAF_OK;
}

static void take_options(struct append *a, const struct sheaf_pack_options *options)
{
    sheaf_pack_options_init(&a->options, sizeof(a->options));
    a->options.shard_bytes = 0;
    sized_take(&a->options, sizeof(a->options), options);
    sheaf_read_options_init(&a->reading, sizeof(a->reading));
    a->reading.memory_bytes = a->options.memory_bytes;
    a->reading.interrupt = a->options.interrupt;
}

int sheaf_append(const char *const *sources, size_t count, const char *dataset,
                 const struct sheaf_pack_options *options, struct sheaf_pack_result *result,
                 struct sheaf_error *error)
{
    struct append a = { .dataset = NULL };
    struct sheaf_pack_result own_result;
    struct sheaf_error own_error;
    int code;

    result = result != NULL ? result : &own_result;
    error = error != NULL ? error : &own_error;
    *result = (struct sheaf_pack_result){ .files = 0 };
    take_options(&a, options);
    code = open_dataset(&a, dataset, error);
    if (code == SHEAF_OK)
        code = open_others(&a, error);
    if (code == SHEAF_OK)
        code = pack_onto(sources, count, a.directory, a.info.manifest_json, is_known, &a,
                         &a.options, result, error);
    for (size_t i = 0; i < a.other_count; i++)
        sheaf_dataset_free(a.others[i].dataset);
    sheaf_dataset_free(a.dataset);
    free(a.directory);
    return code;
}
