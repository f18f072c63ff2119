/* SPDX-License-Identifier: MIT
 *
 * sheaf_append: adds samples to a data set. The packer does most of the work (packer/grow.h). This
 * file only finds out which keys of the new samples the data set already has, because that requires
 * a reader. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sized.h"
#include "base/workers.h"
#include "packer/pack.h"
#include "publish/destination.h"
#include "store/store.h"

/* A data set that sheaf_append has opened. Either samples are appended to it, or it is another
 * split (such as "val") of the same data. From another split, only the keys are needed, because a
 * sample must not be added if another split already has it. */
struct append_split {
    char name[SPLIT_NAME_BYTES];
    char *directory;
    struct sheaf_dataset *dataset;
    struct sheaf_dataset_info info;
};

struct append {
    struct sheaf_pack_options options;
    struct sheaf_read_options reading;
    struct append_split targets[SPLIT_LIMIT];   /* these grow: one data set, or all splits */
    uint32_t target_count;
    /* splits of the same data to which no samples are appended; other_count may be 0 */
    struct append_split others[SPLIT_LIMIT];
    uint32_t other_count;
    /* the directory of the data set, or the directory that contains all splits */
    char *directory;
    /* definition of the splits (such as "train=0.8,val=0.2") to which samples are appended; NULL if
     * samples are appended to a single data set */
    char *split;
};

/* ---- Keys ------------------------------------------------------------------------------------ */

/* Finds the keys that `dataset` already has. Sets known[i] to `name` if keys[i] is the key of one
 * of the first `samples` samples of `dataset`. `name` is "" if the new samples are appended to
 * `dataset`, and otherwise the name of the split that is stored in `dataset`.
 *
 * To compare keys, all samples that may have one of the keys are read. If they do not fit into
 * memory together, the function looks up the first half of the keys and then the second half. */
