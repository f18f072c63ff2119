/* SPDX-License-Identifier: MIT
 *
 * sheaf_append: adds samples to a data set. The packer does the work (packer/grow.h). This file
 * tells it which keys the data set has, which takes a reader. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sized.h"
#include "packer/pack.h"

struct append {
    struct sheaf_pack_options options;
    struct sheaf_read_options reading;
    struct sheaf_dataset *dataset;
    struct sheaf_dataset_info info;
    char *directory;
};

/* ---- Keys ------------------------------------------------------------------------------------ */

/* Implements plan_known_fn. Reads the samples that may have one of the keys. If they do not all fit
 * into the memory, they are requested in two halves. */
static int is_known(void *context, uint64_t samples, const char *const *keys, size_t count,
                    bool *known, struct sheaf_error *err)
{
    const struct append *a = context;
    const struct sheaf_sample *found;
    const size_t *firsts, half = count / 2;
    struct sheaf_kept *kept;
    int code = sheaf_dataset_find(a->dataset, keys, count, &a->reading, &found, &firsts, &kept,
                                  err);

    if (code == SHEAF_ERR_LIMIT && count > 1) {
        code = is_known(context, samples, keys, half, known, err);
        return code != SHEAF_OK ? code : is_known(context, samples, keys + half, count - half,
                                                  known + half, err);
    }
    if (code != SHEAF_OK)
        return code;
    for (size_t i = 0; i < count; i++)      /* in the order of the keys' numbers */
        known[i] = firsts[i] < firsts[i + 1] && found[firsts[i]].number < samples;
    sheaf_kept_free(kept);
    return SHEAF_OK;
}

/* ---- The data set ---------------------------------------------------------------------------- */

#define MANIFEST_SUFFIX "/" MANIFEST_NAME

/* Sets the directory. The caller may name a data set by its manifest. */
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
    if (options != NULL)
        sized_take(&a->options, sizeof(a->options), options, options->sizeof_options);
    a->options.sizeof_options = sizeof(a->options);
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
        code = pack_onto(sources, count, a.directory, a.info.manifest_json, is_known, &a,
                         &a.options, result, error);
    sheaf_dataset_free(a.dataset);
    free(a.directory);
    return code;
}
