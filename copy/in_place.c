/* SPDX-License-Identifier: MIT
 *
 * Data sets whose shards are written again; see in_place.h. */
#include "copy/in_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define MANIFEST_SUFFIX "/" MANIFEST_NAME

int in_place_directory(const char *dataset, char **directory, struct sheaf_error *err)
{
    const size_t size = strlen(dataset), suffix = strlen(MANIFEST_SUFFIX);
    const bool is_manifest = size > suffix &&
                             strcmp(dataset + size - suffix, MANIFEST_SUFFIX) == 0;

    *directory = strndup(dataset, is_manifest ? size - suffix : size);
    return *directory == NULL ? err_memory(err, size) : SHEAF_OK;
}

int in_place_check(const struct sheaf_dataset *d, const char *directory, const char *verb,
                   struct sheaf_error *err)
{
    if (d->view != NULL || d->sources != NULL)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: is a view: %s its sources", directory,
                       verb);
    if (!d->has_manifest)
        return err_set(err, SHEAF_ERR_NOT_FOUND, "%s: has no " MANIFEST_NAME ": only a data set "
                       "that was packed can be %sed", directory, verb);
    return SHEAF_OK;
}

int in_place_check_packed(const struct sheaf_dataset *d, const char *directory,
                          struct sheaf_error *err)
{
    const struct codec_ops *codec = codec_of(d->manifest.codec);

    if (!d->manifest.ours)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: its shards were made by another program, "
                       "and only indexed: convert it first, or leave samples out in a view",
                       directory);
    if (codec != NULL && codec->single_member != d->manifest.single_member)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: its shards were compressed by release 0.1 "
                       "in another way: convert it first", directory);
    return SHEAF_OK;
}

int in_place_open(struct in_place *place, struct output *o, const char *directory,
                  const struct manifest *m, size_t count, const volatile int *interrupt,
                  struct sheaf_error *err)
{
    int code = manifest_option(m, "prefix", &place->prefix, err);

    if (code == SHEAF_OK)
        code = manifest_option(m, "index", &place->index, err);
    place->shards = calloc(count + 1, sizeof(place->shards[0]));
    place->shard_count = count;
    if (code == SHEAF_OK && place->prefix == NULL)
        place->prefix = strdup("shard");
    if (code == SHEAF_OK && (place->prefix == NULL || place->shards == NULL))
        code = err_memory(err, count * sizeof(place->shards[0]));
    if (code == SHEAF_OK)
        code = output_open(o, directory, format_of(m->container), codec_of(m->codec),
                           place->prefix, err);
    o->interop = place->index;
    o->interrupt = interrupt;
    o->grows = m;
    o->is_edit = true;
    o->generation = m->edit_count + 1;
    return code;
}

int in_place_begin(struct in_place *place, struct output *o, const char *hash,
                   struct sheaf_error *err)
{
    o->names = place->shards;
    snprintf(o->plan_hash, sizeof(o->plan_hash), "%s", hash);
    snprintf(o->journal.plan.hash, sizeof(o->journal.plan.hash), "%s", hash);
    return output_add_split(o, "", place->shard_count, err);
}

void in_place_close(struct in_place *place)
{
    free(place->prefix);
    free(place->index);
    free(place->shards);
}