static int append_find_known(const struct append *a, const struct sheaf_dataset *dataset,
                             const char *name, uint64_t samples, const char *const *keys,
                             size_t count,
                             const char **known, struct sheaf_error *err)
{
    const struct sheaf_sample *found;
    const size_t *firsts, half = count / 2;
    struct sheaf_kept *kept;
    int code = sheaf_dataset_find(dataset, keys, count, &a->reading, &found, &firsts, &kept, err);

    if (code == SHEAF_ERR_LIMIT && count > 1) {
        code = append_find_known(a, dataset, name, samples, keys, half, known, err);
        return code != SHEAF_OK ? code : append_find_known(a, dataset, name, samples, keys + half,
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
static int append_is_known(void *context, const struct plan_grow *grow, const char *const *keys,
                           size_t count, const char **known, struct sheaf_error *err)
{
    const struct append *a = context;
    int code = SHEAF_OK;

    memset(known, 0, count * sizeof(known[0]));
    for (uint32_t i = 0; i < a->other_count && code == SHEAF_OK; i++)
        code = append_find_known(a, a->others[i].dataset, a->others[i].name, UINT64_MAX, keys,
                                 count, known, err);
    for (uint32_t i = 0; i < a->target_count && code == SHEAF_OK; i++)
        code = append_find_known(a, a->targets[i].dataset, "", grow->splits[i].samples, keys, count,
                                 known, err);
    return code;
}

/* ---- Other splits ---------------------------------------------------------------------------- */

/* Returns the URL of the split `name`, which is in the same parent directory as the opened split.
 * The caller frees the URL. Returns NULL if memory is exhausted. */
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

/* Opens the split `name`, which is in the same parent directory as the data set. Reports a note if
 * the split does not exist any more. */
static int open_other(struct append *a, const char *name, struct sheaf_error *err)
{
    struct append_split *other = &a->others[a->other_count];
    struct sheaf_error found, note = { .code = SHEAF_OK };
    int code;

    other->directory = other_url(a, name);
    if (other->directory == NULL)
        return err_memory(err, strlen(name));
    snprintf(other->name, sizeof(other->name), "%s", name);
    a->other_count++;
    code = sheaf_dataset_open((const char *const *)&other->directory, 1, &other->dataset, &found);
    if (code == SHEAF_OK)
        return SHEAF_OK;
    free(other->directory);
    other->directory = NULL;
    a->other_count--;
    if (a->options.note != NULL) {
        snprintf(note.message, sizeof(note.message), "the keys are not compared with those of the "
                 "split %s of the same data: %.300s", name, found.message);
        a->options.note(a->options.context, name, &note);
    }
    return SHEAF_OK;
}

/* Opens the other splits of the same data, if the data set is one of several splits (such as
 * "train" and "val"). */
static int open_others(struct append *a, struct sheaf_error *err)
{
    struct split_spec spec;
    char *split, *own;
    int code = pack_splits(a->targets[0].info.manifest_json, &split, &own, &spec, err);

    for (uint32_t i = 0; i < spec.count && code == SHEAF_OK; i++)
        if (strcmp(spec.splits[i].name, own) != 0)
            code = open_other(a, spec.splits[i].name, err);
    free(split);
    free(own);
    return code;
}

/* ---- The data set ---------------------------------------------------------------------------- */

#define MANIFEST_SUFFIX "/" MANIFEST_NAME

/* Sets a->directory from `dataset`, which is the directory or the manifest of the data set. */
static int name_directory(struct append *a, const char *dataset, struct sheaf_error *err)
{
    const size_t size = strlen(dataset), suffix = strlen(MANIFEST_SUFFIX);
    const bool is_manifest = size > suffix &&
                             strcmp(dataset + size - suffix, MANIFEST_SUFFIX) == 0;

    a->directory = strndup(dataset, is_manifest ? size - suffix : size);
    return a->directory == NULL ? err_memory(err, size) : SHEAF_OK;
}

/* Opens a data set to which samples will be appended. `url` is its directory or its manifest. */
static int append_open_target(struct append *a, const char *url, const char *directory,
                              struct sheaf_error *err)
{
    struct append_split *t = &a->targets[a->target_count];
    int code = sheaf_dataset_open(&url, 1, &t->dataset, err);

    if (code != SHEAF_OK)
        return code;
    a->target_count++;
    t->directory = strdup(directory);
    if (t->directory == NULL)
        return err_memory(err, strlen(directory));
    sheaf_dataset_get_info(t->dataset, &t->info, sizeof(t->info));
    if (t->info.is_view)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: is a view: append to one of its sources, "
                       "or give it another source", url);
    if (!t->info.has_manifest)
        return err_set(err, SHEAF_ERR_NOT_FOUND, "%s: has no " MANIFEST_NAME ": samples are "
                       "appended to a data set that was packed", url);
    return SHEAF_OK;
}

/* Called for each subdirectory of the directory that the user named. `name` is the name of the
 * subdirectory. If the subdirectory contains a split with this name, copies the definition of all
 * splits (such as "train=0.8,val=0.2") from the options of this split. */
static int look_at_split(void *context, char *directory, const char *name,
                         struct sheaf_error *err)
{
    struct append *a = context;
    struct sheaf_dataset *dataset = NULL;
    struct sheaf_dataset_info info;
    struct sheaf_error ignored;
    struct split_spec spec;
    char *split = NULL, *own = NULL;

    (void)err;
    if (a->split == NULL && sheaf_dataset_open((const char *const *)&directory, 1, &dataset,
                                               &ignored) == SHEAF_OK) {
        sheaf_dataset_get_info(dataset, &info, sizeof(info));
        if (info.has_manifest && !info.is_view &&
            pack_splits(info.manifest_json, &split, &own, &spec, &ignored) == SHEAF_OK &&
            spec.count != 0 && strcmp(own, name) == 0) {
            a->split = split;
            split = NULL;
        }
        sheaf_dataset_free(dataset);
    }
    free(split);
    free(own);
    return SHEAF_OK;
}

/* Checks that all splits of the data were found. Otherwise a sample that is in a missing split
 * could be added to another split as well. */
static int check_all_named(const struct append *a, struct sheaf_error *err)
{
    struct split_spec spec;
    char *split, *own;
    int code = pack_splits(a->targets[0].info.manifest_json, &split, &own, &spec, err);

    for (uint32_t i = 0; i < spec.count && code == SHEAF_OK; i++) {
        bool is_named = false;

        for (uint32_t k = 0; k < a->target_count; k++)
            is_named |= strcmp(a->targets[k].name, spec.splits[i].name) == 0;
        if (!is_named)
            code = err_set(err, SHEAF_ERR_ARGUMENT, "split: \"%s\" does not name %s, which is also "
                           "a split of this data (%s)", a->split, spec.splits[i].name, split);
    }
    free(split);
    free(own);
    return code;
}

static int open_splits(struct append *a, struct sheaf_error *err)
{
    struct split_spec spec;
    int code = split_parse(a->split, &spec, err);

    for (uint32_t i = 0; i < spec.count && code == SHEAF_OK; i++) {
        char *url = store_join(a->directory, spec.splits[i].name);

        snprintf(a->targets[i].name, SPLIT_NAME_BYTES, "%s", spec.splits[i].name);
        code = url == NULL ? err_memory(err, strlen(a->directory)) : append_open_target(a, url, url,
                                                                                        err);
        free(url);
    }
    a->options.split = a->split;
    return code == SHEAF_OK ? check_all_named(a, err) : code;
}

/* Opens the data set in the directory `dataset`. If this directory contains splits instead of a
 * data set, opens all splits. */
static int append_open_dataset(struct append *a, const char *dataset, struct sheaf_error *err)
{
    int code = name_directory(a, dataset, err);

    if (code == SHEAF_OK)
        code = append_open_target(a, dataset, a->directory, err);
    if (code == SHEAF_OK && a->options.split != NULL)
        return err_set(err, SHEAF_ERR_ARGUMENT, "%s: is one data set, expected the directory above "
                       "the splits, in which each split is a data set", dataset);
    if (code == SHEAF_OK)
        return open_others(a, err);
    if (code != SHEAF_ERR_NOT_FOUND || a->target_count != 0)
        return code;
    if (a->options.split != NULL) {
        a->split = strdup(a->options.split);
        if (a->split == NULL)
            return err_memory(err, strlen(a->options.split));
    } else if (destination_for_each_below(a->directory, look_at_split, a, NULL) != SHEAF_OK) {
        return code;
    }
    return a->split == NULL ? code : open_splits(a, err);
}

static void append_take_options(struct append *a, const struct sheaf_pack_options *options)
{
    sheaf_pack_options_init(&a->options, sizeof(a->options));
    a->options.shard_bytes = 0;
    sized_take(&a->options, sizeof(a->options), options);
    sheaf_read_options_init(&a->reading, sizeof(a->reading));
    a->reading.memory_bytes = a->options.memory_bytes;
    a->reading.interrupt = a->options.interrupt;
}

static int append_to(struct append *a, const char *const *sources, size_t count,
                     struct sheaf_pack_result *result, struct sheaf_error *err)
{
    struct pack_onto onto = {
        .dest = a->directory, .count = a->target_count, .known = append_is_known, .context = a,
    };

    for (uint32_t i = 0; i < a->target_count; i++) {
        onto.directories[i] = a->targets[i].directory;
        onto.manifests[i] = a->targets[i].info.manifest_json;
    }
    return pack_onto(sources, count, &onto, &a->options, result, err);
}

static void close_splits(struct append_split *splits, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        sheaf_dataset_free(splits[i].dataset);
        free(splits[i].directory);
    }
}

int sheaf_append(const char *const *sources, size_t count, const char *dataset,
                 const struct sheaf_pack_options *options, struct sheaf_pack_result *result,
                 struct sheaf_error *error)
{
    struct append a = { .target_count = 0 };
    struct sheaf_pack_result own_result;
    struct sheaf_error own_error;
    int code;

    result = result != NULL ? result : &own_result;
    error = error != NULL ? error : &own_error;
    *result = (struct sheaf_pack_result){ .files = 0 };
    append_take_options(&a, options);
    code = a.options.classes == NULL ? workers_check("jobs", a.options.jobs, error)
         : err_set(error, SHEAF_ERR_ARGUMENT, "classes: %s: appended samples get the classes of "
                   "the data set, expected no other classes", a.options.classes);
    if (code == SHEAF_OK)
        code = append_open_dataset(&a, dataset, error);
    if (code == SHEAF_OK)
        code = append_to(&a, sources, count, result, error);
    close_splits(a.targets, a.target_count);
    close_splits(a.others, a.other_count);
    free(a.directory);
    free(a.split);
    return code;
}
